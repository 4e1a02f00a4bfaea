"""rm and rmdir: remove files and directories."""

from collections.abc import Iterator
from posixpath import basename

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_RM = {"force": "f", "recursive": "r", "dir": "d", "verbose": "v", "interactive=?": "i", "one-file-system": "x",
       "preserve-root=?": "preserve", "no-preserve-root": "no-preserve"}  # fmt: skip
_SORTS = {"directory": "directory", "link": "symbolic link", "file": "regular file"}
_MANY = 3
"""Most files that -I removes without a question."""


def rm(call: Invocation) -> Result:
    """Remove files, with -r directories and what is in them."""
    options = parsed(call, "dfiIrRv", _RM)
    if isinstance(options, Result):
        return options
    if not options.operands:
        return Result() if options.has("f") else usage(call, "missing operand")
    answers = _Answers(call.stdin or "")
    recursive, count = options.has("r", "R"), len(options.operands)
    last = options.last("f", "i", "I")
    when = options.value("i") if last == "i" else {"I": "once"}.get(last or "", "never")
    if when == "once" and (recursive or count > _MANY):
        plural = "s" if count > 1 else ""
        if not answers.agree(f"remove {count} argument{plural}{' recursively' if recursive else ''}"):
            return Result(stderr="".join(answers.asked))
    asked = answers if when in ("", "always", "yes") else None
    output: list[str] = []
    errors: list[str] = []
    for name in options.operands:
        _remove(call, options, name, output, errors, asked)
    return Result("".join(output), "".join([*answers.asked, *errors]), 1 if errors else 0)


class _Answers:
    """What somebody answers to questions: lines that are piped to the command; where none is left, no."""

    def __init__(self, text: str) -> None:
        self._lines: Iterator[str] = iter(text.splitlines())
        self.asked: list[str] = []

    def agree(self, question: str) -> bool:
        """Ask, and return whether the answer is yes."""
        self.asked.append(f"rm: {question}? ")
        return next(self._lines, "").lower().startswith("y")

    def agree_to_remove(self, node: TreeNode, name: str) -> bool:
        """Ask whether a file is to be removed."""
        empty = " empty" if node.kind == "file" and not node.content else ""
        sort = _SORTS.get(node.kind, "file").replace(" file", f"{empty} file")
        return self.agree(f"remove {sort} {quoted(name)}")


def _remove(
    call: Invocation, options: Options, name: str, output: list[str], errors: list[str], asked: _Answers | None
) -> None:
    files, path = call.files, call.path(name)
    recursive = options.has("r", "R")
    if basename(name.rstrip("/")) in (".", "..") and recursive:
        errors.append(f"rm: refusing to remove '.' or '..' directory: skipping {quoted(name)}\n")
        return
    if call.plain_path(name) == "/" and recursive and not options.has("no-preserve"):
        errors.append(
            "rm: it is dangerous to operate recursively on '/'\nrm: use --no-preserve-root to override this failsafe\n"
        )
        return
    node = attempt(lambda: files.node(path.rstrip("/") or "/", follow=False))
    if isinstance(node, OSError):
        if not (options.has("f") and isinstance(node, FileNotFoundError | NotADirectoryError)):
            errors.append(f"rm: cannot remove {quoted(name)}: {node.strerror}\n")
        return
    if node.kind == "directory":
        if not recursive and not (options.has("d") and not files.names(path)):
            why = "Directory not empty" if options.has("d") else "Is a directory"
            errors.append(f"rm: cannot remove {quoted(name)}: {why}\n")
            return
        names = attempt(lambda: files.names(path))
        if isinstance(names, OSError):
            errors.append(f"rm: cannot remove {quoted(name)}: {names.strerror}\n")
            return
        if names and asked is not None and not asked.agree(f"descend into directory {quoted(name)}"):
            return
        before = len(errors)
        for each in names:
            _remove(call, options, f"{name.rstrip('/')}/{each}", output, errors, asked)
        if len(errors) > before:
            return
    if asked is not None and not asked.agree_to_remove(node, name):
        return
    done = attempt(lambda: files.remove(path.rstrip("/")))
    if isinstance(done, OSError):
        errors.append(f"rm: cannot remove {quoted(name)}: {done.strerror}\n")
    elif options.has("v"):
        what = "removed directory" if node.kind == "directory" else "removed"
        output.append(f"{what} {quoted(name)}\n")


def rmdir(call: Invocation) -> Result:
    """Remove empty directories."""
    options = parsed(call, "pv", {"parents": "p", "verbose": "v", "ignore-fail-on-non-empty": "ignore"})
    if isinstance(options, Result):
        return options
    if not options.operands:
        return usage(call, "missing operand")
    output, errors = "", ""
    for name in options.operands:
        at = name.rstrip("/")
        while at:
            if options.has("v"):
                output += f"rmdir: removing directory, {quoted(at)}\n"
            path = call.path(at)
            node = attempt(lambda path=path: call.files.node(path, follow=False))
            done = (
                node
                if isinstance(node, OSError)
                else NotADirectoryError(20, "Not a directory")
                if node.kind != "directory"
                else attempt(lambda path=path: call.files.remove(path))
            )
            if isinstance(done, OSError):
                if not (options.has("ignore") and done.strerror == "Directory not empty"):
                    errors += f"rmdir: failed to remove {quoted(at)}: {done.strerror}\n"
                break
            at = at.rpartition("/")[0] if options.has("p") else ""
    return Result(output, errors, 1 if errors else 0)
