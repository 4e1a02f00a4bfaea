"""describe: names a commit after the nearest tag."""

from fnmatch import fnmatchcase

from simtrain.worlds.handlers.git.branches import shortened
from simtrain.worlds.handlers.git.repository import TAGS
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Range, commits


def describe(session: GitSession) -> None:
    """Name a commit after the nearest tag."""
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    repository = session.repository
    start = session.commit_id(names[0] if names else "HEAD")
    tags: dict[str, str] = {}
    for ref in repository.refs():
        sha = repository.ref(ref)
        if not ref.startswith(TAGS) or sha is None:
            continue
        annotated = repository.kind(sha) == "tag"
        if annotated or "--tags" in flags or "--all" in flags:
            tags[repository.tag(sha) if annotated else sha] = shortened(ref)
    pattern = next((flag.partition("=")[2] for flag in flags if flag.startswith("--match=")), None)
    if pattern:
        tags = {sha: name for sha, name in tags.items() if fnmatchcase(name, pattern)}
    found = Range(wanted=[start])
    for number, sha in enumerate(commits(session, found)):
        if sha in tags:
            plain = not number and "--long" not in flags
            short = repository.abbreviated(start)
            session.say(tags[sha] if plain or "--abbrev=0" in flags else f"{tags[sha]}-{number}-g{short}")
            return
    if "--always" in flags:
        session.say(repository.abbreviated(start))
        return
    if not tags:
        why = (
            "No names found, cannot describe anything."
            if "--tags" in flags or not any(ref.startswith(TAGS) for ref in repository.refs())
            else f"No annotated tags can describe '{start}'.\nHowever, there were unannotated tags: try --tags."
        )
        raise GitStop(f"fatal: {why}")
    raise GitStop(f"fatal: No tags can describe '{start}'.\nTry --always, or create some tags.")
