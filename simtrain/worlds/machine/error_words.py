"""Errors of the engine's programs in the words of GNU's: names as they were typed, and the hint at `--help`."""

import re

_CORE = (
    "b2sum", "base32", "base64", "basename", "basenc", "cat", "cksum", "comm", "cut", "dd", "dirname", "env", "expand", "expr",
    "factor", "fmt", "fold", "head", "join", "ln", "md5sum", "mkfifo", "nice", "nl", "nohup", "numfmt", "od", "paste", "pr",
    "printenv", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "sort", "sum", "tac", "tail", "tr",
    "truncate", "tsort", "unexpand", "uniq", "wc", "column", "rev", "hexdump", "xargs",
)  # fmt: skip
_NAMES = "|".join(_CORE)
_ERROR = re.compile(rf"^({_NAMES}): (.+): (No such file or directory|Is a directory)$", re.MULTILINE)
_REFUSAL = re.compile(
    rf"^({_NAMES}): (?:(?:invalid|unrecognized) option(?: --)? '-?(\w)'|missing operand(?: after '.*')?|extra operand '.*')$(?!\nTry)",
    re.MULTILINE,
)
_OTHER_PARSER = re.compile(
    r"^error: unexpected argument '-(\w)\w*' found\n(?:.*\n){0,8}?Usage: (\w+) (?:.*\n){0,8}?For more information, try '--help'\.$",
    re.MULTILINE,
)
_WORDINGS = {
    ("head", "No"): "head: cannot open '{name}' for reading: {why}",
    ("tail", "No"): "tail: cannot open '{name}' for reading: {why}",
    ("head", "Is"): "head: error reading '{name}': {why}",
    ("tail", "Is"): "tail: error reading '{name}': {why}",
    ("sort", "No"): "sort: cannot read: {name}: {why}",
    ("sort", "Is"): "sort: read failed: {name}: {why}",
    ("tac", "No"): "tac: failed to open '{name}' for reading: {why}",
    ("tac", "Is"): "tac: {name}: read error: Invalid argument",
    ("rev", "No"): "rev: cannot open {name}: {why}",
    ("uniq", "Is"): "uniq: error reading '{name}'",
    ("column", "Is"): "column: read failed: {why}",
}
_GNU = ("cannot open '", "error reading '", "failed to open '")
"""How errors begin that commands of ours write, behind the name of the program."""
_SIZES = re.compile(
    r"^error: the following required arguments were not provided:\n(?:.*\n){0,8}?Usage: truncate (?:.*\n){0,8}?For more information, .*$",
    re.MULTILINE,
)
_SIZE = "truncate: you must specify either '--size' or '--reference'\nTry 'truncate --help' for more information."
_FIELDS = "cut: you must specify a list of fields\n"
_LIST = "cut: you must specify a list of bytes, characters, or fields\nTry 'cut --help' for more information.\n"


def in_gnu_words(text: str, script: str, *, output: bool = False) -> str:
    """Return what programs wrote to stderr while a script ran, in the words of GNU's.

    `output` says that it may be other output as well: then only errors of programs that the script names are looked at.
    """
    if output and not any(program in text and program in script for program in _CORE):
        return text

    def kept(found: re.Match[str]) -> bool:
        return output and found[1] not in script

    text = text.replace(": io error: ", ": ")
    if ": No such file" in text or ": Is a directory" in text:
        text = _ERROR.sub(lambda found: found[0] if kept(found) else _worded(found, script), text)
    if " option" in text or " operand" in text or "you must specify" in text:
        text = _REFUSAL.sub(lambda found: found[0] if kept(found) else _hinted(found), text).replace(_FIELDS, _LIST)
    text = _SIZES.sub(_SIZE, text) if "required arguments" in text else text
    if "error: unexpected argument" in text:
        text = _OTHER_PARSER.sub(r"\2: invalid option -- '\1'\nTry '\2 --help' for more information.", text)
    return text


def _worded(found: re.Match[str], script: str) -> str:
    program, path, why = found.groups()
    if path.startswith(_GNU):
        return found[0]
    wording = _WORDINGS.get((program, why[:2]), "{program}: {name}: {why}")
    return wording.format(program=program, name=_typed(path, script), why=why)


def _typed(path: str, script: str) -> str:
    """Return the end of a path that a script names; its last part if it names none."""
    if not path.startswith("/"):
        return path
    parts = path.split("/")
    ends = ("/".join(parts[place:]) for place in range(len(parts)))
    return next((end for end in ends if end and end in script), parts[-1])


def _hinted(found: re.Match[str]) -> str:
    program, letter = found.groups()
    line = f"{program}: invalid option -- '{letter}'" if letter else found[0]
    return f"{line}\nTry '{program} --help' for more information."
