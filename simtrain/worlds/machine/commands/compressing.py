"""gzip, bzip2, xz and their relatives: compressed files, byte for byte the same on every host."""

import bz2
import gzip as gzip_format
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.invocation import Invocation, Result, quoted
from simtrain.worlds.machine.problems import attempt

MOST = 50_000_000
"""The largest content, in bytes, that is unpacked: more would be a bomb."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to compress: its suffix, and both directions."""

    name: str
    suffix: str
    magic: bytes
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


class Damaged(ValueError):
    """Raised for data that cannot be unpacked; the text is what the command says of it."""


def _gunzip(content: bytes) -> bytes:
    found = b""
    while content:
        engine = zlib.decompressobj(31)
        try:
            found += engine.decompress(content, MOST - len(found))
        except zlib.error as error:
            wrong = "crc" if "data check" in str(error) else "length" if "length check" in str(error) else "format"
            raise Damaged(f"invalid compressed data--{wrong} {'violated' if wrong == 'format' else 'error'}") from None
        if not engine.eof:
            raise Damaged("unexpected end of file")
        content = engine.unused_data.lstrip(b"\0")
    return found


def _unpacked(engine: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> Callable[[bytes], bytes]:
    def unpack(content: bytes) -> bytes:
        one = engine()
        try:
            found = one.decompress(content, MOST)
        except (lzma.LZMAError, OSError, ValueError, EOFError):
            raise Damaged("Compressed data is corrupt") from None
        if not one.eof:
            raise Damaged("Unexpected end of input")
        return found

    return unpack


GZIP = Method("gzip", ".gz", b"\x1f\x8b", lambda content: gzip_format.compress(content, 6, mtime=0), _gunzip)
BZIP2 = Method("bzip2", ".bz2", b"BZh", bz2.compress, _unpacked(bz2.BZ2Decompressor))
XZ = Method(
    "xz", ".xz", b"\xfd7zXZ\0", lambda content: lzma.compress(content, preset=6), _unpacked(lzma.LZMADecompressor)
)
METHODS = (GZIP, BZIP2, XZ)
_COMMANDS = {
    "gzip": (GZIP, "pack"), "gunzip": (GZIP, "unpack"), "zcat": (GZIP, "show"), "bzip2": (BZIP2, "pack"),
    "bunzip2": (BZIP2, "unpack"), "bzcat": (BZIP2, "show"), "xz": (XZ, "pack"), "unxz": (XZ, "unpack"),
    "xzcat": (XZ, "show"),
}  # fmt: skip
_LONG = {
    "stdout": "c", "to-stdout": "c", "decompress": "d", "uncompress": "d", "force": "f", "keep": "k", "list": "l",
    "quiet": "q", "recursive": "r", "test": "t", "verbose": "v", "fast": "1", "best": "9", "no-name": "n", "name": "N",
    "suffix=": "S", "compress": "z", "threads=": "T",
}  # fmt: skip


def method_of(content: bytes) -> Method | None:
    """Return how content is compressed, by its first bytes; None if it is not."""
    return next((method for method in METHODS if content.startswith(method.magic)), None)


def compress(call: Invocation) -> Result:
    """Compress or unpack files in place, or standard input to standard output."""
    method, action = _COMMANDS[call.name]
    options = parsed(call, "cdfhklnNqrS:tT:vz0123456789", _LONG)
    if isinstance(options, Result):
        return options
    if options.has("d") and action == "pack":
        action = "unpack"
    if options.has("t"):
        action = "test"
    shows = options.has("c") or action == "show"
    if options.has("l") and method is GZIP:
        return _listed(call, options)
    run = _Run(call, options, method, packs=action == "pack", shows=shows, tests=action == "test")
    for name in options.operands or ["-"]:
        run.one(name)
    return Result(as_text(run.output), "".join(run.errors), run.code)


def _listed(call: Invocation, options: Options) -> Result:
    """Print how large gzip files are, packed and unpacked."""
    rows, errors, code = list[tuple[int, int, int, str]](), "", 0
    for name in options.operands:
        path = call.path(name)
        there = path if call.files.exists(path) else f"{path}.gz"
        content = attempt(lambda there=there: call.files.read(there))
        if isinstance(content, OSError) or not content.startswith(GZIP.magic):
            why = content.strerror if isinstance(content, OSError) else "not in gzip format"
            errors, code = errors + f"{call.name}: {name}: {why}\n", 1
            continue
        # Of the head, only a name makes it longer; sizes stand in the last four bytes (RFC 1952).
        head = (content.index(0, 10) + 1 if content[3] & 8 and 0 in content[10:] else 10) + 8
        rows.append((len(content), int.from_bytes(content[-4:], "little"), head, name.removesuffix(".gz")))
    if len(rows) > 1:
        rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows), rows[-1][2], "(totals)"))
    lines = [f"{packed:19} {plain:19} {_ratio(packed - head, plain)} {name}\n" for packed, plain, head, name in rows]
    title = f"{'compressed':>19} {'uncompressed':>19}  ratio uncompressed_name\n" if lines else ""
    return Result(title + "".join(lines), errors, code)


def _ratio(packed: int, plain: int) -> str:
    return f"{100 * (plain - packed) / plain if plain else 0:5.1f}%"


@dataclass(slots=True)
class _Run:
    call: Invocation
    options: Options
    method: Method
    packs: bool
    shows: bool
    tests: bool
    output: bytes = b""
    code: int = 0
    errors: list[str] = field(default_factory=list[str])

    def _fail(self, text: str, code: int = 1) -> None:
        self.errors.append(f"{self.call.name}: {text}\n")
        self.code = max(self.code, code) if code == 1 or self.code == 0 else self.code

    def one(self, name: str) -> None:
        if name == "-":
            changed = self._changed("stdin", as_bytes(self.call.stdin or ""))
            self.output += changed or b""
            return
        path, suffix = self.call.path(name), self.suffix
        if not self.packs and not self.call.files.exists(path) and self.call.files.exists(path + suffix):
            name, path = name + suffix, path + suffix
        content = attempt(lambda: self.call.files.read(path))
        if isinstance(content, IsADirectoryError):
            if self.options.has("r"):
                for inner in self.call.files.names(path):
                    self.one(f"{name.rstrip('/')}/{inner}")
                return
            self._fail(f"{name} is a directory -- ignored", 2)
            return
        if isinstance(content, OSError):
            self._fail(f"{name}: {content.strerror}")
            return
        target = self._target(name)
        if target is None and not (self.shows or self.tests):
            return
        changed = self._changed(name, content)
        if changed is None or self.tests:
            return
        if self.shows:
            self.output += changed
            return
        assert target is not None
        self._write(name, target, changed, len(content))

    @property
    def suffix(self) -> str:
        """Return what names of compressed files end in."""
        return self.options.value("S") or self.method.suffix

    def _target(self, name: str) -> str | None:
        suffix = self.suffix
        if self.packs:
            if name.endswith(suffix):
                self._fail(f"{name} already has {suffix} suffix -- unchanged", 2)
                return None
            return name + suffix
        for end, instead in ((suffix, ""), (".tgz", ".tar"), (".tbz2", ".tar"), (".txz", ".tar")):
            if name.endswith(end):
                return name[: -len(end)] + instead
        if not (self.shows or self.tests):
            self._fail(f"{name}: unknown suffix -- ignored", 2)
        return None

    def _changed(self, name: str, content: bytes) -> bytes | None:
        if self.packs:
            return self.method.pack(content)
        if not content.startswith(self.method.magic):
            if self.options.has("f") and self.shows:
                return content
            self._fail(
                f"{name}: not in {self.method.name} format"
                if self.method is GZIP
                else f"{name}: File format not recognized"
            )
            return None
        try:
            return self.method.unpack(content)
        except Damaged as error:
            self._fail(f"{name}: {error}")
            return None

    def _write(self, name: str, target: str, content: bytes, before: int) -> None:
        files, path, to = self.call.files, self.call.path(name), self.call.path(target)
        if files.exists(to) and not self.options.has("f"):
            self._fail(
                f"{target} already exists;\tnot overwritten" if self.method is GZIP else f"{target}: File exists", 2
            )
            return
        node = files.node(path)
        files.write(to, content, mode=node.mode)
        files.change_mode(to, node.mode)
        files.set_time(to, node.modified)
        if not self.options.has("k"):
            files.remove(path)
        if self.options.has("v"):
            saved = (
                100 * (1 - (len(content) / before if self.packs else before / max(len(content), 1))) if before else 0.0
            )
            verb = "created" if self.options.has("k") else "replaced with"
            self.errors.append(f"{name}:\t{saved:5.1f}% -- {verb} {target}\n")


def zgrep(call: Invocation) -> Result:
    """Search compressed files as grep searches others."""
    words = list(call.arguments)
    files = [word for word in words if not word.startswith("-") and call.files.exists(call.path(word))]
    rest = [word for word in words if word not in files]
    output, errors, found, damaged = "", "", False, False
    for name in files:
        content = call.files.read(call.path(name))
        method = method_of(content)
        try:
            text = as_text(method.unpack(content) if method else content)
        except Damaged as error:
            errors, damaged = f"{errors}\ngzip: {name}: {error}\n", True
            continue
        label = ["-H", f"--label={name}"] if len(files) > 1 else []
        done = call.run(quoted(["grep", *label, *rest]), stdin=text)
        output, errors, found = output + done.stdout, errors + done.stderr, found or done.exit_code == 0
    if not files:
        content = as_bytes(call.stdin or "")
        method = method_of(content)
        try:
            text = as_text(method.unpack(content) if method else content)
        except Damaged as error:
            return Result(stderr=f"\ngzip: stdin: {error}\n", exit_code=2)
        return call.run(quoted(["grep", *rest]), stdin=text)
    return Result(output, errors, 2 if damaged else 0 if found else 1)
