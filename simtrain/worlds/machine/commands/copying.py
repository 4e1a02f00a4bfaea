"""cp and mv: copy and move files."""

from dataclasses import replace
from errno import ENOSPC
from posixpath import basename, dirname

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.modes import new_mode
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_CP = {
    "archive": "a", "backup=?": "b", "force": "f", "interactive": "i", "dereference": "L", "link": "l",
    "no-clobber": "n", "no-dereference": "P", "preserve=?": "preserve", "recursive": "r", "symbolic-link": "s",
    "suffix=": "S", "target-directory=": "t", "no-target-directory": "T", "update=?": "u", "verbose": "v",
    "parents": "parents", "remove-destination": "remove", "no-preserve=": "no-preserve", "one-file-system": "x",
    "strip-trailing-slashes": "strip", "attributes-only": "attributes-only",
}  # fmt: skip
_MV = {
    "backup=?": "b", "force": "f", "interactive": "i", "no-clobber": "n", "suffix=": "S", "target-directory=": "t",
    "no-target-directory": "T", "update=?": "u", "verbose": "v", "strip-trailing-slashes": "strip",
}  # fmt: skip


def cp(call: Invocation) -> Result:
    """Copy files, with -r directories."""
    options = parsed(call, "abdfHiLlnPprRsS:t:Tuvx", _CP)
    return options if isinstance(options, Result) else _Run(call, options).result()


def mv(call: Invocation) -> Result:
    """Move or rename files."""
    options = parsed(call, "bfinS:t:Tuv", _MV)
    return options if isinstance(options, Result) else _Run(call, options).result()


class _Run:
    def __init__(self, call: Invocation, options: Options) -> None:
        self._call = call
        self._options = options
        self._recursive = options.has("r", "R", "a")
        self._keeps = options.has("p", "a", "preserve")
        self._output: list[str] = []
        self._errors: list[str] = []

    def result(self) -> Result:
        call, options = self._call, self._options
        names = list(options.operands)
        if not names:
            return usage(call, "missing file operand")
        target = options.value("t")
        if target is None:
            if len(names) == 1:
                return usage(call, f"missing destination file operand after {quoted(names[0])}")
            target = names.pop()
            if options.has("T") and len(names) > 1:
                return usage(call, f"extra operand {quoted(names[1])}")
            into = call.files.is_directory(call.path(target)) and not options.has("T")
            if options.has("parents") and not into:
                return usage(call, "with --parents, the destination must be a directory")
            if len(names) > 1 and not into:
                missing = "No such file or directory" if not call.files.exists(call.path(target)) else "Not a directory"
                return Result(stderr=f"{call.name}: target {quoted(target)}: {missing}\n", exit_code=1)
        else:
            into = True
        for name in names:
            plain = name.rstrip("/") or name
            last = basename(plain)
            inner = plain if options.has("parents") else last
            place = f"{target.rstrip('/')}/{inner}" if into and inner not in (".", "..") else target
            if options.has("parents"):
                call.files.make_directory(call.path(dirname(place)), parents=True)
            self._one(name, place)
        return Result("".join(self._output), "".join(self._errors), 1 if self._errors else 0)

    def _fail(self, text: str) -> None:
        self._errors.append(f"{self._call.name}: {text}\n")

    def _one(self, name: str, place: str) -> None:
        files, path = self._call.files, self._call.path(name)
        moves = self._call.name == "mv"
        follow = not moves and (self._options.has("L") or not (self._recursive or self._options.has("P", "d")))
        node = attempt(lambda: files.node(path, follow=follow or name.endswith("/")))
        if isinstance(node, OSError):
            self._fail(f"cannot stat {quoted(name)}: {node.strerror}")
            return
        if node.kind == "directory" and not moves and not self._recursive:
            self._fail(f"-r not specified; omitting directory {quoted(name)}")
            return
        if not self._may_replace(name, path, place, node):
            return
        if moves:
            self._move(name, place)
        else:
            self._copy(name, place, node, top=True)

    def _may_replace(self, name: str, path: str, place: str, node: TreeNode) -> bool:
        files, options, to = self._call.files, self._options, self._call.path(place)
        verb = "move" if self._call.name == "mv" else "copy"
        there = attempt(lambda: files.node(to))
        if isinstance(there, OSError):
            if place.endswith("/") and node.kind != "directory":
                why = "Not a directory"
                self._fail(
                    f"cannot {'create regular file' if verb == 'copy' else 'move ' + quoted(name) + ' to'} {quoted(place)}: {why}"
                )
                return False
            return True
        if files.real(path, follow=False) == files.real(to, follow=False) or (
            verb == "copy"
            and not isinstance(attempt(lambda: files.real(path)), OSError)
            and files.real(path) == files.real(to)
        ):
            self._fail(f"{quoted(name)} and {quoted(place)} are the same file")
            return False
        if options.last("f", "i", "n") == "n":
            return False
        if options.has("u") and there.modified >= node.modified:
            return False
        if node.kind == "directory" and there.kind != "directory":
            self._fail(f"cannot overwrite non-directory {quoted(place)} with directory {quoted(name)}")
            return False
        if node.kind != "directory" and there.kind == "directory":
            self._fail(f"cannot overwrite directory {quoted(place)} with non-directory")
            return False
        if options.has("b") and there.kind != "directory":
            files.rename(to, to + (options.value("S") or "~"))
        return True

    def _move(self, name: str, place: str) -> None:
        files = self._call.files
        done = attempt(lambda: files.rename(self._call.path(name), self._call.path(place)))
        if isinstance(done, OSError):
            if self._inside(name, place):
                self._fail(f"cannot move {quoted(name)} to a subdirectory of itself, {quoted(place)}")
            else:
                self._fail(f"cannot move {quoted(name)} to {quoted(place)}: {done.strerror}")
        elif self._options.has("v"):
            self._output.append(f"renamed {quoted(name)} -> {quoted(place)}\n")

    def _inside(self, name: str, place: str) -> bool:
        return f"{self._call.plain_path(place)}/".startswith(f"{self._call.plain_path(name).rstrip('/')}/")

    def _copy(self, name: str, place: str, node: TreeNode, *, top: bool = False) -> None:
        files, to = self._call.files, self._call.path(place)
        if node.kind == "directory":
            if top and self._inside(name, place):
                self._fail(f"cannot copy a directory, {quoted(name)}, into itself, {quoted(place)}")
                return
            self._directory(name, place, node)
            return
        if self._options.has("v"):
            self._output.append(f"{quoted(name)} -> {quoted(place)}\n")
        if node.kind == "link" or self._options.has("s"):
            if files.exists(to, follow=False):
                files.remove(to)
            done = attempt(lambda: files.link(node.target if node.kind == "link" else name, to))
        else:
            done = attempt(lambda: self._content(self._call.path(name), to, node))
        if isinstance(done, OSError):
            if done.filename == self._call.path(name):
                self._fail(f"cannot open {quoted(name)} for reading: {done.strerror}")
            elif done.errno == ENOSPC:
                self._fail(f"error writing {quoted(place)}: {done.strerror}")
            else:
                self._fail(f"cannot create regular file {quoted(place)}: {done.strerror}")
            return
        self._keep(to, node)

    def _content(self, path: str, to: str, node: TreeNode) -> None:
        files = self._call.files
        content = b"" if self._options.has("attributes-only") else files.read(path)
        if self._options.has("attributes-only") and files.exists(to):
            return
        if self._options.has("f", "remove") and files.exists(to) and not files.may(2, to):
            files.remove(to)
        files.write(to, content, mode=node.mode & 0o777)

    def _directory(self, name: str, place: str, node: TreeNode) -> None:
        files, to = self._call.files, self._call.path(place)
        if not files.exists(to):
            made = attempt(lambda: files.make_directory(to, mode=node.mode | 0o700))
            if isinstance(made, OSError):
                self._fail(f"cannot create directory {quoted(place)}: {made.strerror}")
                return
            if self._options.has("v"):
                self._output.append(f"{quoted(name)} -> {quoted(place)}\n")
        names = attempt(lambda: files.names(self._call.path(name)))
        if isinstance(names, OSError):
            self._fail(f"cannot access {quoted(name)}: {names.strerror}")
            return
        for each in names:
            inner, there = f"{name.rstrip('/')}/{each}", f"{place.rstrip('/')}/{each}"
            below = attempt(lambda inner=inner: files.node(self._call.path(inner), follow=self._options.has("L")))
            if isinstance(below, OSError):
                self._fail(f"cannot stat {quoted(inner)}: {below.strerror}")
            elif below.kind == "directory" or self._may_replace(inner, self._call.path(inner), there, below):
                self._copy(inner, there, below)
        self._keep(to, node)

    def _keep(self, to: str, node: TreeNode) -> None:
        """Give a copy what is asked to be preserved."""
        if not self._keeps:
            return
        files = self._call.files
        left = (self._options.value("no-preserve") or "").split(",")
        if node.kind != "link":
            changed = 0o666 & ~files.umask if node.kind == "file" else 0o777 & ~files.umask
            files.change_mode(to, changed if "mode" in left else node.mode)
        if self._call.user.uid == 0:
            files.change_owner(to, owner=node.owner, group=node.group, follow=False)
        files.set_time(to, node.modified, follow=False)


def install(call: Invocation) -> Result:
    """Copy files and set their permissions; with -d make directories."""
    long = {"mode=": "m", "owner=": "o", "group=": "g", "directory": "d", "target-directory=": "t", "verbose": "v"}
    options = parsed(call, "bcCdDg:m:o:pst:Tv", long)
    if isinstance(options, Result):
        return options
    text = options.value("m") or "755"
    mode = new_mode(text, 0, directory=False, umask=0)
    if mode is None:
        return call.fail(f"invalid mode '{text}'")
    names = list(options.operands)
    if not names:
        return usage(call, "missing file operand")
    if options.has("d"):
        for name in names:
            call.files.make_directory(call.path(name), parents=True)
            call.files.change_mode(call.path(name), mode)
        return Result()
    if options.has("D") and len(names) == 2 and "/" in names[1]:
        call.files.make_directory(call.path(dirname(names[1])), parents=True)
    words = [*(["-t", options.value("t") or ""] if options.has("t") else []), *names]
    done = cp(replace(call, name="cp", arguments=tuple(words)))
    if done.exit_code:
        return Result(done.stdout, done.stderr.replace("cp:", "install:"), done.exit_code)
    target = options.value("t") or names[-1]
    into = call.files.is_directory(call.path(target))
    for name in names if options.has("t") else names[:-1]:
        call.files.change_mode(call.path(f"{target}/{basename(name)}" if into else target), mode)
    return Result()
