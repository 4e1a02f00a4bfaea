"""Tests of one file in the expression of find, and actions upon it, as functions."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import translate
from math import floor
from posixpath import basename, dirname

from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.worlds.machine.accounts import READ, SEARCH, WRITE
from simtrain.worlds.machine.commands.find_format import formatted
from simtrain.worlds.machine.commands.ls import link_count
from simtrain.worlds.machine.commands.modes import new_mode
from simtrain.worlds.machine.expressions import ExpressionProblem, Syntax, expression
from simtrain.worlds.machine.invocation import Invocation, quoted
from simtrain.worlds.machine.nodes import TreeNode

DAY, MINUTE = 86_400, 60
_TYPES = {"f": "file", "d": "directory", "l": "link", "c": "device"}
_SIZES = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1024**2, "G": 1024**3}


class ExpressionError(Exception):
    """An expression that find refuses; the text is its own."""


@dataclass(slots=True)
class Found:
    """A file that find has come to: its path as it is shown, its absolute path, its node and its depth below the starting point."""

    shown: str
    path: str
    node: TreeNode
    depth: int
    start: str


@dataclass(slots=True)
class Search:
    """What an expression has found out so far: output, errors, paths collected for `-exec ... +`, and whether to go on."""

    call: Invocation
    now: float
    output: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    batches: dict[int, tuple[list[str], list[str]]] = field(default_factory=dict[int, tuple[list[str], list[str]]])
    pruned: bool = False
    stopped: bool = False
    failed: bool = False
    answers: list[str] | None = None


Test = Callable[[Search, Found], bool]


def always(search: Search, found: Found) -> bool:
    """Hold for each file."""
    return True


def executed(command: list[str], *, inside: bool) -> Test:
    """Return what runs a command for each file; `inside`: in its directory."""

    def run(search: Search, found: Found) -> bool:
        shown = f"./{basename(found.path)}" if inside else found.shown
        line = quoted([word.replace("{}", shown) for word in command])
        result = search.call.run(line, directory=dirname(found.path) if inside else None)
        search.output.append(result.stdout)
        search.errors.append(result.stderr)
        return result.exit_code == 0

    return run


def if_answered(command: list[str], run: Test) -> Test:
    """Return what asks before it runs a command."""

    def ask(search: Search, found: Found) -> bool:
        search.errors.append(f"< {command[0]} ... {found.shown} > ? ")
        if search.answers is None:
            search.answers = (search.call.stdin or "").splitlines()
        answer = search.answers.pop(0) if search.answers else ""
        return answer[:1] in ("y", "Y") and run(search, found)

    return ask


def collected(command: list[str]) -> Test:
    """Return what notes each file for one run of a command at the end."""

    def collect(search: Search, found: Found) -> bool:
        search.batches.setdefault(id(command), (command, []))[1].append(found.shown)
        return True

    return collect


def _print(search: Search, found: Found) -> bool:
    search.output.append(f"{found.shown}\n")
    return True


def _print0(search: Search, found: Found) -> bool:
    search.output.append(f"{found.shown}\0")
    return True


def _prune(search: Search, found: Found) -> bool:
    search.pruned = True
    return True


def _quit(search: Search, found: Found) -> bool:
    search.stopped = True
    return True


def _delete(search: Search, found: Found) -> bool:
    try:
        search.call.files.remove(found.path)
    except OSError as error:
        search.errors.append(f"find: cannot delete '{found.shown}': {error.strerror}\n")
        search.failed = True
        return False
    return True


def _empty(search: Search, found: Found) -> bool:
    if found.node.kind == "directory":
        return search.call.user.may(READ, found.node) and not search.call.files.names(found.path)
    return found.node.kind == "file" and found.node.size == 0


def _access(bit: int) -> Test:
    return lambda search, found: search.call.user.may(bit, found.node)


def _list(search: Search, found: Found) -> bool:
    search.output.append(
        formatted("%i %k %M %n %u %g %s %Tb %Td %TH:%TM %p\n", found.shown, found.node, found.depth, found.start)
    )
    return True


def _no_user(search: Search, found: Found) -> bool:
    return found.node.owner not in search.call.machine.users


def _no_group(search: Search, found: Found) -> bool:
    return found.node.group not in search.call.machine.groups


PLAIN: dict[str, Test] = {
    "-print": _print, "-print0": _print0, "-prune": _prune, "-quit": _quit, "-delete": _delete, "-empty": _empty,
    "-true": always, "-false": lambda search, found: False, "-depth": always, "-d": always, "-mount": always,
    "-xdev": always, "-daystart": always, "-noleaf": always, "-ls": _list, "-readable": _access(READ),
    "-writable": _access(WRITE), "-executable": _access(SEARCH), "-nouser": _no_user, "-nogroup": _no_group,
}  # fmt: skip
ACTIONS = frozenset({"-print", "-print0", "-delete", "-ls", "-printf", "-quit"})


def _pattern(call: Invocation, option: str, value: str) -> Test:
    flags = re.IGNORECASE if option.startswith("-i") else 0
    matches = re.compile(translate(value), flags).match
    if option in ("-name", "-iname"):
        return lambda search, found: matches(basename(found.shown.rstrip("/")) or "/") is not None
    if option in ("-lname", "-ilname"):
        return lambda search, found: found.node.kind == "link" and matches(found.node.target) is not None
    return lambda search, found: matches(found.shown) is not None


def regex_test(option: str, value: str, syntax: Syntax) -> Test:
    """Return the test of `-regex`, which the whole path must match. Raises ExpressionError."""
    try:
        wanted = expression(value, syntax=syntax, ignore_case=option == "-iregex")
    except ExpressionProblem as problem:
        raise ExpressionError(f"find: failed to compile regular expression '{value}': {problem}") from None
    return lambda search, found: wanted.fits(found.shown)


def _type(call: Invocation, option: str, value: str) -> Test:
    kinds = {_TYPES.get(letter, "") for letter in value.split(",")}
    if not value or any(letter not in "bcdpflsD" or len(letter) != 1 for letter in value.split(",")):
        raise ExpressionError(f"find: Unknown argument to {option}: {value}")
    if option == "-type":
        return lambda search, found: found.node.kind in kinds

    def leads(search: Search, found: Found) -> bool:
        # A link that leads nowhere is one.
        target = search.call.files.find(found.path)
        return (found.node if target is None else target).kind in kinds

    return leads


def _compared(option: str, value: str) -> Callable[[float], bool]:
    sign, digits = (value[0], value[1:]) if value[:1] in ("+", "-") else ("", value)
    try:
        number = float(digits)
    except ValueError:
        raise ExpressionError(f"find: invalid argument `{value}' to `{option}'") from None
    if sign == "+":
        return lambda given: given > number
    return (lambda given: given < number) if sign == "-" else (lambda given: given == number)


def _same_file(call: Invocation, option: str, value: str) -> Test:
    if not call.files.exists(call.path(value), follow=False):
        raise ExpressionError(f"find: '{value}': No such file or directory")
    real = call.files.real(call.path(value), follow=False)
    return lambda search, found: call.files.real(found.path, follow=False) == real


def _link_number(call: Invocation, option: str, value: str) -> Test:
    fits = _compared(option, value)
    return lambda search, found: fits(link_count(call, found.path, found.node))


def _size(call: Invocation, option: str, value: str) -> Test:
    unit = value[-1:] if value[-1:] in _SIZES and not value[-1:].isdigit() else ""
    fits = _compared(option, value.removesuffix(unit) if unit else value)
    length = _SIZES[unit]
    return lambda search, found: fits(-(-found.node.size // length))


def _age(call: Invocation, option: str, value: str) -> Test:
    fits, length = _compared(option, value), DAY if option.endswith("time") else MINUTE
    if length == MINUTE:
        # Minutes are rounded up, days are cut.
        return lambda search, found: fits(-floor(-(search.now - found.node.modified) / MINUTE))
    return lambda search, found: fits(floor((search.now - found.node.modified) / DAY))


def _newer(call: Invocation, option: str, value: str) -> Test:
    if option == "-newermt":
        try:
            moment = instant(value.strip())
        except InputError:
            told = call.run(f"date -d {quoted([value])} +%s")
            if told.exit_code:
                raise ExpressionError(
                    f"find: I cannot figure out how to interpret '{value}' as a date or time"
                ) from None
            moment = float(told.stdout)
    else:
        try:
            moment = call.files.node(call.path(value)).modified
        except OSError as error:
            raise ExpressionError(f"find: '{value}': {error.strerror}") from None
    return lambda search, found: found.node.modified > moment


def _permissions(call: Invocation, option: str, value: str) -> Test:
    sign, rest = (value[0], value[1:]) if value[:1] in ("-", "/") else ("", value)
    mode = new_mode(rest, 0, directory=False, umask=0)
    if mode is None:
        raise ExpressionError(f"find: invalid mode '{value}'")
    if sign == "-":
        return lambda search, found: found.node.mode & mode == mode
    if sign == "/":
        return lambda search, found: not mode or bool(found.node.mode & mode)
    return lambda search, found: found.node.mode == mode


def _owner(call: Invocation, option: str, value: str) -> Test:
    if option == "-user":
        if value not in call.machine.users and not value.isdigit():
            raise ExpressionError(f"find: '{value}' is not the name of a known user")
        names = {user.name for user in call.machine.users.values() if value in (user.name, str(user.uid))}
        return lambda search, found: found.node.owner in names
    if value not in call.machine.groups and not value.isdigit():
        raise ExpressionError(f"find: '{value}' is not the name of an existing group")
    groups = {name for name, number in call.machine.groups.items() if value in (name, str(number))}
    return lambda search, found: found.node.group in groups


def _printf(call: Invocation, option: str, value: str) -> Test:
    def write(search: Search, found: Found) -> bool:
        search.output.append(formatted(value, found.shown, found.node, found.depth, found.start))
        return True

    return write


VALUED: dict[str, Callable[[Invocation, str, str], Test]] = {
    "-name": _pattern, "-iname": _pattern, "-path": _pattern, "-ipath": _pattern, "-wholename": _pattern, "-lname": _pattern,
    "-type": _type, "-xtype": _type, "-samefile": _same_file, "-links": _link_number, "-size": _size,
    "-mtime": _age, "-atime": _age, "-ctime": _age, "-mmin": _age, "-amin": _age, "-cmin": _age,
    "-newer": _newer, "-newermt": _newer, "-perm": _permissions,
    "-user": _owner, "-group": _owner, "-printf": _printf,
}  # fmt: skip
