"""tar: makes, lists and unpacks archives as GNU's does."""

import re
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from errno import ENOSPC
from fnmatch import fnmatchcase
from io import BytesIO
from posixpath import dirname

from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.commands.compressing import BZIP2, GZIP, MOST, XZ, Damaged, Method, method_of
from simtrain.worlds.machine.commands.modes import letters_of
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.tar_names import MemberNames, TarNameRefused, member_names
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_SHORT = "AcdrtuxvzjJaf:C:OpPkmhT:X:wWslS"
_LONG = {
    "create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "file=": "f",
    "directory=": "C", "gzip": "z", "gunzip": "z", "bzip2": "j", "xz": "J", "auto-compress": "a", "verbose": "v",
    "to-stdout": "O", "preserve-permissions": "p", "same-permissions": "p", "absolute-names": "P",
    "keep-old-files": "k", "touch": "m", "dereference": "h", "files-from=": "T", "exclude=": "exclude",
    "exclude-from=": "X", "strip-components=": "strip", "owner=": "owner", "group=": "group", "mtime=": "mtime",
    "sort=": "sort", "numeric-owner": "numeric", "no-same-owner": "o", "overwrite": "overwrite",
    "transform=": "transform", "xform=": "transform", "show-transformed-names": "shown", "wildcards": "wildcards",
    "delete": "delete", "same-owner": "same-owner",
    "exclude-vcs": "vcs", "no-recursion": "no-recursion", "totals": "totals", "one-file-system": "one",
    "remove-files": "remove-files", "diff": "d", "compare": "d",
}  # fmt: skip
_HINT = "Try 'tar --help' or 'tar --usage' for more information."
_SUFFIXES = {".gz": GZIP, ".tgz": GZIP, ".bz2": BZIP2, ".tbz2": BZIP2, ".xz": XZ, ".txz": XZ}
_FAILED = "tar: Exiting with failure status due to previous errors\n"
_NOT_TAR = f"tar: This does not look like a tar archive\ntar: Skipping to next header\n{_FAILED}"
_NO_ARCHIVE = (tarfile.TarError, ValueError, OSError, EOFError)
"""Raised for what is no archive, or a damaged one."""


def tar(call: Invocation) -> Result:
    """Create (c), list (t), unpack (x), extend (r, u), compare (d) or cut (--delete) an archive."""
    words = list(call.arguments)
    # The old form: letters without a dash, whose values follow in their order.
    if words and not words[0].startswith("-"):
        letters, values = words.pop(0), list[str]()
        for letter in letters:
            values.append(f"-{letter}")
            if letter in "fCTX":
                if not words:
                    return Result(stderr=f"tar: Old option '{letter}' requires an argument.\n{_HINT}\n", exit_code=64)
                values.append(words.pop(0))
        words = values + words
    options = parsed(replace(call, arguments=tuple(words)), _SHORT, _LONG, code=64, hint=_HINT)
    if isinstance(options, Result):
        return options
    actions = [name for name in (*"ctxrud", "delete") if options.has(name)]
    if not actions:
        text = "tar: You must specify one of the '-Acdtrux', '--delete' or '--test-label' options\n"
        return Result(stderr=f"{text}{_HINT}\n", exit_code=2)
    if len(actions) > 1:
        text = "tar: You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option\n"
        return Result(stderr=f"{text}{_HINT}\n", exit_code=2)
    try:
        names = member_names(call, options)
    except TarNameRefused as refusal:
        return Result(stderr=f"tar: {refusal}\n{_HINT}\n", exit_code=2)
    except OSError as error:
        words = f"tar: {options.value('X')}: {error.strerror}\ntar: Error is not recoverable: exiting now\n"
        return Result(stderr=words, exit_code=2)
    run = _Run(call, options, words, names)
    if actions[0] in ("c", "r", "u", "delete"):
        return run.write(append=actions[0] != "c")
    return run.read({"x": run.unpack, "t": run.show, "d": run.compare}[actions[0]])


@dataclass(slots=True)
class _Run:
    call: Invocation
    options: Options
    words: Sequence[str]
    names: MemberNames
    output: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    code: int = 0
    held: dict[str, float] = field(default_factory=dict[str, float])
    """Name -> time of what the archive held before."""

    def _fail(self, text: str) -> None:
        self.errors.append(f"tar: {text}\n")
        self.code = 2

    def _result(self, content: bytes = b"") -> Result:
        ending = _FAILED if self.code > 1 else ""
        said = "".join(self.output)
        if self.options.value("f") in (None, "-") and self.options.has("c"):
            # The archive goes to standard output, so names go to standard error.
            return Result(as_text(content), said + "".join([*self.notes, *self.errors]) + ending, self.code)
        return Result(said or as_text(content), "".join([*self.notes, *self.errors]) + ending, self.code)

    def _fatal(self, text: str) -> Result:
        errors = "".join(self.errors)
        return Result(stderr=f"{errors}tar: {text}\ntar: Error is not recoverable: exiting now\n", exit_code=2)

    # Writing.

    def write(self, *, append: bool) -> Result:
        name = self.options.value("f")
        operands = self._operands()
        if not operands and not append:
            return Result(stderr=f"tar: Cowardly refusing to create an empty archive\n{_HINT}\n", exit_code=2)
        store = BytesIO()
        archive = tarfile.TarFile(fileobj=store, mode="w", format=tarfile.GNU_FORMAT)
        if append and name not in (None, "-"):
            old = attempt(lambda: self.call.files.read(self.call.path(name or "")))
            if not isinstance(old, OSError):
                if method_of(old) is not None:
                    return self._fatal("Cannot update compressed archives")
                try:
                    with tarfile.TarFile(fileobj=BytesIO(old)) as before:
                        self._take_over(before, archive)
                except _NO_ARCHIVE:
                    return Result(stderr=_NOT_TAR, exit_code=2)
        for folder, operand in operands if not self.options.has("delete") else ():
            self._add(archive, folder, operand)
        archive.close()
        method = self._method(name or "-")
        content = method.pack(store.getvalue()) if method else store.getvalue()
        if name in (None, "-"):
            return self._result(content)
        done = attempt(lambda: self.call.files.write(self.call.path(name), content))
        if isinstance(done, OSError):
            return self._fatal(f"{name}: Cannot {'write' if done.errno == ENOSPC else 'open'}: {done.strerror}")
        if self.options.has("remove-files"):
            for folder, operand in operands:
                attempt(
                    lambda folder=folder, operand=operand: self.call.files.remove(f"{folder}/{operand}", recursive=True)
                )
        return self._result()

    def _take_over(self, before: tarfile.TarFile, archive: tarfile.TarFile) -> None:
        """Write what an archive holds into the new one, but for what is to be deleted from it."""
        cut = list(self.options.operands) if self.options.has("delete") else []
        matched: set[str] = set()
        for member in before:
            self.held[member.name] = float(member.mtime)
            if not cut or not self._chosen(member, cut, matched):
                archive.addfile(member, before.extractfile(member) if member.isreg() else None)
        for name in cut:
            if name not in matched:
                self._fail(f"{name}: Not found in archive")

    def _operands(self) -> list[tuple[str, str]]:
        """Return the folder and name of each file to be stored: -C counts for the names behind it."""
        folder, found = self.call.directory, list[tuple[str, str]]()
        words = list(self.words)
        operands = list(self.options.operands)
        while words:
            word = words.pop(0)
            if word in ("-C", "--directory"):
                folder = f"{folder}/{words.pop(0)}" if not words[0].startswith("/") else words.pop(0)
            elif word.startswith("--directory="):
                given = word.partition("=")[2]
                folder = given if given.startswith("/") else f"{folder}/{given}"
            elif re.fullmatch(r"-[a-zA-Z]*C", word):
                given = words.pop(0)
                folder = given if given.startswith("/") else f"{folder}/{given}"
            elif operands and word == operands[0]:
                found.append((folder, operands.pop(0)))
        for listing in self.options.values("T"):
            text = (
                (self.call.stdin or "")
                if listing == "-"
                else self.call.files.read(self.call.path(listing)).decode(errors="replace")
            )
            found += [(folder, line) for line in text.splitlines() if line]
        return found

    def _add(self, archive: tarfile.TarFile, folder: str, name: str) -> None:
        files = self.call.files
        path = name if name.startswith("/") else f"{folder.rstrip('/')}/{name}"
        node = attempt(lambda: files.node(path.rstrip("/") or "/", follow=self.options.has("h")))
        if isinstance(node, OSError):
            self._fail(f"{name}: Cannot stat: {node.strerror}")
            return
        if self.names.leaves_out(name.rstrip("/")):
            return
        stored = name
        if name.startswith("/") and not self.options.has("P"):
            note = "tar: Removing leading `/' from member names\n"
            if note not in self.notes:
                self.notes.append(note)
            stored = name.lstrip("/") or "."
        content = attempt(lambda: files.read(path)) if node.kind == "file" else b""
        if isinstance(content, OSError):
            self._fail(f"{name}: Cannot open: {content.strerror}")
            return
        other = self.names.other(stored.rstrip("/"))
        shown = other if self.options.has("shown") else stored.rstrip("/")
        shown += "/" if node.kind == "directory" else ""
        if not self.options.has("u") or int(node.modified) > self.held.get(stored.rstrip("/"), -1.0):
            if self.options.has("v"):
                self.output.append(f"{shown}\n")
            if other:
                archive.addfile(self._member(other, node, content), BytesIO(content))
        if node.kind == "directory" and not self.options.has("no-recursion"):
            names = attempt(lambda: files.names(path))
            if isinstance(names, OSError):
                self._fail(f"{name}: Cannot open: {names.strerror}")
                return
            for each in names:
                self._add(archive, folder, f"{name.rstrip('/')}/{each}")

    def _member(self, name: str, node: TreeNode, content: bytes) -> tarfile.TarInfo:
        machine = self.call.machine
        member = tarfile.TarInfo(name)
        kinds = {"directory": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "device": tarfile.CHRTYPE}
        member.type = kinds.get(node.kind, tarfile.REGTYPE)
        member.mode, member.linkname = node.mode, node.target
        member.mtime = int(node.modified) if self.names.moment is None else self.names.moment
        member.size = len(content)
        member.uname = self.options.value("owner") or node.owner
        member.gname = self.options.value("group") or node.group
        member.uid = machine.users[node.owner].uid if node.owner in machine.users else 65534
        member.gid = machine.group_number(node.group)
        return member

    def _method(self, name: str) -> Method | None:
        given = {"z": GZIP, "j": BZIP2, "J": XZ}
        found = next((given[letter] for letter in given if self.options.has(letter)), None)
        if found is None and self.options.has("a"):
            found = next((method for end, method in _SUFFIXES.items() if name.endswith(end)), None)
        return found

    # Reading.

    def read(self, take: Callable[[tarfile.TarFile, tarfile.TarInfo, str], None]) -> Result:
        """Read an archive, and let `take` have each member that is asked for, with the folder that it belongs below."""
        name = self.options.value("f")
        if name in (None, "-"):
            if self.call.stdin is None:
                return Result(
                    stderr="tar: Refusing to read archive contents from terminal (missing -f option?)\n"
                    "tar: Error is not recoverable: exiting now\n",
                    exit_code=2,
                )
            content = as_bytes(self.call.stdin)
        else:
            found = attempt(lambda: self.call.files.read(self.call.path(name)))
            if isinstance(found, OSError):
                return self._fatal(f"{name}: Cannot open: {found.strerror}")
            content = found
        method = method_of(content)
        asked = self._method("")
        if asked is not None and method is not asked:
            return Result(
                stderr=f"\n{asked.name}: stdin: not in {asked.name} format\ntar: Child returned status 1\n"
                "tar: Error is not recoverable: exiting now\n",
                exit_code=2,
            )
        try:
            plain = method.unpack(content) if method else content
        except Damaged as error:
            return Result(
                stderr=f"\n{asked.name if asked else 'gzip'}: stdin: {error}\ntar: Child returned status 1\n"
                "tar: Error is not recoverable: exiting now\n",
                exit_code=2,
            )
        try:
            archive = tarfile.TarFile(fileobj=BytesIO(plain), mode="r")
            members = archive.getmembers()
        except _NO_ARCHIVE:
            if len(content) < 512 and not content.strip(b"\0"):
                return Result(stderr="tar: This does not look like a tar archive\n" + _FAILED, exit_code=2)
            return Result(stderr=_NOT_TAR, exit_code=2)
        folder = self.options.value("C")
        base = self.call.path(folder) if folder else self.call.directory
        if folder and not self.call.files.is_directory(base):
            return self._fatal(f"{folder}: Cannot open: No such file or directory")
        wanted = list(self.options.operands)
        matched: set[str] = set()
        chosen = [member for member in members if self._chosen(member, wanted, matched)]
        for member in chosen:
            take(archive, member, base)
        for one in wanted:
            if one not in matched:
                self._fail(f"{one}: Not found in archive")
        return self._result()

    def _chosen(self, member: tarfile.TarInfo, wanted: Sequence[str], matched: set[str]) -> bool:
        if self.names.leaves_out(member.name):
            return False
        if not wanted:
            return True
        for one in wanted:
            plain = one.rstrip("/")
            fits = self.options.has("wildcards") and fnmatchcase(member.name, one)
            if member.name == plain or member.name.startswith(f"{plain}/") or fits:
                matched.add(one)
                return True
        return False

    def show(self, archive: tarfile.TarFile, member: tarfile.TarInfo, base: str) -> None:
        """List a member."""
        self.output.append(self._listed(member) + "\n")

    def compare(self, archive: tarfile.TarFile, member: tarfile.TarInfo, base: str) -> None:
        """Say in what a member differs from the file of its name."""
        path = f"{base.rstrip('/')}/{member.name}"
        node = self.call.files.find(path, follow=False)
        if node is None:
            self.errors.append(f"tar: {member.name}: Warning: Cannot stat: No such file or directory\n")
            self.code = self.code or 1
            return
        reader = archive.extractfile(member) if member.isreg() else None
        content = reader.read(MOST) if reader is not None else b""
        expected, machine = self._member(member.name, node, node.content), self.call.machine
        differs = {
            "Mode": expected.mode != member.mode & 0o7777,
            "Uid": member.uname in machine.users and member.uname != node.owner,
            "Gid": member.gname in machine.groups and member.gname != node.group,
            "Mod time": not member.isdir() and int(member.mtime) != expected.mtime,
            "Size": member.isreg() and len(content) != len(node.content),
            "Contents": member.isreg() and len(content) == len(node.content) and content != node.content,
            "Symlink": member.issym() and member.linkname != node.target,
        }
        if expected.type != member.type:
            differs = {"File type": True}
        for what in (what for what, found in differs.items() if found):
            self.output.append(f"{member.name}: {what} differ{'' if what == 'Contents' else 's'}\n")
            self.code = self.code or 1

    def _listed(self, member: tarfile.TarInfo) -> str:
        name = self.names.other(member.name) if self.options.has("shown") else member.name
        name += "/" if member.isdir() else ""
        if not self.options.has("v"):
            return name
        letter = "d" if member.isdir() else "l" if member.issym() else "-"
        named = not self.options.has("numeric")
        owner = f"{(named and member.uname) or member.uid}/{(named and member.gname) or member.gid}"
        moment = local(float(member.mtime), self.call.environment)
        size = str(0 if member.issym() else member.size)
        wide = max(0, 19 - len(owner) - 1)
        arrow = f" -> {member.linkname}" if member.issym() else ""
        return f"{letter}{letters_of(member.mode)} {owner} {size.rjust(wide)} {moment:%Y-%m-%d %H:%M} {name}{arrow}"

    def unpack(self, archive: tarfile.TarFile, member: tarfile.TarInfo, base: str) -> None:
        """Write a member where it belongs."""
        files = self.call.files
        name = self.names.other(member.name)
        if not name:
            return
        if ".." in name.split("/") and not self.options.has("P"):
            self._fail(f"{member.name}: Member name contains '..'")
            return
        shown = (name if self.options.has("shown") else member.name) + ("/" if member.isdir() else "")
        if self.options.has("v"):
            self.output.append(f"{shown}\n")
        reader = archive.extractfile(member) if member.isreg() else None
        content = reader.read(MOST) if reader is not None else b""
        if self.options.has("O"):
            self.output.append(as_text(content))
            return
        path = f"{base.rstrip('/')}/{name.lstrip('/')}"
        if self.options.has("k") and files.exists(path, follow=False) and not member.isdir():
            self._fail(f"{name}: Cannot open: File exists")
            return

        def put() -> None:
            if not files.exists(dirname(path)):
                files.make_directory(dirname(path), parents=True)
            if member.isdir():
                files.make_directory(path, parents=True)
            elif member.issym():
                if files.exists(path, follow=False):
                    files.remove(path)
                files.link(member.linkname, path)
            else:
                if files.exists(path, follow=False) and files.node(path, follow=False).kind == "link":
                    files.remove(path)
                files.write(path, content)
            if not member.issym():
                root = self.call.user.uid == 0
                mode = member.mode if root or self.options.has("p") else member.mode & ~files.umask
                files.change_mode(path, mode & 0o7777)
                if root and member.uname in self.call.machine.users:
                    files.change_owner(path, owner=member.uname, group=member.gname or None)
            if not self.options.has("m"):
                files.set_time(path, float(member.mtime), follow=False)

        done = attempt(put)
        if isinstance(done, OSError):
            self._fail(f"{name}: Cannot {'write' if done.errno == ENOSPC else 'open'}: {done.strerror}")
