"""rm and rmdir: remove files and directories."""

from posixpath import basename

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_RM = {"force": "f", "recursive": "r", "dir": "d", "verbose": "v", "interactive=?": "i", "one-file-system": "x",
       "preserve-root=?": "preserve", "no-preserve-root": "no-preserve"}  # fmt: skip


def rm(call: Invocation) -> Result:
    """Remove files, with -r directories and what is in them."""
    options = parsed(call, "dfiIrRv", _RM)
    if isinstance(options, Result):
        return options
    if not options.operands:
        return Result() if options.has("f") else usage(call, "missing operand")
    output: list[str] = []
    errors: list[str] = []
    for name in options.operands:
        _remove(call, options, name, output, errors)
    return Result("".join(output), "".join(errors), 1 if errors else 0)


def _remove(call: Invocation, options: Options, name: str, output: list[str], errors: list[str]) -> None:
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
        before = len(errors)
        for each in names:
            _remove(call, options, f"{name.rstrip('/')}/{each}", output, errors)
        if len(errors) > before:
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
