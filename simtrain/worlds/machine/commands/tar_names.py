"""Which members tar takes and what it calls them: `--exclude`, `--transform`, `--strip-components`; and `--mtime`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from posixpath import basename

from simtrain.worlds.machine.commands.date_words import NoDate, moment_of
from simtrain.worlds.machine.commands.options import Options
from simtrain.worlds.machine.commands.zones import zone_named
from simtrain.worlds.machine.expressions import ExpressionProblem, RegularExpression, expression
from simtrain.worlds.machine.invocation import Invocation

_FLAGS = re.compile(r"[gixrRsShH]*(\d*)[gixrRsShH]*")
_MARK = re.compile(r"\\(.)|&", re.DOTALL)


class TarNameRefused(Exception):
    """Raised for a value that tar refuses; the text is its own."""


@dataclass(frozen=True, slots=True)
class _Change:
    wanted: RegularExpression
    put: str
    first: int
    every: bool

    def carried_out(self, name: str) -> str:
        return self.wanted.replaced(name, self._written, first=self.first, every=self.every)

    def _written(self, groups: Sequence[str]) -> str:
        def part(found: re.Match[str]) -> str:
            if found[0] == "&":
                return groups[0]
            return groups[int(found[1])] if found[1].isdigit() and int(found[1]) < len(groups) else found[1]

        return _MARK.sub(part, self.put)


@dataclass(frozen=True, slots=True)
class MemberNames:
    """What the options say of names: changes in their order, then how many folders in front are left out; what is no member at all.

    `moment` is the time that all get, in Unix seconds; None for their own.
    """

    changes: Sequence[_Change]
    strip: int
    patterns: Sequence[str]
    moment: int | None

    def other(self, name: str) -> str:
        """Return what a member is called instead; `` for none that is left."""
        for change in self.changes:
            name = change.carried_out(name)
        return "/".join(name.split("/")[self.strip :])

    def leaves_out(self, name: str) -> bool:
        """True if a name, or its last part, fits a pattern of what is left out."""
        return any(
            fnmatchcase(name, pattern) or fnmatchcase(name, f"*/{pattern}") or fnmatchcase(basename(name), pattern)
            for pattern in self.patterns
        )


def member_names(call: Invocation, options: Options) -> MemberNames:
    """Read the options. Raises TarNameRefused, and OSError for a list of patterns that cannot be read."""
    strip = options.value("strip") or "0"
    if not (strip.isascii() and strip.isdigit() and len(strip) < 10):
        raise TarNameRefused(f"{strip}: Invalid number of elements")
    changes = [change for text in options.values("transform") for change in _changes(text)]
    patterns = [*options.values("exclude"), *([".git", ".git/*"] if options.has("vcs") else [])]
    for name in options.values("X"):
        patterns += call.files.read(call.path(name)).decode("utf-8", "surrogateescape").split("\n")
    kept = [pattern.rstrip("/") for pattern in patterns if pattern.strip("/")]
    return MemberNames(changes, int(strip), kept, _moment(call, options.value("mtime")))


def _moment(call: Invocation, text: str | None) -> int | None:
    if text is None:
        return None
    if text.startswith(("/", "./")):
        return int(call.files.node(call.path(text)).modified)
    try:
        return int(moment_of(text, now=call.now, zone=zone_named(call.environment.get("TZ"))))
    except NoDate:
        raise TarNameRefused(f"Unknown date format '{text}'") from None


def _changes(text: str) -> list[_Change]:
    """Return what `s/OLD/NEW/FLAGS` says, or several of these with `;` between."""
    found: list[_Change] = []
    while text:
        if len(text) < 2 or text[0] != "s":
            raise TarNameRefused("Invalid transform expression")
        mark = re.escape(text[1])
        parts = re.match(
            rf"((?:\\.|(?!{mark}).)*){mark}((?:\\.|(?!{mark}).)*){mark}([^;]*)(?:;|\Z)", text[2:], re.DOTALL
        )
        flags = _FLAGS.fullmatch(parts[3]) if parts else None
        if parts is None or flags is None:
            raise TarNameRefused("Invalid transform expression")
        syntax = "extended" if "x" in parts[3] else "basic"
        try:
            wanted = expression(parts[1], syntax=syntax, ignore_case="i" in parts[3])
        except ExpressionProblem as problem:
            raise TarNameRefused(f"Invalid transform expression: {problem}") from None
        found.append(_Change(wanted, parts[2], int(flags[1] or 1), "g" in parts[3]))
        text = text[2 + parts.end() :]
    return found
