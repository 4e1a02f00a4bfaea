"""tag: lists, makes and deletes tags."""

from fnmatch import fnmatchcase

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import check_name, shortened
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import NOTHING, Tag
from simtrain.worlds.handlers.git.repository import TAGS
from simtrain.worlds.machine.git.session import GitSession, GitStop


def tag(session: GitSession) -> None:
    """List, make and delete tags."""
    repository = session.repository
    words, messages, names = list(session.words), list[str](), list[str]()
    flags: set[str] = set()
    while words:
        word = words.pop(0)
        if word in ("-m", "--message") and words:
            messages.append(words.pop(0))
            flags.add("-a")
        elif word.startswith("--message="):
            messages.append(word.partition("=")[2])
            flags.add("-a")
        elif word.startswith("-m") and len(word) > 2:
            messages.append(word[2:])
            flags.add("-a")
        elif word == "-am" and words:
            messages.append(words.pop(0))
            flags.add("-a")
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if flags & {"-d", "--delete"}:
        for name in names:
            sha = repository.ref(TAGS + name)
            if sha is None:
                session.warn(f"error: tag '{name}' not found.")
                session.code = 1
                continue
            repository.remove_ref(TAGS + name)
            session.say(f"Deleted tag '{name}' (was {repository.abbreviated(sha)})")
        return
    if (
        not names
        or flags & {"-l", "--list", "--contains", "--points-at", "--sort", "-n"}
        or any(flag.startswith(("--sort", "-n")) for flag in flags)
    ):
        _list_tags(session, flags, names)
        return
    name, start = names[0], names[1] if len(names) > 1 else "HEAD"
    try:
        check_name(TAGS + name)
    except ToolError:
        raise GitStop(f"fatal: '{name}' is not a valid tag name.") from None
    old = repository.ref(TAGS + name)
    if old and not flags & {"-f", "--force"}:
        raise GitStop(f"fatal: tag '{name}' already exists")
    found = session.maybe(start)
    if found is None:
        raise GitStop(f"fatal: Failed to resolve '{start}' as a valid ref.")
    sha = found.sha
    if flags & {"-a", "--annotate"}:
        if not messages:
            raise GitStop(
                "error: Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.", 1
            )
        sha = repository.keep_tag(Tag(sha, name, session.signature("COMMITTER"), "\n\n".join(messages) + "\n"))
    repository.set_ref(TAGS + name, sha)
    if old and old != sha:
        session.say(f"Updated tag '{name}' (was {repository.abbreviated(old)})")


def _list_tags(session: GitSession, flags: set[str], patterns: list[str]) -> None:
    repository = session.repository
    found = [ref for ref in repository.refs() if ref.startswith(TAGS)]
    if "--contains" in flags or "--points-at" in flags:
        target = session.commit_id(patterns[0] if patterns else "HEAD")
        patterns = []

        def commit_of(ref: str) -> str:
            sha = repository.ref(ref) or NOTHING
            return repository.tag(sha) if repository.kind(sha) == "tag" else sha

        found = [
            ref
            for ref in found
            if (target in reachable(repository, commit_of(ref)) if "--contains" in flags else commit_of(ref) == target)
        ]
    for ref in found:
        name = shortened(ref)
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        if "-n" in flags or "-n1" in flags:
            sha = repository.ref(ref) or NOTHING
            text = repository.tag_text(sha).message if repository.kind(sha) == "tag" else repository.commit(sha).message
            session.say(f"{name.ljust(15)} {text.partition(chr(10))[0]}")
        else:
            session.say(name)
