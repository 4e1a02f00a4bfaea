"""var, stripspace and check-ref-format."""

import re

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import check_name, shortened
from simtrain.worlds.handlers.git.repository import HEADS
from simtrain.worlds.handlers.git.revisions import earlier_checkout
from simtrain.worlds.machine.git.config import parsed_config
from simtrain.worlds.machine.git.session import GitSession, GitStop


def var(session: GitSession) -> None:
    """Print one of git's variables."""
    name, environment = session.words[0] if len(session.words) == 1 else "", session.call.environment
    values = {
        "GIT_EDITOR": lambda: _editor(session),
        "GIT_PAGER": lambda: environment.get("GIT_PAGER") or session.setting("core.pager") or "pager",
        "GIT_DEFAULT_BRANCH": lambda: session.setting("init.defaultbranch") or "master",
        "GIT_AUTHOR_IDENT": lambda: session.signature("AUTHOR").encode(),
        "GIT_COMMITTER_IDENT": lambda: session.signature("COMMITTER").encode(),
    }
    if name == "-l":
        found = parsed_config(session.user_config()) + parsed_config(session.repository.text("config") or "")
        session.output += [f"{key}={value}\n" for key, value in found]
        session.output += [f"{key}={values[key]()}\n" for key in ("GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT")]
    elif name in values:
        session.say(values[name]())
    else:
        raise GitStop("usage: git var (-l | <variable>)", 129)


def _editor(session: GitSession) -> str:
    environment = session.call.environment
    dumb = environment.get("TERM", "dumb") == "dumb"
    own = environment.get("GIT_EDITOR") or session.setting("core.editor")
    own = own or (None if dumb else environment.get("VISUAL")) or environment.get("EDITOR")
    if own is None and dumb:
        raise GitStop("fatal: Terminal is dumb, but EDITOR unset")
    return own or "editor"


def stripspace(session: GitSession) -> None:
    """Clean a text as messages of commits are, or make each line a comment (-c)."""
    flags, text = set(session.words), session.call.stdin or ""
    if flags & {"-c", "--comment-lines"}:
        session.output += [f"# {line}\n" if line else "#\n" for line in text.splitlines()]
        return
    lines = [line.rstrip() for line in text.splitlines()]
    if flags & {"-s", "--strip-comments"}:
        lines = [line for line in lines if not line.startswith("#")]
    plain = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n"))
    session.output += [f"{plain}\n"] if plain else []


def check_ref_format(session: GitSession) -> None:
    """Tell by the exit code whether a name of a ref is one."""
    flags = {word for word in session.words if word.startswith("--")}
    names = [word for word in session.words if word not in flags]
    if len(names) != 1:
        raise GitStop("usage: git check-ref-format [--normalize] [<options>] <refname>", 129)
    name = names[0]
    if "--branch" in flags:
        earlier = re.fullmatch(r"@\{-(\d+)\}", name)
        short = earlier_checkout(session.repository, int(earlier[1])) or "" if earlier else name
        if not _fits(HEADS + short) or short.startswith("-") or short == "HEAD":
            raise GitStop(f"fatal: '{name}' is not a valid branch name")
        session.say(shortened(HEADS + short))
        return
    if flags & {"--normalize", "--print"}:
        name = re.sub("/+", "/", name).lstrip("/")
    if not _fits(name) or ("/" not in name and "--allow-onelevel" not in flags):
        raise GitStop("", 1)
    if flags & {"--normalize", "--print"}:
        session.say(name)


def _fits(name: str) -> bool:
    try:
        check_name(name)
    except ToolError:
        return False
    return bool(name) and name != "@"
