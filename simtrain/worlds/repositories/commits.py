"""The commits of a folder, wherever they are told: in the file beside it, or in its `.git`."""

from simtrain.values.errors import InputError
from simtrain.worlds.repositories.folder import RepositoryFolder
from simtrain.worlds.repositories.history import CommittedTree, committed_trees, history_file, read_history


def trees_of(folder: RepositoryFolder) -> list[CommittedTree]:
    """Return the commits of a repository with their trees: of the file beside it, else of its `.git`; none without either."""
    file = history_file(folder.place)
    if file.is_file():
        try:
            return committed_trees(folder.texts, read_history(file))
        except InputError as error:
            raise error.at(file=file) from None
    if (folder.place / ".git").is_dir():
        from simtrain.worlds.repositories.git_history import git_trees

        return git_trees(folder.place)
    return []
