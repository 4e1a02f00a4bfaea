"""patch: applies unified and normal differences as GNU's does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.invocation import Invocation, Result

_SHORT = "bcd:efi:lnNo:p:r:RstuV:z:F:E"
_LONG = {
    "backup": "b", "directory=": "d", "input=": "i", "normal": "n", "forward": "N", "output=": "o", "strip=": "p",
    "reject-file=": "r", "reverse": "R", "silent": "s", "quiet": "s", "batch": "t", "force": "f", "unified": "u",
    "dry-run": "dry-run", "suffix=": "z", "fuzz=": "F", "verbose": "verbose", "no-backup-if-mismatch": "no-backup",
    "remove-empty-files": "E", "ignore-whitespace": "l", "binary": "binary",
}  # fmt: skip
_UNIFIED = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NORMAL = re.compile(r"(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$")
_MOST_FUZZ = 2


@dataclass(slots=True)
class _Hunk:
    """A change: the lines before and after, each with its end; `context` counts the lines that are in both at start and end."""

    start: int
    new_start: int
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def old(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "-"]

    def context(self) -> tuple[int, int]:
        signs = [sign for sign, _ in self.lines]
        first = next((place for place, sign in enumerate(signs) if sign != " "), len(signs))
        last = next((place for place, sign in enumerate(reversed(signs)) if sign != " "), len(signs))
        return first, last


@dataclass(slots=True)
class _FilePatch:
    """The change of one file. `heads` are both lines of names as they are written, with times."""

    old: str
    new: str
    hunks: list[_Hunk] = field(default_factory=list[_Hunk])
    heads: tuple[str, str] = ("", "")


class _Malformed(Exception):
    """Raised for a line of a hunk that is none; `change` is the patch that it stands in."""

    def __init__(self, number: int, line: str, change: _FilePatch) -> None:
        super().__init__(f"patch: **** malformed patch at line {number}: {line.rstrip()}\n\n")
        self.change = change


def patch(call: Invocation) -> Result:
    """Change files as a patch says that is piped in or named; 1 if a hunk does not fit, 2 in trouble."""
    options = parsed(call, _SHORT, _LONG, code=2, hint="patch: Try 'patch --help' for more information.")
    if isinstance(options, Result):
        return options
    folder = options.value("d")
    if folder is not None:
        if not call.files.is_directory(call.path(folder)):
            text = f"patch: **** Can't change to directory {folder} : No such file or directory\n"
            return Result(stderr=text, exit_code=2)
        call = replace(call, directory=call.plain_path(folder))
    source = options.value("i") or (options.operands[1] if len(options.operands) > 1 else None)
    if source is not None and source != "-":
        content = call.files.read(call.path(source)).decode("utf-8", "surrogateescape")
    else:
        content = call.stdin or ""
    try:
        found = _read(content)
    except _Malformed as error:
        name = options.operands[0] if options.operands else _Applying(call, options).target(error.change)
        return Result(f"patching file {name}\n" if name else "", str(error), 2)
    if not found:
        if content.strip():
            return Result(stderr="patch: **** Only garbage was found in the patch input.\n", exit_code=2)
        return Result()
    run = _Applying(call, options)
    for one in found:
        run.apply(one)
        if run.code == 2:
            break
    return Result("".join(run.output), "".join(run.errors), run.code)


class _Applying:
    def __init__(self, call: Invocation, options: Options) -> None:
        self._call = call
        self._options = options
        self.output: list[str] = []
        self.errors: list[str] = []
        self.code = 0

    def _say(self, text: str) -> None:
        self.output.append(f"{text}\n")

    def apply(self, change: _FilePatch) -> None:
        if self._options.has("R"):
            change = _reversed(change)
        name = self._options.operands[0] if self._options.operands else self.target(change)
        if name is None:
            self._unknown(change)
            return
        path, quiet = self._call.path(name), self._options.has("s")
        files = self._call.files
        exists = files.exists(path)
        makes = change.old == "/dev/null" or (not exists and all(not hunk.old for hunk in change.hunks))
        if not exists and not makes:
            self._say(f"can't find file to patch at input line {3}")
            self.code = 1
            return
        before = files.read(path).decode("utf-8", "surrogateescape") if exists else ""
        verb = "checking" if self._options.has("dry-run") else "patching"
        out = self._options.value("o")
        if not quiet:
            told = f"{verb} file {name}" if out is None else f"{verb} file {out} (read from {name})"
            (self.errors if out == "-" else self.output).append(f"{told}\n")
        if self._is_applied(before, change):
            self._refuse_applied(name, change)
            return
        lines = before.splitlines(keepends=True)
        failed: list[_Hunk] = []
        shift = drift = 0
        inexact = False
        for number, hunk in enumerate(change.hunks, 1):
            place, fuzz = _place(
                lines, hunk, hunk.start - 1 + shift + drift if hunk.old else hunk.start + shift + drift
            )
            if place is None:
                moved = drift + shift
                failed.append(_Hunk(hunk.start + moved, hunk.new_start + moved, hunk.lines))
                if not quiet:
                    self._say(f"Hunk #{number} FAILED at {hunk.start + moved}.")
                continue
            expected = (hunk.start - 1 if hunk.old else hunk.start) + shift
            moved = place - expected
            inexact = inexact or bool(moved or fuzz)
            if (moved or fuzz) and not quiet:
                unit = "line" if moved == 1 else "lines"
                notes = (f" with fuzz {fuzz}" if fuzz else "") + (f" (offset {moved} {unit})" if moved else "")
                told = f"Hunk #{number} succeeded at {place + 1}{notes}.\n"
                (self.errors if out == "-" else self.output).append(told)
            drift = moved
            head, tail = _trimmed(hunk, fuzz)
            old, new = hunk.old, hunk.new
            lines[place + head : place + len(old) - tail] = new[head : len(new) - tail]
            shift += len(new) - len(old)
        if out is None and not self._options.has("dry-run"):
            keeps = (inexact or bool(failed)) and not self._options.has("no-backup")
            if self._options.has("b") or (keeps and exists):
                backup = f"{path}{self._options.value('z') or '.orig'}"
                files.write(backup, before.encode("utf-8", "surrogateescape"))
        self._finish(name, "".join(lines), change, failed)

    def _finish(self, name: str, after: str, change: _FilePatch, failed: Sequence[_Hunk]) -> None:
        path, files = self._call.path(name), self._call.files
        dry = self._options.has("dry-run")
        out = self._options.value("o")
        if out == "-":
            self.output.append(after)
        elif not dry and (len(failed) < len(change.hunks) or out is not None):
            if change.new == "/dev/null" and not after and out is None:
                files.remove(path)
            else:
                folder = path.rpartition("/")[0]
                if not files.exists(folder):
                    files.make_directory(folder, parents=True)
                files.write(self._call.path(out) if out else path, after.encode("utf-8", "surrogateescape"))
        if failed:
            self.code = 1
            total = len(change.hunks)
            rejects = self._options.value("r") or f"{name if out is None else out}.rej"
            saved = "" if dry or rejects == "-" else f" -- saving rejects to file {rejects}"
            self._say(f"{len(failed)} out of {total} hunk{'s' if total != 1 else ''} FAILED{saved}")
            if saved:
                files.write(self._call.path(rejects), _rejected(change, failed).encode("utf-8", "surrogateescape"))

    def _is_applied(self, before: str, change: _FilePatch) -> bool:
        """Return whether the reverse of the first hunk fits, with less context left out than the hunk itself needs."""
        if not change.hunks:
            return False
        lines, hunk = before.splitlines(keepends=True), change.hunks[0]
        back = _reversed(_FilePatch(change.new, change.old, [hunk])).hunks[0]
        place, needed = _place(lines, hunk, max(0, hunk.start - 1))
        found, fuzz = _place(lines, back, max(0, back.start - 1)) if back.old else (None, 0)
        return found is not None and (place is None or fuzz < needed)

    def _refuse_applied(self, name: str, change: _FilePatch) -> None:
        total = len(change.hunks)
        word = "Unreversed" if self._options.has("R") else "Reversed (or previously applied)"
        if self._options.has("N"):
            self._say(f"{word} patch detected!  Skipping patch.")
        else:
            ask = "Ignore -R?" if self._options.has("R") else "Assume -R?"
            self.output.append(f"{word} patch detected!  {ask} [n] \nApply anyway? [n] \nSkipping patch.\n")
        saved = "" if self._options.has("dry-run") else f" -- saving rejects to file {name}.rej"
        self._say(f"{total} out of {total} hunk{'s' if total != 1 else ''} ignored{saved}")
        if not self._options.has("dry-run"):
            text = _rejected(change, change.hunks)
            self._call.files.write(f"{self._call.path(name)}.rej", text.encode("utf-8", "surrogateescape"))
        self.code = 1

    def target(self, change: _FilePatch) -> str | None:
        """Return the file that a patch is for: of the two names, stripped, the first that exists, or the one to be made."""
        names = [self._stripped(name) for name in (change.old, change.new)]
        known = [name for name in names if name is not None and self._call.files.exists(self._call.path(name))]
        if known:
            # Among names alike the first one in the file counts, also where the patch is turned round.
            known = known[::-1] if self._options.has("R") else known
            return min(known, key=lambda name: (name.count("/"), len(name.rpartition("/")[2]), len(name)))
        if change.old == "/dev/null" or all(not hunk.old for hunk in change.hunks):
            return names[1] if change.new != "/dev/null" else names[0]
        return None

    def _stripped(self, name: str) -> str | None:
        if name == "/dev/null":
            return None
        given = self._options.value("p")
        if given is None:
            return name.rpartition("/")[2]
        parts = re.split("/+", name)
        return "/".join(parts[int(given) :]) or None

    def _unknown(self, change: _FilePatch) -> None:
        given = self._options.value("p")
        hint = (
            "Perhaps you used the wrong -p or --strip option?"
            if given
            else "Perhaps you should have used the -p or --strip option?"
        )
        text = (
            f"can't find file to patch at input line 3\n{hint}\nThe text leading up to this was:\n"
            f"--------------------------\n|--- {change.old}\n|+++ {change.new}\n--------------------------\n"
            "File to patch: \nSkip this patch? [y] \nSkipping patch.\n"
        )
        total = len(change.hunks)
        self.output.append(f"{text}{total} out of {total} hunk{'s' if total != 1 else ''} ignored\n")
        self.code = 1


def _place(lines: Sequence[str], hunk: _Hunk, wanted: int) -> tuple[int | None, int]:
    """Return where a hunk fits, nearest to the wanted line, and how many lines of its context had to be left out."""
    old = hunk.old
    if not old:
        return (min(wanted, len(lines)), 0) if not lines or wanted <= len(lines) else (None, 0)
    for fuzz in range(min(_MOST_FUZZ, max(hunk.context())) + 1):
        head, tail = _trimmed(hunk, fuzz)
        part = old[head : len(old) - tail]
        for distance in range(len(lines) + 1):
            for place in dict.fromkeys((wanted + distance, wanted - distance)):
                if not _may_stand(hunk, fuzz, place, len(lines)):
                    continue
                at = place + head
                if place >= 0 and at + len(part) <= len(lines) and list(lines[at : at + len(part)]) == part:
                    return place, fuzz
    return None, 0


def _may_stand(hunk: _Hunk, fuzz: int, place: int, count: int) -> bool:
    """Return whether a hunk may be applied at a place of a file of `count` lines.

    Less context before than after means the beginning of the file, if the hunk begins there, and the other way round its end, unless
    fuzz evens that out (GNU patch's manual, "Inexact").
    """
    first, last = hunk.context()
    if first + fuzz < last and hunk.start <= 1 and place != 0:
        return False
    return last + fuzz >= first or place + len(hunk.old) == count


def _trimmed(hunk: _Hunk, fuzz: int) -> tuple[int, int]:
    first, last = hunk.context()
    most = max(first, last)
    return max(0, min(first, fuzz - (most - first))), max(0, min(last, fuzz - (most - last)))


def _reversed(change: _FilePatch) -> _FilePatch:
    turned = {"+": "-", "-": "+", " ": " "}
    hunks = [
        _Hunk(hunk.new_start, hunk.start, [(turned[sign], text) for sign, text in hunk.lines]) for hunk in change.hunks
    ]
    return _FilePatch(change.new, change.old, hunks, (change.heads[1], change.heads[0]))


def _rejected(change: _FilePatch, failed: Sequence[_Hunk]) -> str:
    old, new = change.heads if all(change.heads) else (change.old, change.new)
    text = f"--- {old}\n+++ {new}\n"
    for hunk in failed:
        text += f"@@ -{_range(hunk.start, len(hunk.old))} +{_range(hunk.new_start, len(hunk.new))} @@\n"
        text += "".join(
            sign + line + ("" if line.endswith("\n") else "\n\\ No newline at end of file\n")
            for sign, line in hunk.lines
        )
    return text


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _read(text: str) -> list[_FilePatch]:
    """Return the patches in a text: unified ones, or a normal one without names."""
    found: list[_FilePatch] = []
    lines = text.splitlines(keepends=True)
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith("--- ") and place + 1 < len(lines) and lines[place + 1].startswith("+++ "):
            heads = line[4:].rstrip("\n"), lines[place + 1][4:].rstrip("\n")
            found.append(_FilePatch(_name(line), _name(lines[place + 1]), heads=heads))
            place += 2
            continue
        header = _UNIFIED.match(line)
        if header and found:
            place = _unified(lines, place + 1, header, found[-1])
            continue
        command = _NORMAL.match(line.rstrip("\n"))
        if command and (not found or found[-1].old == ""):
            if not found:
                found.append(_FilePatch("", ""))
            place = _normal(lines, place + 1, command, found[-1])
            continue
        place += 1
    return [one for one in found if one.hunks]


def _name(line: str) -> str:
    return line[4:].rstrip("\n").partition("\t")[0].rstrip()


def _unified(lines: Sequence[str], place: int, header: re.Match[str], into: _FilePatch) -> int:
    old, new = int(header[2] or 1), int(header[4] or 1)
    hunk = _Hunk(int(header[1]), int(header[3]))
    while place < len(lines) and (old > 0 or new > 0 or lines[place].startswith("\\")):
        sign, text = lines[place][:1], lines[place][1:]
        place += 1
        if sign not in " +-\n\\" or (sign == "\\" and not hunk.lines):
            raise _Malformed(place, lines[place - 1], into)
        if sign == "\\":
            last, content = hunk.lines[-1]
            hunk.lines[-1] = (last, content.rstrip("\n"))
            continue
        if sign == "\n":
            sign, text = " ", "\n"
        hunk.lines.append((sign, text))
        old -= sign != "+"
        new -= sign != "-"
    into.hunks.append(hunk)
    return place


def _normal(lines: Sequence[str], place: int, command: re.Match[str], into: _FilePatch) -> int:
    hunk = _Hunk(int(command[1]), int(command[4]))
    while place < len(lines) and lines[place][:2] in ("< ", "> ", "--", "\\ "):
        line = lines[place]
        place += 1
        if line.startswith("\\") and hunk.lines:
            last, content = hunk.lines[-1]
            hunk.lines[-1] = (last, content.rstrip("\n"))
        elif not line.startswith(("\\", "--")):
            hunk.lines.append(("-" if line[0] == "<" else "+", line[2:]))
    into.hunks.append(hunk)
    return place
