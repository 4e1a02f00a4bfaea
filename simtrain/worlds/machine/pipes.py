"""The files of process substitution, `<(...)` and `>(...)`: the engine keeps them outside the machine's tree."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from bashkit import FileSystem

from simtrain.worlds.machine.binary import as_text, restored
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.nodes import TreeNode

_FOLDER = "/dev/fd"


@contextmanager
def pipes_in(tree: FileTree, arguments: Sequence[str], engine: FileSystem, owner: str) -> Generator[None]:
    """Let a command of ours read and write those of its arguments that are pipes of the engine, and take them away afterwards."""
    names = [word for word in arguments if word.startswith(f"{_FOLDER}/") and engine.exists(word)]
    if not names:
        yield
        return
    touched = dict(tree.touched)
    made = [folder for folder in ("/dev", _FOLDER) if tree.get(folder) is None]
    for folder in made:
        tree.put(folder, TreeNode("directory", 0o755, "root", "root", 0.0))
    for name in names:
        tree.put(name, TreeNode("file", 0o600, owner, owner, 0.0, restored(engine.read_file(name))))
    try:
        yield
    finally:
        for name in names:
            left, found = tree.get(name), restored(engine.read_file(name))
            if left is not None and left.content != found:
                engine.write_file(name, as_text(left.content).encode("utf-8", "replace"))
        for name in [*names, *reversed(made)]:
            tree.drop(name)
        # What no script made is no change of the machine.
        for path in [path for path in tree.touched if path not in touched]:
            if path in names or path in made:
                del tree.touched[path]
