"""Messages of commits: what is cleaned off them, the trailers at their end, and the editor that they are written in."""

import re
from collections.abc import Sequence

from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.invocation import quoted

MODES = ("default", "strip", "whitespace", "verbatim", "scissors")
"""The values of --cleanup."""
SCISSORS = "# ------------------------ >8 ------------------------"
_TRAILER = re.compile(r"[A-Za-z0-9-]+[ \t]*:|\(cherry picked from commit ")
_OF_GIT = ("Signed-off-by: ", "(cherry picked from commit ")
_NO_EDITOR = "error: Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option."


def cleaned(message: str) -> str:
    """Return a message without space at line ends and blank lines around it; ends in a newline unless empty."""
    lines = [line.rstrip() for line in message.split("\n")]
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    text = "\n".join(kept).strip("\n")
    return f"{text}\n" if text else ""


def cleaned_as(message: str, mode: str, *, edited: bool, cut: bool = False) -> str:
    """Return a message cleaned in one of the modes of --cleanup. With `cut`, what follows the line of scissors is left out."""
    if (cut or mode == "scissors") and edited:
        message = message.partition(f"{SCISSORS}\n")[0]
    if mode == "verbatim":
        return message
    if mode == "strip" or (mode == "default" and edited):
        message = "\n".join(line for line in message.split("\n") if not line.startswith("#"))
    return cleaned(message)


def subject_of(message: str) -> str:
    """Return the first paragraph of a message as one line."""
    return " ".join(message.strip("\n").partition("\n\n")[0].split("\n"))


def trailers_of(message: str) -> list[str] | None:
    """Return the lines of the trailers that end a message; None if it ends in none."""
    before, _, last = message.rstrip("\n").rpartition("\n\n")
    lines = last.split("\n")
    if not before.strip() or not lines[0]:
        return None
    fitting = sum(bool(_TRAILER.match(line)) or line[:1] in (" ", "\t") for line in lines)
    own = any(line.startswith(_OF_GIT) for line in lines)
    return lines if fitting == len(lines) or (own and fitting * 3 >= len(lines) - fitting) else None


def with_line(message: str, line: str) -> str:
    """Return a message with one more line among its trailers."""
    text = message.rstrip("\n")
    return f"{text}{chr(10) if trailers_of(message) is not None else chr(10) * 2}{line}\n"


def signed_off(session: GitSession, message: str, *, once: bool = False) -> str:
    """Return a message with the committer's sign-off as last line. With `once`, one further up is enough."""
    who = session.signature("COMMITTER")
    line = f"Signed-off-by: {who.name} <{who.email}>"
    held = trailers_of(message) or []
    if held[-1:] == [line] or (once and line in held):
        return message
    return with_line(message, line)


def with_trailers(message: str, wanted: Sequence[str]) -> str:
    """Return a message with the trailers of --trailer, each of which may stand above itself only once."""
    for one in wanted:
        found = re.match(r"([^:=]*)[:=]?(.*)", one, re.DOTALL)
        assert found is not None
        line = f"{found[1].strip()}: {found[2].strip()}"
        if (trailers_of(message) or [""])[-1] != line:
            message = with_line(message, line)
    return message


def editor_of(session: GitSession) -> str | None:
    """Return the command of the user's editor; None if there is none that git would start here."""
    environment = session.call.environment
    smart = environment.get("TERM", "dumb") != "dumb"
    return (
        environment.get("GIT_EDITOR")
        or session.setting("core.editor")
        or (environment.get("VISUAL") if smart else None)
        or environment.get("EDITOR")
    )


def edited(session: GitSession, text: str, name: str = "COMMIT_EDITMSG", *, command: str | None = None) -> str:
    """Let the user's editor change a text, which lies in a file of `.git` meanwhile. Raises GitStop where it cannot."""
    repository = session.repository
    repository.put_text(name, text)
    editor = command or editor_of(session)
    if not editor:
        raise GitStop(_NO_EDITOR if name == "COMMIT_EDITMSG" else _NO_EDITOR.partition("\n")[0], 1)
    if editor != ":":
        done = session.call.run(f"{editor} {quoted([f'{repository.folder}/{name}'])}", directory=repository.path)
        session.output.append(done.stdout)
        session.errors.append(done.stderr)
        if done.exit_code:
            advice = _NO_EDITOR.partition("\n")[2]
            raise GitStop(f"error: There was a problem with the editor '{editor}'.\n{advice}", 1)
    return repository.text(name) or ""
