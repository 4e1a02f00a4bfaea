"""Differences in git's forms: patches, `--stat` and its relatives, and the options that choose among them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pygit2.enums import DiffOption

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.deltas import Delta, is_binary, with_types
from simtrain.worlds.handlers.git.patch import PatchStyle, differs_in_spaces, edits, patch
from simtrain.worlds.handlers.git.paths import quoted
from simtrain.worlds.machine.git.session import GitSession, matching

_FORMS = {
    "-p": "patch", "-u": "patch", "--patch": "patch", "--stat": "stat", "--numstat": "numstat",
    "--shortstat": "shortstat", "--name-only": "name-only", "--name-status": "name-status", "--summary": "summary",
}  # fmt: skip
_QUIET = {"-s", "--no-patch"}
_IGNORED = {"--no-color", "--color", "--color=never", "--color=always", "--color=auto", "-M", "--find-renames", "--minimal",
            "--no-ext-diff", "--histogram", "--patience", "--indent-heuristic", "--textconv", "--no-textconv", "-C",
            "--ext-diff", "--no-relative", "--submodule", "--no-indent-heuristic"}  # fmt: skip
_SPACES = {
    "-w": DiffOption.IGNORE_WHITESPACE, "--ignore-all-space": DiffOption.IGNORE_WHITESPACE,
    "-b": DiffOption.IGNORE_WHITESPACE_CHANGE, "--ignore-space-change": DiffOption.IGNORE_WHITESPACE_CHANGE,
    "--ignore-space-at-eol": DiffOption.IGNORE_WHITESPACE_EOL, "--ignore-cr-at-eol": DiffOption.IGNORE_WHITESPACE_EOL,
    "--ignore-blank-lines": DiffOption.IGNORE_BLANK_LINES,
}  # fmt: skip
Merges: TypeAlias = Literal["", "combined", "dense", "each"]
_MERGES: dict[str, Merges] = {"-c": "combined", "--combined-all-paths": "combined", "--cc": "dense", "-m": "each"}
_WIDE = 80


@dataclass(slots=True)
class Wish:
    """What is asked for: forms in the order of git's output, lines of context.

    `letters` are the kinds of differences that are left in (`--diff-filter`), `merges` how those of a merge are shown.
    """

    forms: list[str] = field(default_factory=list[str])
    context: int = 3
    none: bool = False
    backwards: bool = False
    style: PatchStyle = field(default_factory=PatchStyle)
    letters: str = ""
    merges: Merges = ""

    def take(self, word: str, rest: list[str]) -> bool:
        """Return whether a word is an option about the form of differences, and note it."""
        if word in _FORMS:
            self.forms.append(_FORMS[word])
        elif word.startswith("--stat="):
            self.forms.append("stat")
        elif word == "--patch-with-stat":
            self.forms += ["stat", "patch"]
        elif word in _QUIET:
            self.none = True
        elif re.fullmatch(r"-U\d*|--unified=\d+", word):
            digits = re.sub(r"\D", "", word) or (rest.pop(0) if rest else "3")
            self.context = int(digits)
            self.forms.append("patch")
        elif word in _SPACES:
            self.style = replace(self.style, ignored=self.style.ignored | _SPACES[word])
        elif word in _MERGES:
            self.merges = _MERGES[word]
        elif word == "-R":
            self.backwards = True
        elif word.startswith("--diff-filter="):
            self.letters = word.partition("=")[2]
        else:
            return self._takes_style(word) or word in _IGNORED
        return True

    def _takes_style(self, word: str) -> bool:
        name, _, value = word.partition("=")
        if name == "--no-prefix":
            self.style = replace(self.style, old="", new="")
        elif name == "--src-prefix":
            self.style = replace(self.style, old=value)
        elif name == "--dst-prefix":
            self.style = replace(self.style, new=value)
        elif name == "--full-index":
            self.style = replace(self.style, full_ids=True)
        else:
            return False
        return True

    def kept(self, found: Sequence[Delta]) -> list[Delta]:
        """Return those of some differences that are asked for, the way round that they are asked for."""
        left = [delta for delta in found if self._lets_in(letter(delta))]
        return [Delta(delta.new, delta.old, delta.alike) for delta in left] if self.backwards else left

    def _lets_in(self, kind: str) -> bool:
        # A small letter leaves that kind out.
        chosen = {one for one in self.letters if one.isupper()}
        return (not chosen or kind in chosen) and kind.lower() not in self.letters

    @property
    def is_stat_and_patch(self) -> bool:
        """Whether a bar of signs comes before a patch, which git sets apart by three dashes."""
        return {"stat", "patch"} <= {*self.forms}


def written(
    session: GitSession,
    found: Sequence[Delta],
    wish: Wish,
    *,
    default: str = "patch",
    specs: Sequence[str] = (),
    follow: bool = False,
) -> str:
    """Return differences in all forms that are asked for. `follow` says that a rename is one if its new name is asked for."""
    kept = wish.kept(_limited(found, specs, follow=follow))
    if wish.none or not kept:
        return ""
    forms = wish.forms or [default]
    parts: list[str] = []
    for form in ("numstat", "stat", "shortstat", "summary", "name-only", "name-status", "patch"):
        if form not in forms:
            continue
        if form == "patch":
            style = replace(wish.style, old=wish.style.new, new=wish.style.old) if wish.backwards else wish.style
            parts.append(patch(kept, context=wish.context, abbreviate=session.repository.abbreviated, style=style))
        elif form in ("name-only", "name-status", "summary"):
            parts.append(_TEXTS[form](with_types(kept)))
        else:
            parts.append(_NUMBERS[form](with_types(kept), wish.style.ignored))
    if (len(parts) > 1 and forms[-1] == "patch") or ("patch" in forms and len(parts) > 1):
        return "".join(parts[:-1]) + "\n" + parts[-1]
    return "".join(parts)


def _limited(found: Sequence[Delta], specs: Sequence[str], *, follow: bool) -> list[Delta]:
    """Return the differences of some paths. Of a rename that leads out of them, one side is left."""
    if not specs:
        return [*found]
    kept: list[Delta] = []
    for delta in found:
        old = delta.old if delta.old and matching([delta.old.path], specs) else None
        new = delta.new if delta.new and matching([delta.new.path], specs) else None
        if old or new:
            kept.append(delta if follow or delta.alike is None or (old and new) else Delta(old, new))
    return kept


def counts(delta: Delta, ignored: DiffOption = DiffOption.NORMAL) -> tuple[int, int] | None:
    """Return the added and removed lines of a difference; None for binary files."""
    old, new = delta.old.content if delta.old else b"", delta.new.content if delta.new else b""
    if is_binary(old) or is_binary(new):
        return None
    if old == new:
        return 0, 0
    found = list(edits(lines_of(old), lines_of(new), ignored))
    return sum(one.new_count for one in found), sum(one.old_count for one in found)


def _name(delta: Delta) -> str:
    if delta.alike is None or delta.old is None or delta.new is None or delta.old.path == delta.new.path:
        return quoted(delta.path)
    return renamed(delta.old.path, delta.new.path)


def renamed(old: str, new: str) -> str:
    """Return both paths of a rename, with what they share once: `lib/{a => b}.py`."""
    left = 0
    for place in range(min(len(old), len(new))):
        if old[place] != new[place]:
            break
        if old[place] == "/":
            left = place + 1
    right = 0
    for place in range(1, min(len(old), len(new)) - left + 1):
        if old[-place] != new[-place]:
            break
        if old[-place] == "/":
            right = place
    if not left and not right:
        return f"{old} => {new}"
    end = old[len(old) - right :] if right else ""
    return f"{old[:left]}{{{old[left : len(old) - right]} => {new[left : len(new) - right]}}}{end}"


def stat(found: Sequence[Delta], ignored: DiffOption = DiffOption.NORMAL, *, columns: int = _WIDE) -> str:
    """Return `--stat`: names, numbers of changed lines, a bar of signs, and the sum."""
    found = _but_spaces(found, ignored)
    if not found:
        return ""
    rows = [(_name(delta), counts(delta, ignored), delta) for delta in found]
    most = max((sum(count) for _, count, _ in rows if count), default=0)
    digits = len(str(most))
    binary = any(count is None for _, count, _ in rows)
    if binary:
        digits = max(digits, 3)
    wide = max(len(name) for name, _, _ in rows)
    bar = most
    if wide + digits + 6 + bar > columns:
        share = columns * 3 // 8 - digits - 6
        bar = bar if bar <= share else max(6, share)
        if wide > columns - digits - 6 - bar:
            wide = columns - digits - 6 - bar
        else:
            bar = columns - digits - 6 - wide
    lines: list[str] = []
    for name, count, delta in rows:
        shown = name if len(name) <= wide else _cut(name, wide)
        if count is None:
            sizes = [len(side.content) if side else 0 for side in (delta.old, delta.new)]
            lines.append(f" {shown.ljust(wide)} | {'Bin'.rjust(digits)} {sizes[0]} -> {sizes[1]} bytes\n")
            continue
        plus, minus = _scaled(count, most, bar)
        signs = "+" * plus + "-" * minus
        lines.append(f" {shown.ljust(wide)} | {str(sum(count)).rjust(digits)}{' ' if signs else ''}{signs}\n")
    return "".join(lines) + shortstat(found, ignored)


def _cut(name: str, wide: int) -> str:
    rest = name[len(name) - wide + 3 :]
    slash = rest.find("/")
    return "..." + (rest[slash:] if slash >= 0 else rest)


def _scaled(count: tuple[int, int], most: int, bar: int) -> tuple[int, int]:
    plus, minus = count
    if most <= bar:
        return plus, minus

    def scale(number: int) -> int:
        return 0 if not number else 1 + number * (bar - 1) // most

    total = scale(plus + minus)
    if total < 2 and plus and minus:
        total = 2
    if plus < minus:
        less = scale(plus)
        return less, total - less
    less = scale(minus)
    return total - less, less


def _but_spaces(found: Sequence[Delta], ignored: DiffOption) -> Sequence[Delta]:
    """Return the files that differ in more than in spaces that do not count."""
    return [delta for delta in found if not differs_in_spaces(delta, ignored)] if ignored else found


def shortstat(found: Sequence[Delta], ignored: DiffOption = DiffOption.NORMAL) -> str:
    """Return the sum of a `--stat`."""
    found = _but_spaces(found, ignored)
    if not found:
        return ""
    known = [count for delta in found if (count := counts(delta, ignored)) is not None]
    plus, minus = sum(count[0] for count in known), sum(count[1] for count in known)
    text = f" {len(found)} file{'s' if len(found) != 1 else ''} changed"
    if plus or not minus:
        text += f", {plus} insertion{'s' if plus != 1 else ''}(+)" if plus or not minus else ""
    if minus or not plus:
        text += f", {minus} deletion{'s' if minus != 1 else ''}(-)"
    return text + "\n"


def summary(found: Sequence[Delta]) -> str:
    """Return the lines about files that are made, deleted, renamed, or whose mode changed."""
    lines: list[str] = []
    for delta in found:
        old, new = delta.old, delta.new
        if old is None and new is not None:
            lines.append(f" create mode {new.entry.mode} {quoted(new.path)}\n")
        elif new is None and old is not None:
            lines.append(f" delete mode {old.entry.mode} {quoted(old.path)}\n")
        elif old is not None and new is not None:
            if delta.alike is not None:
                lines.append(f" rename {renamed(old.path, new.path)} ({delta.alike}%)\n")
            if old.entry.mode != new.entry.mode:
                lines.append(
                    f" mode change {old.entry.mode} => {new.entry.mode}{'' if delta.alike is not None else ' ' + quoted(new.path)}\n"
                )
    return "".join(lines)


def _numstat(found: Sequence[Delta], ignored: DiffOption = DiffOption.NORMAL) -> str:
    rows = ((counts(delta, ignored) or ("-", "-"), _name(delta)) for delta in _but_spaces(found, ignored))
    return "".join(f"{plus}\t{minus}\t{name}\n" for (plus, minus), name in rows)


def _names(found: Sequence[Delta]) -> str:
    return "".join(f"{quoted(delta.path)}\n" for delta in found)


def letter(delta: Delta) -> str:
    """Return the letter of a difference in short forms: A, D, M, R or T."""
    if delta.old is None:
        return "A"
    if delta.new is None:
        return "D"
    if delta.alike is not None:
        return "R"
    return "M" if delta.old.type == delta.new.type else "T"


def _statuses(found: Sequence[Delta]) -> str:
    lines: list[str] = []
    for delta in found:
        if delta.alike is not None and delta.old is not None:
            lines.append(f"R{delta.alike:03}\t{quoted(delta.old.path)}\t{quoted(delta.path)}\n")
        else:
            lines.append(f"{letter(delta)}\t{quoted(delta.path)}\n")
    return "".join(lines)


_TEXTS = {"summary": summary, "name-only": _names, "name-status": _statuses}
_NUMBERS = {"stat": stat, "numstat": _numstat, "shortstat": shortstat}
