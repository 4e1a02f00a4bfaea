"""count-objects, gc and prune: how much a repository holds, and what of it nothing needs."""

from simtrain.worlds.handlers.git.dates import seconds_at
from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Kind
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.object_graph import index_ids, kept_ids, kind_or_none, led_to, reached, ref_ids, stored
from simtrain.worlds.machine.git.peeling import named_object
from simtrain.worlds.machine.git.session import GitSession, GitStop

_BLOCK = 4096
_COUNT_USAGE = "usage: git count-objects [-v] [-H | --human-readable]"
_GC_USAGE = "usage: git gc [<options>]"
_PRUNE_USAGE = "usage: git prune [-n] [-v] [--progress] [--expire <time>] [--] [<head>...]"
_GC_KNOWN = {
    "-q", "--quiet", "--aggressive", "--auto", "--force", "--cruft", "--no-cruft", "--keep-largest-pack", "--no-prune",
    "--prune", "--no-quiet",
}  # fmt: skip
_EXPIRY = "2.weeks.ago"


def count_objects(session: GitSession) -> None:
    """Print how many objects have files of their own, and how much room these take."""
    letters = set[str]()
    for word in session.words:
        plain = {"--verbose": "-v", "--human-readable": "-H"}.get(word, word)
        if not plain.startswith("-") or set(plain[1:]) - {"v", "H"}:
            _refuse(word, _COUNT_USAGE, {"v", "H"})
        letters |= set(plain[1:])
    repository = session.repository
    found = stored(repository)
    sizes = [len(repository.disk.read(f"{repository.folder}/objects/{sha[:2]}/{sha[2:]}")) for sha in found]
    room = sum(-(-size // _BLOCK) * _BLOCK for size in sizes)
    human = "H" in letters
    if "v" not in letters:
        session.say(f"{len(found)} objects, {_size(room) if human else f'{room // 1024} kilobytes'}")
        return
    shown, nothing = (_size(room), _size(0)) if human else (str(room // 1024), "0")
    session.output.append(
        f"count: {len(found)}\nsize: {shown}\nin-pack: 0\npacks: 0\nsize-pack: {nothing}\nprune-packable: 0\n"
        f"garbage: 0\nsize-garbage: {nothing}\n"
    )


def _size(room: int) -> str:
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if room >= limit:
            return f"{room / limit:.2f} {unit}"
    return f"{room} bytes"


def gc(session: GitSession) -> None:
    """Remove old objects that nothing leads to. All others keep files of their own: there are no packs here."""
    repository, expiry = session.repository, session.setting("gc.pruneexpire") or _EXPIRY
    for word in session.words:
        if word.startswith("--prune="):
            expiry = word.partition("=")[2]
        elif word not in _GC_KNOWN:
            _refuse(word, _GC_USAGE, set())
    if not stored(repository):
        session.say("Nothing new to pack.")
    if "--auto" in session.words:
        return
    try:
        _require_whole(repository, blobs=True)
    except GitStop as stop:
        raise GitStop(f"{stop.text}\nfatal: failed to run repack") from None
    if "--no-prune" not in session.words:
        _prune(session, expiry, set())


def prune(session: GitSession) -> None:
    """Remove the objects that nothing leads to."""
    words, flags, heads, expiry = list(session.words), set[str](), list[str](), "now"
    while words:
        word = words.pop(0)
        if word == "--expire" and words:
            expiry = words.pop(0)
        elif word.startswith("--expire="):
            expiry = word.partition("=")[2]
        elif word in ("-n", "--dry-run", "-v", "--verbose", "--progress", "--no-progress", "--"):
            flags.add({"--dry-run": "-n", "--verbose": "-v"}.get(word, word))
        elif word.startswith("-"):
            _refuse(word, _PRUNE_USAGE, set())
        else:
            sha = named_object(session, word)
            if sha is None:
                raise GitStop(f"fatal: unrecognized argument: {word}")
            heads.append(sha)
    _prune(session, expiry, flags, heads)


def _prune(session: GitSession, expiry: str, flags: set[str], heads: list[str] | None = None) -> None:
    if expiry == "never":
        return
    repository = session.repository
    _require_whole(repository, blobs=False)
    limit = session.call.now if expiry in ("now", "all") else seconds_at(expiry.replace(".", " "), session.now)
    kept = kept_ids(repository) | reached(repository, heads or [])
    for sha in stored(repository):
        path = f"{repository.folder}/objects/{sha[:2]}/{sha[2:]}"
        if sha in kept or repository.disk.node(path).modified > limit:
            continue
        if flags & {"-n", "-v"}:
            session.say(f"{sha} {kind_or_none(repository, sha) or 'unknown'}")
        if "-n" not in flags:
            repository.disk.remove(path)
            above = path.rpartition("/")[0]
            if not repository.disk.names(above):
                repository.disk.remove(above)


def _require_whole(repository: FolderRepository, *, blobs: bool) -> None:
    """Raise GitStop where something in use is missing or damaged: what it leads to would seem to be out of use."""
    waiting = list[tuple[str, Kind | None, str]]()
    for name, sha in ref_ids(repository).items():
        waiting.append((sha, None, name))
    for sha in index_ids(repository):
        waiting.append((sha, "blob", ""))
    there, seen = set(stored(repository)), set[str]()
    while waiting:
        sha, wanted, source = waiting.pop()
        if sha in seen or sha == EMPTY_TREE or (wanted == "blob" and not blobs):
            continue
        seen.add(sha)
        kind = kind_or_none(repository, sha)
        if kind is not None:
            for one, what in led_to(repository, sha):
                waiting.append((one, what, sha))
        elif sha in there:
            place = f".git/objects/{sha[:2]}/{sha[2:]}"
            raise GitStop(f"fatal: loose object {sha} (stored in {place}) is corrupt")
        elif wanted is None:
            raise GitStop(f"fatal: unable to parse object: {source}")
        elif wanted == "commit":
            raise GitStop(f"error: Could not read {sha}\nfatal: Failed to traverse parents of commit {source}")
        else:
            raise GitStop(f"fatal: bad tree object {sha}" if wanted == "tree" else f"fatal: unable to read {sha}")


def _refuse(word: str, usage: str, letters: set[str]) -> None:
    if word.startswith("--"):
        raise GitStop(f"error: unknown option `{word[2:]}'\n{usage}", 129)
    if word.startswith("-") and len(word) > 1:
        wrong = next((letter for letter in word[1:] if letter not in letters), word[1])
        raise GitStop(f"error: unknown switch `{wrong}'\n{usage}", 129)
    raise GitStop(usage, 129)
