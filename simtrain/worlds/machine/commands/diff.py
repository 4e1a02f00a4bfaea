"""diff: compares files and directories as GNU's does."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from posixpath import basename
from shlex import quote

from simtrain.values.lines import lines_of
from simtrain.worlds.machine.commands.diff_forms import Comparison, DiffForm, coloured, written
from simtrain.worlds.machine.commands.line_edits import line_edits
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_DIGITS = 10
_SHORT = "abBC:cdeEiI:L:lnNprqsStTU:uvwW:x:X:yZ"
_LONG = {
    "text": "a", "ignore-space-change": "b", "ignore-blank-lines": "B", "context=?": "C", "minimal": "d",
    "ignore-tab-expansion": "E", "ignore-case": "i", "ignore-matching-lines=": "I", "label=": "L", "new-file": "N",
    "show-c-function": "p", "recursive": "r", "brief": "q", "report-identical-files": "s", "expand-tabs": "t",
    "unified=?": "U", "ignore-all-space": "w", "width=": "W", "exclude=": "x", "side-by-side": "y",
    "ignore-trailing-space": "Z", "color=?": "color", "suppress-common-lines": "suppress-common-lines",
    "strip-trailing-cr": "strip-trailing-cr", "no-dereference": "no-dereference", "normal": "normal",
    "left-column": "left-column", "ed": "e", "rcs": "n", "unidirectional-new-file": "unidirectional-new-file",
}  # fmt: skip
_SPACES = re.compile(rb"[ \t]+")


@dataclass(frozen=True, slots=True)
class _Missing:
    """A file that -N takes for an empty one."""


def diff(call: Invocation) -> Result:
    """Compare two files, or what is in two directories; the exit code is 1 if they differ, 2 in trouble."""
    options = parsed(call, _SHORT, _LONG, code=2, hint="diff: Try 'diff --help' for more information.")
    if isinstance(options, Result):
        return options
    names = options.operands
    if len(names) < 2:
        missing = f"missing operand after '{names[0] if names else 'diff'}'"
        return Result(stderr=f"diff: {missing}\ndiff: Try 'diff --help' for more information.\n", exit_code=2)
    if len(names) > 2:
        extra = f"diff: extra operand '{names[2]}'\ndiff: Try 'diff --help' for more information.\n"
        return Result(stderr=extra, exit_code=2)
    for letter, what in (("U", "context length"), ("C", "context length"), ("W", "width")):
        value = options.value(letter)
        if value is not None and not (value.isascii() and value.isdigit() and len(value) < _DIGITS):
            hint = f"diff: invalid {what} '{value}'\ndiff: Try 'diff --help' for more information.\n"
            return Result(stderr=hint, exit_code=2)
    for pattern in options.values("I"):
        try:
            expression(pattern)
        except ExpressionProblem as problem:
            return Result(stderr=f"diff: {pattern}: {problem}\n", exit_code=2)
    run = _Run(call, options)
    run.compare(names[0], names[1])
    return Result("".join(run.output), "".join(run.errors), run.code)


class _Run:
    def __init__(self, call: Invocation, options: Options) -> None:
        self._call = call
        self._options = options
        self._form = _form(options)
        self.output: list[str] = []
        self.errors: list[str] = []
        self.code = 0

    def compare(self, old: str, new: str) -> None:
        files, call = self._call.files, self._call
        folders = [name != "-" and files.is_directory(call.path(name)) for name in (old, new)]
        if all(folders):
            self._directories(old, new)
            return
        # A file and a directory: the file of that name in the directory.
        if folders[0] and new != "-":
            old = f"{old.rstrip('/')}/{basename(new)}"
        elif folders[1] and old != "-":
            new = f"{new.rstrip('/')}/{basename(old)}"
        self._files(old, new, headed=False)

    def _failed(self, name: str, error: OSError) -> None:
        self.errors.append(f"diff: {name}: {error.strerror}\n")
        self.code = 2

    def _content(self, name: str, *, may_miss: bool) -> bytes | _Missing | OSError:
        if name == "-":
            return (self._call.stdin or "").encode("utf-8", "surrogateescape")
        found = attempt(lambda: self._call.files.read(self._call.path(name)))
        if isinstance(found, FileNotFoundError) and may_miss:
            return _Missing()
        return found

    def _files(self, old: str, new: str, *, headed: bool) -> None:
        may_miss = self._options.has("N")
        before, after = self._content(old, may_miss=may_miss), self._content(new, may_miss=may_miss)
        for name, found in ((old, before), (new, after)):
            if isinstance(found, OSError):
                self._failed(name, found)
        if isinstance(before, _Missing) and isinstance(after, _Missing):
            self._failed(old, FileNotFoundError(2, "No such file or directory"))
            self._failed(new, FileNotFoundError(2, "No such file or directory"))
        if isinstance(before, OSError) or isinstance(after, OSError) or self.code == 2:
            return
        text = self._compared(old, new, before, after)
        if not text and before == after and self._options.has("s"):
            self.output.append(f"Files {old} and {new} are identical\n")
        if text:
            self.code = max(self.code, 1)
            if headed and not self._options.has("q") and not text.startswith("Binary files"):
                self.output.append(self._heading(old, new))
            self.output.append(text)

    def _heading(self, old: str, new: str) -> str:
        given = [word for word in self._call.arguments if word not in self._options.operands]
        return " ".join(["diff", *(quote(word) for word in given), old, new]) + "\n"

    def _compared(self, old: str, new: str, before: bytes | _Missing, after: bytes | _Missing) -> str:
        options = self._options
        left, right = (b"" if isinstance(found, _Missing) else found for found in (before, after))
        if left == right and self._form.style != "side by side":
            return ""
        if not options.has("a") and (b"\0" in left[:8192] or b"\0" in right[:8192]):
            return "" if left == right else f"Binary files {old} and {new} differ\n"
        lines, others = lines_of(left), lines_of(right)
        found = line_edits([self._key(line) for line in lines], [self._key(line) for line in others])
        if options.has("B"):
            found = [
                edit
                for edit in found
                if any(line.strip() for line in [*lines[edit.start : edit.end], *others[edit.new_start : edit.new_end]])
            ]
        for pattern in options.values("I"):
            wanted = expression(pattern)
            found = [
                edit
                for edit in found
                if not all(
                    wanted.finds(line.removesuffix(b"\n"))
                    for line in [*lines[edit.start : edit.end], *others[edit.new_start : edit.new_end]]
                )
            ]
        if options.has("q"):
            return f"Files {old} and {new} differ\n" if found else ""
        labels = options.values("L")
        heads = (
            labels[0] if labels else f"{old}\t{self._time(old, before)}",
            labels[1] if len(labels) > 1 else f"{new}\t{self._time(new, after)}",
        )
        text = written(Comparison(lines, others, found, heads), self._form)
        if options.value("color") == "always":
            text = coloured(text, self._form.style)
        if self._form.style == "side by side":
            self.code = max(self.code, 1 if found else 0)
            self.output.append(text)
            return ""
        return text

    def _key(self, line: bytes) -> bytes:
        options = self._options
        # A last line without its newline differs from the same line with one, unless spaces do not count.
        if options.has("strip-trailing-cr"):
            line = line.replace(b"\r\n", b"\n")
        if options.has("w"):
            line = b"".join(line.split())
        elif options.has("b"):
            line = _SPACES.sub(b" ", line).rstrip()
        elif options.has("Z"):
            line = line.rstrip()
        elif options.has("E"):
            line = line.expandtabs(8)
        return line.lower() if options.has("i") else line

    def _time(self, name: str, content: bytes | _Missing) -> str:
        if isinstance(content, _Missing):
            seconds = 0.0
        elif name == "-":
            seconds = self._call.now
        else:
            seconds = self._call.files.node(self._call.path(name)).modified
        moment = local(seconds, self._call.environment)
        return f"{moment:%Y-%m-%d %H:%M:%S}.{round(seconds % 1 * 1e9):09d} {moment:%z}"

    def _directories(self, old: str, new: str) -> None:
        listed = [self._names(name) for name in (old, new)]
        if listed[0] is None or listed[1] is None:
            return
        left, right = listed[0], listed[1]
        for name in sorted({*left, *right}, key=lambda one: one.encode("utf-8", "surrogateescape")):
            paths = f"{old.rstrip('/')}/{name}", f"{new.rstrip('/')}/{name}"
            folders = [self._call.files.is_directory(self._call.path(path)) for path in paths]
            if (name not in left or name not in right) and not self._options.has("N"):
                self.output.append(f"Only in {old if name in left else new}: {name}\n")
                self.code = max(self.code, 1)
            elif any(folders) and self._options.has("N") and (name not in left or name not in right):
                if self._options.has("r"):
                    self._directories(*paths)
            elif all(folders):
                if self._options.has("r"):
                    self._directories(*paths)
                else:
                    self.output.append(f"Common subdirectories: {paths[0]} and {paths[1]}\n")
            elif any(folders):
                kinds = [
                    "a directory" if folder else self._file_kind(path)
                    for folder, path in zip(folders, paths, strict=True)
                ]
                self.output.append(f"File {paths[0]} is {kinds[0]} while file {paths[1]} is {kinds[1]}\n")
                self.code = max(self.code, 1)
            else:
                self._files(*paths, headed=True)

    def _file_kind(self, path: str) -> str:
        found = attempt(lambda: self._call.files.read(self._call.path(path)))
        return "a regular empty file" if found == b"" else "a regular file"

    def _names(self, name: str) -> set[str] | None:
        if self._options.has("N") and not self._call.files.exists(self._call.path(name)):
            return set()
        found = attempt(lambda: self._call.files.names(self._call.path(name)))
        if isinstance(found, OSError):
            self._failed(name, found)
            return None
        patterns = self._options.values("x")
        return {one for one in found if not any(fnmatchcase(one, pattern) for pattern in patterns)}


def _form(options: Options) -> DiffForm:
    style = options.last("u", "U", "c", "C", "y", "e", "n", "normal") or ("c" if options.has("p") else "normal")
    context = int(options.value(style) or 3) if style in ("U", "C") else 3
    names = {
        "u": "unified",
        "U": "unified",
        "c": "context",
        "C": "context",
        "y": "side by side",
        "normal": "normal",
        "e": "ed",
        "n": "rcs",
    }
    return DiffForm(
        names[style],
        context=context,
        width=int(options.value("W") or 130),
        only_changes=options.has("suppress-common-lines"),
        functions=options.has("p"),
        expand=options.has("t"),
    )


def sdiff(call: Invocation) -> Result:
    """Compare two files side by side."""
    options = parsed(call, "aBbidlo:stw:W", {"suppress-common-lines": "s", "width=": "w", "left-column": "l"}, code=2)
    if isinstance(options, Result):
        return options
    if len(options.operands) != 2:
        return usage(call, "missing operand", code=2)
    words = ["-y", *(["--suppress-common-lines"] if options.has("s") else [])]
    words += [f"-{letter}" for letter in "abBidt" if options.has(letter)] + ["-W", options.value("w") or "130"]
    found = diff(
        Invocation(
            "diff", (*words, *options.operands), call.stdin, call.environment, call.directory, call.files, call.machine
        )
    )
    return Result(found.stdout, found.stderr.replace("diff:", "sdiff:"), found.exit_code)
