"""ls-remote: the refs of another repository."""

from fnmatch import fnmatchcase

from simtrain.worlds.handlers.git.repository import HEADS, SYMBOLIC, TAGS
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.peeling import peeled
from simtrain.worlds.machine.git.remotes import opened, remotes
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_USAGE = (
    "usage: git ls-remote [--heads] [--tags] [--refs] [--upload-pack=<exec>]\n"
    "                     [-q | --quiet] [--exit-code] [--get-url] [--sort=<key>]\n"
    "                     [--symref] [<repository> [<refs>...]]"
)
_KNOWN = {
    "-h", "--heads", "-t", "--tags", "--refs", "-q", "--quiet", "--exit-code", "--get-url", "--symref",
}  # fmt: skip


def ls_remote(session: GitSession) -> None:
    """List the refs of a repository with what they point at."""
    flags, names, sort = set[str](), list[str](), ""
    words = list(session.words)
    if words == ["-h"]:
        session.say(_USAGE)
        session.code = 129
        return
    while words:
        word = words.pop(0)
        if word.startswith("--sort"):
            sort = word.partition("=")[2] or (words.pop(0) if words else "")
        elif word == "--":
            names += words
            break
        elif word.startswith("-") and word != "-":
            if word not in _KNOWN and not word.startswith("--upload-pack"):
                raise unknown_option(word, _USAGE)
            flags.add(word)
        else:
            names.append(word)
    url = _address(session, names)
    if "--get-url" in flags:
        session.say(url)
        return
    source = opened(session, url)
    if not names and not flags & {"-q", "--quiet"}:
        session.warn(f"From {url}")
    found = [line for line in _lines(source, flags) if not names[1:] or _fits(line[1], names[1:])]
    if sort.lstrip("-") in ("refname", "v:refname", "version:refname"):
        found.sort(key=lambda line: line[1].encode(), reverse=sort.startswith("-"))
    for sha, name, target in found:
        if target and "--symref" in flags:
            session.say(f"ref: {target}\t{name}")
        session.say(f"{sha}\t{name}")
    session.code = 2 if "--exit-code" in flags and not found else 0


def _address(session: GitSession, names: list[str]) -> str:
    try:
        known = remotes(session.repository)
    except GitStop:
        known = dict[str, str]()
    if names:
        return known.get(names[0], names[0])
    own = session.repository.setting(f"branch.{session.branch}.remote") if known else None
    name = own or (next(iter(known)) if len(known) == 1 else "origin")
    if name not in known and own != ".":
        raise GitStop("fatal: No remote configured to list refs from.")
    return known.get(name, name)


def _lines(source: FolderRepository, flags: set[str]) -> list[tuple[str, str, str]]:
    """Return id, name and target of each ref that is asked for."""
    kinds = tuple(prefix for names, prefix in (({"--heads", "-h"}, HEADS), ({"--tags", "-t"}, TAGS)) if flags & names)
    held: dict[str, str] = {}
    if not kinds and "--refs" not in flags:
        held["HEAD"] = f"{SYMBOLIC}{source.head}" if source.head.startswith("refs/") else source.head
    held |= {name: text for name, text in source.refs().items() if not kinds or name.startswith(kinds)}
    found: list[tuple[str, str, str]] = []
    for name, text in held.items():
        sha = source.ref(name)
        if sha is None:
            continue
        found.append((sha, name, text.removeprefix(SYMBOLIC) if text.startswith(SYMBOLIC) else ""))
        end = peeled(source, sha)
        if end != sha and "--refs" not in flags:
            found.append((end, f"{name}^{{}}", ""))
    return found


def _fits(name: str, patterns: list[str]) -> bool:
    plain = name.removesuffix("^{}")
    return any(fnmatchcase(f"/{plain}", f"*/{pattern}") for pattern in patterns)
