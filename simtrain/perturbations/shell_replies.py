"""What perturbations see and say on a shell: which programs a command line starts, and replies as the shell prints them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import basename

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.contracts.world import WorldState
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec

SHELLS = frozenset({"terminal", "swe"})
"""Domains whose tools are shells."""
_SEPARATORS = re.compile(r"\|\||&&|\||;|\n|\$\(|`|\(|\)|\{ ")
_SKIPPED = frozenset({"time", "nohup", "env", "exec", "then", "do", "else", "if", "while", "until", "!", "{", "xargs"})
_CLAUSES = frozenset({"for", "case", "select", "function", "done", "fi", "esac", "in", "[", "[[", "test", "}"})
_OF_SUDO = re.compile(r"(?<![\w-])sudo\s+(?:-[ug]\s+\S+\s+|-\S+\s+)*")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_PROGRAM = re.compile(r"[A-Za-z0-9_./+-]+")
_NETWORK = {
    "pip": "WARNING: Retrying (Retry(total=0)) after connection broken by 'NameResolutionError: Failed to resolve 'pypi.org' "
    "([Errno -3] Temporary failure in name resolution)'\nERROR: Could not install packages due to an OSError: "
    "HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded",
    "apt": "Err:1 http://deb.debian.org/debian bookworm InRelease\n  Temporary failure resolving 'deb.debian.org'\n"
    "E: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease  Temporary failure resolving "
    "'deb.debian.org'\nE: Some index files failed to download. They have been ignored, or old ones used instead.",
    "ssh": "ssh: Could not resolve hostname {host}: Temporary failure in name resolution",
    "git": "ssh: Could not resolve hostname: Temporary failure in name resolution\n"
    "fatal: Could not read from remote repository.",
    "curl": "curl: (6) Could not resolve host: {host}",
    "wget": "wget: unable to resolve host address '{host}'",
    "ping": "ping: {host}: Temporary failure in name resolution",
    "nc": 'nc: getaddrinfo for host "{host}" port {port}: Temporary failure in name resolution',
}
_KIN = {"pip3": "pip", "apt-get": "apt", "scp": "ssh", "rsync": "ssh"}
_CODES = {"pip": 1, "apt": 100, "ssh": 255, "git": 128, "curl": 6, "wget": 4, "ping": 2, "nc": 1}
_NAMELESS = frozenset({"pip", "apt", "git"})
"""Programs that need a name even where the line has none."""
_REMOTE = frozenset({"fetch", "pull", "push", "clone", "ls-remote"})
_HOST = re.compile(r"(?:https?://|[a-z_][\w-]*@)?(?!https?:)([a-z][\w.-]*)(?::|/|\s|$)")


def is_shell(tool: ToolSpec) -> bool:
    """Return True for a tool that takes command lines."""
    return tool.name == "bash" and "command" in tool.input_schema.get("properties", {})


def typed(call: Call) -> str | None:
    """Return the command line that was typed; None if the call is none of a shell."""
    if call.domain not in SHELLS or not is_shell(call.request.tool):
        return None
    command = call.request.arguments.get("command")
    return command if isinstance(command, str) else None


def retyped(call: Call, command: str) -> Request:
    """Return the request of a call with another command line."""
    return replace(call.request, arguments={**call.request.arguments, "command": command})


def in_bent_world(call: Call, command: str) -> Request:
    """Return the request with a command line that is another one by its end alone: the same would count as what the clean world answers."""
    return retyped(call, f"{command}\n")


def hostname(call: Call, world: WorldState) -> str:
    """Return the name of the machine that a call's shell runs on."""
    with world.savepoint():
        reply = world.answer(replace(call.request, arguments={"command": "hostname"}))
    return str((reply.content or {})["stdout"]).strip()


def programs(command: str) -> list[str]:
    """Return the names of the programs that a command line starts, in order, each once."""
    return list(dict.fromkeys(word for words in _lines(command) for word in words[:1]))


def network_failure(command: str) -> tuple[str, int] | None:
    """Return what the first program that needs the network says when no name can be resolved, and its exit code; None without one."""
    for words in _lines(command):
        name = _KIN.get(words[0], words[0])
        if (
            name not in _NETWORK
            or (name == "git" and not _REMOTE & set(words))
            or (name in ("pip", "apt") and not _fetches(words))
        ):
            continue
        given = [word for word in words[1:] if not word.startswith("-")]
        # `scp` names files too; only what has a colon lies elsewhere.
        named = [word for word in given if ":" in word] or given
        targets = [found[1] for word in named if (found := _HOST.match(word))]
        if name not in _NAMELESS and (not targets or targets[0] == "localhost"):
            # An address needs no name server, nor does the machine itself.
            continue
        port = next((word for word in given if word.isdigit()), "80")
        return _NETWORK[name].format(host=targets[0] if targets else "origin", port=port), _CODES[name]
    return None


def _fetches(words: list[str]) -> bool:
    return bool({"install", "update", "download", "upgrade"} & set(words))


def _lines(command: str) -> Iterator[list[str]]:
    """Yield the words of each simple command, its program first and without its path. What is in quotes starts nothing."""
    for part in _SEPARATORS.split(_OF_SUDO.sub("", _QUOTED.sub('""', command))):
        words = part.split()
        while words and (words[0] in _SKIPPED or "=" in words[0] or words[0].startswith("-")):
            words = words[1:]
        if words and words[0] not in _CLAUSES and _PROGRAM.fullmatch(words[0]):
            yield [basename(words[0]), *words[1:]]


def printed(call: Call, text: str, *, exit_code: int, by: str) -> Observation:
    """Return the reply of a shell that printed this on stderr and nothing else, in the form that all its replies have.

    It is no error of the tool: a command that fails is none either. A text in square brackets is a note, which is not printed.
    """
    note = text.startswith("[")
    shown = text if note else f"{text}\n[exit code {exit_code}]"
    content: JsonObject = {"stdout": "", "stderr": "" if note else f"{text}\n", "exit_code": exit_code}
    if call.world is not None and call.in_world:
        with call.world.savepoint():
            before = call.world.answer(replace(call.request, arguments={"command": ":"})).content or {}
        content |= {"prompt": before["prompt"]} if "prompt" in before else {}
    return Observation(shown, structured=content, provenance=Provenance(by))


def with_output(reply: Observation, change: dict[str, str]) -> Observation:
    """Return the reply of a shell with other streams, `stdout` or `stderr`, and its text changed alike."""
    content = dict(reply.content or {})
    text = reply.text
    for stream, after in change.items():
        before = str(content.get(stream, "")).removesuffix("\n")
        inside = after.removesuffix("\n")
        text = (
            text.replace(before, inside, 1)
            if before and before in text
            else "\n".join(part for part in (inside, text) if part)
        )
        content[stream] = after
    return replace(reply, text=text, structured=content)
