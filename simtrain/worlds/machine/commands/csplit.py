"""csplit: pieces of a file cut at lines that are given by number, or by what is in them."""

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from simtrain.values.lines import lines_of
from simtrain.worlds.machine.binary import as_bytes
from simtrain.worlds.machine.commands.ls import needs_quotes
from simtrain.worlds.machine.commands.ls import quoted as shell_quoted
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.commands.sizes import NumberRefused, whole_number
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

MOST_PARTS = 10_000
"""The most files that one call makes: then the disk has no more of them."""
_WIDEST = 4096
_LONG = {
    "digits=": "n", "elide-empty-files": "z", "keep-files": "k", "prefix=": "f", "quiet": "s", "silent": "s",
    "suffix-format=": "b", "suppress-matched": "suppress-matched",
}  # fmt: skip
_FORMAT = re.compile(r"%(?P<flags>[-0'#]*)(?P<width>\d*)(?:\.(?P<digits>\d*))?(?P<letter>[diouxX])")
_REPEATED = re.compile(r"\{(\d+|\*)\}")
_OFFSET = re.compile(r"[+-]?\d{1,18}")


class _CsplitRefused(Exception):
    """Raised for words that csplit refuses, and where it stops."""


class _InputDisappeared(_CsplitRefused):
    """Raised where csplit counts on behind the last line: its files stay."""


@dataclass(slots=True)
class _Cut:
    """Where a file is cut: at a line `number`, or `offset` lines behind one that matches; `skips` says that what is before it is dropped.

    `times` is how often it is repeated, None without end.
    """

    text: str
    number: int = 0
    expression: str | None = None
    offset: int = 0
    skips: bool = False
    times: int | None = 0
    matches: list[int] = field(default_factory=list[int])


def csplit(call: Invocation) -> Result:
    """Write the pieces of a file to files whose names count up, and print their sizes."""
    options = parsed(call, "f:b:kn:sqz", _LONG)
    if isinstance(options, Result):
        return options
    words = options.operands
    try:
        digits = _number(options.value("n") or "2")
        names = _Names(options.value("f") or "xx", _checked(options.value("b")), digits)
        if len(words) < 2:
            return usage(call, f"missing operand after {_quote(words[0])}" if words else "missing operand")
        warnings, cuts = _cuts(words[1:])
    except _CsplitRefused as error:
        return call.fail(str(error))
    return _read(call, options, names, cuts, warnings)


def _read(call: Invocation, options: Options, names: "_Names", cuts: list[_Cut], warnings: list[str]) -> Result:
    name, content = options.operands[0], as_bytes(call.stdin or "")
    if name != "-":
        path = call.path(name)
        if call.files.is_directory(path):
            told = "" if options.has("s", "q") else "0\n"
            return Result(told, f"{''.join(warnings)}csplit: read error: Is a directory\n", 1)
        read = attempt(lambda: call.files.read(path))
        if isinstance(read, OSError):
            return call.fail(f"cannot open {shell_quoted(name)} for reading: {read.strerror}")
        content = read
    lines = lines_of(content)
    run = _Cutting(call, options, names, lines)
    problem = ""
    try:
        _find(cuts, lines)
        run.cut(cuts)
    except _CsplitRefused as error:
        problem = f"csplit: {error}\n"
        if not isinstance(error, _InputDisappeared):
            run.stop()
    return Result("".join(run.sizes), "".join(warnings) + problem, 1 if problem else 0)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _number(text: str) -> int:
    try:
        number = whole_number(text)
    except NumberRefused as error:
        reason = ": Numerical result out of range" if re.fullmatch(r"-\d+", text) else str(error)
        raise _CsplitRefused(f"invalid number: {_quote(text)}{reason}") from None
    return min(number, _WIDEST)


def _cuts(words: list[str]) -> tuple[list[str], list[_Cut]]:
    """Return what csplit warns of, and where the words say that a file is to be cut."""
    warnings: list[str] = []
    cuts: list[_Cut] = []
    last = 0
    for word in words:
        if word.startswith("{") and cuts and cuts[-1].times == 0:
            cuts[-1].times = _times(word)
            continue
        if word[:1] in ("/", "%"):
            cuts.append(_matching(word))
            continue
        try:
            number = whole_number(word)
        except NumberRefused:
            raise _CsplitRefused(f"{_quote(word)}: invalid pattern") from None
        if number == 0:
            raise _CsplitRefused(f"{word}: line number must be greater than zero")
        if number < last:
            raise _CsplitRefused(f"line number {_quote(word)} is smaller than preceding line number, {last}")
        if number == last:
            warnings.append(f"csplit: warning: line number {_quote(word)} is the same as preceding line number\n")
        last = number
        cuts.append(_Cut(word, number))
    return warnings, cuts


def _times(word: str) -> int | None:
    found = _REPEATED.fullmatch(word)
    if not word.endswith("}"):
        raise _CsplitRefused(f"{_quote(word)}: '}}' is required in repeat count")
    if found is None or len(found[1]) > 18:
        raise _CsplitRefused(f"{_quote(word[:-1])}}}: integer required between '{{' and '}}'")
    return None if found[1] == "*" else int(found[1])


def _matching(word: str) -> _Cut:
    mark = word[0]
    end = word.rfind(mark)
    if end == 0:
        raise _CsplitRefused(f"{word}: closing delimiter '{mark}' missing")
    rest = word[end + 1 :]
    if rest and _OFFSET.fullmatch(rest) is None:
        raise _CsplitRefused(f"{_quote(word)}: integer expected after delimiter")
    return _Cut(word, expression=word[1:end], offset=int(rest or "0"), skips=mark == "%")


def _find(cuts: list[_Cut], lines: list[bytes]) -> None:
    """Note for each expression the numbers of the lines that match it."""
    for cut in cuts:
        if cut.expression is None:
            continue
        try:
            wanted = expression(cut.expression)
        except ExpressionProblem as problem:
            raise _CsplitRefused(f"{_quote(cut.text)}: invalid regular expression: {problem}") from None
        cut.matches = [number for number, line in enumerate(lines, 1) if wanted.finds(line.removesuffix(b"\n"))]


def _checked(form: str | None) -> str | None:
    """Return the format of suffixes. Raises _CsplitRefused for one that does not take exactly one number."""
    if form is None:
        return None
    rest = form.replace("%%", "")
    _, sign, after = rest.partition("%")
    if not sign:
        raise _CsplitRefused("missing % conversion specification in suffix")
    found = _FORMAT.match(sign + after)
    if found is None:
        wrong = re.sub(r"^[-0'#]*\d*(?:\.\d*)?", "", after)[:1]
        raise _CsplitRefused(
            f"invalid conversion specifier in suffix: {wrong}" if wrong else "missing conversion specifier in suffix"
        )
    for flag, letters in (("#", "diu"), ("'", "oxX")):
        if flag in found["flags"] and found["letter"] in letters:
            raise _CsplitRefused(f"invalid flags in conversion specification: %{flag}{found['letter']}")
    if "%" in (sign + after)[found.end() :]:
        raise _CsplitRefused("too many % conversion specifications in suffix")
    return form


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the files: a prefix, and a number as a format or a count of digits says."""

    prefix: str
    form: str | None
    digits: int

    def name(self, number: int) -> str:
        """Return the name of a file."""
        if self.form is None:
            return f"{self.prefix}{number:0{self.digits or 1}d}"
        # What two signs stand for is put in last.
        written = _FORMAT.sub(lambda found: _formatted(found, number), self.form.replace("%%", "\0"), count=1)
        return self.prefix + written.replace("\0", "%")


def _formatted(found: re.Match[str], number: int) -> str:
    letter, flags = found["letter"], found["flags"]
    digits = format(number, letter if letter in "oxX" else "d")
    least, width = min(int(found["digits"] or "0"), _WIDEST), min(int(found["width"] or "0"), _WIDEST)
    digits = digits.zfill(least)
    lead = ""
    if "#" in flags and letter == "o" and not digits.startswith("0"):
        digits = f"0{digits}"
    elif "#" in flags and letter in "xX" and number:
        lead = f"0{letter}"
    if "-" in flags:
        return (lead + digits).ljust(width)
    if "0" in flags and found["digits"] is None:
        return lead + digits.zfill(width - len(lead))
    return (lead + digits).rjust(width)


@dataclass(slots=True)
class _Cutting:
    """A file on its way into pieces: `taken` lines of it are used up, and `searched` are looked at."""

    call: Invocation
    options: Options
    names: _Names
    lines: list[bytes]
    taken: int = 0
    searched: int = 0
    made: list[str] = field(default_factory=list[str])
    sizes: list[str] = field(default_factory=list[str])
    opened: bool = False
    held: list[bytes] = field(default_factory=list[bytes])

    def cut(self, cuts: list[_Cut]) -> None:
        """Write all pieces. Raises _CsplitRefused where there is no line to cut at."""
        for cut in cuts:
            count = 0
            while cut.times is None or count <= cut.times:
                if cut.expression is None:
                    self._to_number(cut, count)
                elif not self._to_match(cut, count):
                    return
                count += 1
        self._open()
        self._take(len(self.lines))
        self._close()

    def stop(self) -> None:
        """End behind an error: the files are removed unless they are to be kept."""
        if self.opened:
            attempt(self._close)
        if not self.options.has("k"):
            for path in self.made:
                attempt(lambda path=path: self.call.files.remove(path))

    def _open(self) -> None:
        self.opened = True
        self.held = []
        self._write(b"")

    def _write(self, content: bytes) -> None:
        name = self.names.name(len(self.made))
        shown = shell_quoted(name) if needs_quotes(name) else name
        if len(self.made) >= MOST_PARTS:
            self.opened = False
            raise _CsplitRefused(f"{shown}: No space left on device")
        done = attempt(lambda: self.call.files.write(self.call.path(name), content))
        if isinstance(done, OSError):
            self.opened = False
            raise _CsplitRefused(f"{shown}: {done.strerror}")

    def _close(self) -> None:
        content = b"".join(self.held)
        self.opened = False
        path = self.call.path(self.names.name(len(self.made)))
        if not content and self.options.has("z"):
            self.call.files.remove(path)
            return
        self._write(content)
        self.made.append(path)
        if not self.options.has("s", "q"):
            self.sizes.append(f"{len(content)}\n")

    def _take(self, end: int, *, skips: bool = False) -> None:
        """Use up the lines before one, which go into the file that is open unless they are skipped."""
        if not skips:
            self.held += self.lines[self.taken : end]
        self.taken = max(self.taken, min(end, len(self.lines)))

    def _leave_out(self) -> None:
        if self.options.has("suppress-matched"):
            self._take(self.taken + 1, skips=True)

    def _to_number(self, cut: _Cut, count: int) -> None:
        end = cut.number * (count + 1) - 1
        self._open()
        if self.taken >= len(self.lines):
            raise _InputDisappeared("input disappeared")
        self._take(end)
        behind = max(self.taken, self.searched) >= len(self.lines)
        if end > len(self.lines) or (behind and not self.options.has("suppress-matched")):
            raise _CsplitRefused(f"{_quote(cut.text)}: line number out of range{_repeated(count)}")
        self._close()
        self._leave_out()

    def _to_match(self, cut: _Cut, count: int) -> bool:
        """Cut at the next line that matches; return whether there is one."""
        if not cut.skips:
            self._open()
        self.searched = max(self.searched, self.taken)
        place = bisect_left(cut.matches, self.searched + 1)
        if place == len(cut.matches):
            self._take(len(self.lines), skips=cut.skips)
            if cut.times is not None:
                raise _CsplitRefused(f"{_quote(cut.text)}: match not found{_repeated(count)}")
            if self.opened:
                self._close()
            return False
        self.searched = cut.matches[place]
        end = self.searched + cut.offset - 1
        if end < self.taken or end > len(self.lines):
            self._take(end if end > self.taken else self.taken, skips=cut.skips)
            raise _CsplitRefused(f"{_quote(cut.text)}: line number out of range")
        self._take(end, skips=cut.skips)
        if self.opened:
            self._close()
        if cut.offset > 0:
            self.searched = end + 1
        self._leave_out()
        return True


def _repeated(count: int) -> str:
    return f" on repetition {count}" if count else ""
