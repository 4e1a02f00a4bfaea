"""Names of refs as lists show them: shortened, or what an upstream is to its branch."""

from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.handlers.git.revisions import candidates
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.session import GitStop

_TRACKS = {"track", "trackshort", "remotename", "remoteref", "nobracket"}


def short_name(repository: FolderRepository, ref: str) -> str:
    """Return the shortest name of a ref that stands for no other one."""
    for prefix in (REMOTES, HEADS, TAGS, "refs/"):
        if ref.startswith(prefix):
            short = ref.removeprefix(prefix)
            if not any(one != ref and repository.ref(one) for one in candidates(short)):
                return short
    return ref


def styled_name(repository: FolderRepository, ref: str, style: str, field: str) -> str:
    """Return a ref in one of the styles `short`, `lstrip=N`, `strip=N` and `rstrip=N`. Raises GitStop for another."""
    if not style or not ref:
        return ref
    if style == "short":
        return short_name(repository, ref)
    name, _, number = style.partition("=")
    if name not in ("strip", "lstrip", "rstrip"):
        raise GitStop(f"fatal: unrecognized %({field}) argument: {style}")
    if not number.lstrip("-").isdigit():
        wanted = "refname:strip=" if name == "strip" else f"refname:{name}="
        raise GitStop(f"fatal: Integer value expected {wanted}{number}")
    parts, count = ref.split("/"), int(number)
    # Below zero, it is what stays that is counted.
    gone = max(0, len(parts) + count) if count < 0 else count
    return "/".join(parts[: max(0, len(parts) - gone)] if name == "rstrip" else parts[gone:])


def upstream_text(repository: FolderRepository, ref: str, field: str) -> str:
    """Return the upstream of a branch in the style behind the colon of a field such as `upstream:track`."""
    name, _, style = field.partition(":")
    upstream = repository.upstream(ref) if ref.startswith(HEADS) else None
    if upstream is not None and name == "push" and upstream.rpartition("/")[2] != ref.rpartition("/")[2]:
        upstream = None
    if upstream is None:
        return ""
    words = style.split(",")
    if not set(words) <= _TRACKS or not style:
        return styled_name(repository, upstream, style, name)
    short = ref.removeprefix(HEADS)
    if style == "remotename":
        return repository.setting(f"branch.{short}.remote") or ""
    if style == "remoteref":
        return repository.setting(f"branch.{short}.merge") or ""
    return _distance(repository, ref, upstream, words)


def _distance(repository: FolderRepository, ref: str, upstream: str, words: list[str]) -> str:
    mine, theirs = repository.ref(ref), repository.ref(upstream)
    short = "trackshort" in words
    if mine is None or theirs is None:
        return "" if short else "gone" if "nobracket" in words else "[gone]"
    here, there = reachable(repository, mine), reachable(repository, theirs)
    ahead, behind = len(here - there), len(there - here)
    if short:
        return {(False, False): "=", (True, False): ">", (False, True): "<", (True, True): "<>"}[ahead > 0, behind > 0]
    texts = [f"{name} {count}" for name, count in (("ahead", ahead), ("behind", behind)) if count]
    text = ", ".join(texts)
    return text if "nobracket" in words or not text else f"[{text}]"
