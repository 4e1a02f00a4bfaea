"""Other names for the members of an archive: `--transform` and `--strip-components` of tar."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.worlds.machine.commands.options import Options
from simtrain.worlds.machine.expressions import ExpressionProblem, RegularExpression, expression

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
    """What the options say of names: changes in their order, then how many folders in front are left out."""

    changes: Sequence[_Change]
    strip: int

    def other(self, name: str) -> str:
        """Return what a member is called instead; `` for none that is left."""
        for change in self.changes:
            name = change.carried_out(name)
        return "/".join(name.split("/")[self.strip :])


def member_names(options: Options) -> MemberNames:
    """Read the options. Raises TarNameRefused."""
    strip = options.value("strip") or "0"
    if not (strip.isascii() and strip.isdigit() and len(strip) < 10):
        raise TarNameRefused(f"{strip}: Invalid number of elements")
    return MemberNames([change for text in options.values("transform") for change in _changes(text)], int(strip))


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
