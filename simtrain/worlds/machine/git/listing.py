"""Differences in git's forms: patches, `--stat` and its relatives, and the options that choose among them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrain.worlds.handlers.git.deltas import Delta, is_binary, lines_of
from simtrain.worlds.handlers.git.patch import edits, patch
from simtrain.worlds.handlers.git.paths import quoted
from simtrain.worlds.machine.git.session import GitSession, matching

_FORMS = {
    "-p": "patch", "-u": "patch", "--patch": "patch", "--stat": "stat", "--numstat": "numstat",
    "--shortstat": "shortstat", "--name-only": "name-only", "--name-status": "name-status", "--summary": "summary",
}  # fmt: skip
_QUIET = {"-s", "--no-patch"}
_IGNORED = {"--no-color", "--color", "--color=never", "--color=always", "--color=auto", "-M", "--find-renames", "--minimal",
            "--no-ext-diff", "--histogram", "--patience", "--indent-heuristic", "--textconv", "--no-textconv", "-C",
            "--full-index", "--no-prefix", "--ext-diff"} - {"--full-index", "--no-prefix"}  # fmt: skip
_WIDE = 80


@dataclass(slots=True)
class Wish:
    """What is asked for: forms in the order of git's output, lines of context."""

    forms: list[str] = field(default_factory=list[str])
    context: int = 3
    none: bool = False

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
        else:
            return word in _IGNORED
        return True


def written(
    session: GitSession, found: Sequence[Delta], wish: Wish, *, default: str = "patch", specs: Sequence[str] = ()
) -> str:
    """Return differences in all forms that are asked for."""
    chosen = set(matching([delta.path for delta in found], specs))
    kept = [delta for delta in found if delta.path in chosen or (delta.old and delta.old.path in chosen)]
    if wish.none or not kept:
        return ""
    forms = wish.forms or [default]
    parts: list[str] = []
    for form in ("numstat", "stat", "shortstat", "summary", "name-only", "name-status", "patch"):
        if form not in forms:
            continue
        if form == "patch":
            parts.append(patch(kept, context=wish.context, abbreviate=session.repository.abbreviated))
        elif form == "shortstat":
            parts.append(shortstat(kept))
        else:
            parts.append(_TEXTS[form](kept))
    if (len(parts) > 1 and forms[-1] == "patch") or ("patch" in forms and len(parts) > 1):
        return "".join(parts[:-1]) + "\n" + parts[-1]
    return "".join(parts)


def counts(delta: Delta) -> tuple[int, int] | None:
    """Return the added and removed lines of a difference; None for binary files."""
    old, new = delta.old.content if delta.old else b"", delta.new.content if delta.new else b""
    if is_binary(old) or is_binary(new):
        return None
    if old == new:
        return 0, 0
    found = list(edits(lines_of(old), lines_of(new)))
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


def stat(found: Sequence[Delta]) -> str:
    """Return `--stat`: names, numbers of changed lines, a bar of signs, and the sum."""
    rows = [(_name(delta), counts(delta), delta) for delta in found]
    most = max((sum(count) for _, count, _ in rows if count), default=0)
    digits = len(str(most))
    binary = any(count is None for _, count, _ in rows)
    if binary:
        digits = max(digits, 3)
    wide = max(len(name) for name, _, _ in rows)
    bar = most
    if wide + digits + 6 + bar > _WIDE:
        bar = max(6, min(bar, _WIDE * 3 // 8 - digits - 6))
        if wide > _WIDE - digits - 6 - bar:
            wide = _WIDE - digits - 6 - bar
        else:
            bar = _WIDE - digits - 6 - wide
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
    return "".join(lines) + shortstat(found)


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


def shortstat(found: Sequence[Delta]) -> str:
    """Return the sum of a `--stat`."""
    if not found:
        return ""
    known = [count for delta in found if (count := counts(delta)) is not None]
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


def _numstat(found: Sequence[Delta]) -> str:
    return "".join(
        "\t".join([*(str(number) for number in (counts(delta) or ("-", "-"))), _name(delta)]) + "\n" for delta in found
    )


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


_TEXTS = {"stat": stat, "numstat": _numstat, "summary": summary, "name-only": _names, "name-status": _statuses}
