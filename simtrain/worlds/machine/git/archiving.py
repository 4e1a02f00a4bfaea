"""archive: the files of a commit or tree as a tar or zip archive."""

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from posixpath import basename, dirname, join, normpath

from simtrain.worlds.handlers.git.objects import FOLDER, TreeEntry
from simtrain.worlds.handlers.git.paths import Ignored
from simtrain.worlds.machine.commands.compressing import GZIP
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.object_graph import GITLINK
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching, unknown_option

_USAGE = "usage: git archive [<options>] <tree-ish> [<path>...]\n   or: git archive --list"
_FORMATS = ("tar", "tgz", "tar.gz", "zip")
_RECORD = 512
_TAR_BLOCK = 20 * _RECORD
_LINK = "120000"
_ZLIB_FRAME = 6
"""The bytes of zlib's head and sum, which entries of zip archives lack."""


@dataclass(frozen=True, slots=True)
class _Member:
    path: str
    mode: str
    content: bytes = b""

    @property
    def permissions(self) -> int:
        """The mode that git gives the file when it is unpacked, under the mask 002."""
        if self.mode == _LINK:
            return 0o777
        return 0o775 if self.mode in (FOLDER, "100755", GITLINK) else 0o664


def archive(session: GitSession) -> None:
    """Write the files of a commit or tree to a file, or to stdout."""
    words, names, flags = list(session.words), list[str](), set[str]()
    given: dict[str, str] = {}
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        name = {"-o": "--output"}.get(name, name)
        if name in ("--format", "--prefix", "--output"):
            if not equals and not words:
                raise GitStop(f"error: option `{name[2:]}' requires a value", 129)
            given[name] = value if equals else words.pop(0)
        elif word.startswith("-o") and not word.startswith("--"):
            given["--output"] = word[2:]
        elif word in ("-l", "--list"):
            session.output += [f"{one}\n" for one in _FORMATS]
            return
        elif word == "--":
            names += words
            break
        elif (
            word.startswith("-") and word not in ("-v", "--verbose", "--worktree-attributes") and not word[1:].isdigit()
        ):
            raise unknown_option(word, _USAGE)
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if not names:
        raise GitStop(_USAGE, 129)
    form = given.get("--format") or _form_of(given.get("--output", ""))
    if form not in _FORMATS:
        raise GitStop(f"fatal: Unknown archive format '{form}'")
    commit, moment, members = _members(session, names, given.get("--prefix", ""))
    if flags & {"-v", "--verbose"}:
        session.errors += [f"{member.path}\n" for member in members]
    content = _zip(members, moment, commit) if form == "zip" else _tar(members, moment, commit)
    content = GZIP.pack(content) if form in ("tgz", "tar.gz") else content
    output = given.get("--output")
    if output is None:
        session.output.append(content.decode("utf-8", "surrogateescape"))
        return
    try:
        session.call.files.write(normpath(f"{session.directory}/{output}" if output[:1] != "/" else output), content)
    except OSError as error:
        raise GitStop(f"fatal: could not open '{output}' for writing: {error.strerror}") from None


def _form_of(name: str) -> str:
    return next((form for form in ("tar.gz", "tgz", "zip") if name.endswith(f".{form}")), "tar")


def _members(session: GitSession, names: list[str], prefix: str) -> tuple[str | None, int, list[_Member]]:
    """Return the id of the commit, if it is one, the time of all files, and the files in their order."""
    repository = session.repository
    found = session.maybe(names[0])
    if found is None:
        raise GitStop(f"fatal: not a valid object name: {names[0]}")
    if found.kind not in ("commit", "tree"):
        raise GitStop(f"fatal: not a tree object: {found.sha}")
    commit = found.sha if found.kind == "commit" else None
    moment = repository.commit(commit).committer.seconds if commit else int(session.call.now)
    tree = repository.commit(commit).tree if commit else found.sha
    for name in session.prefix.strip("/").split("/") if session.prefix else []:
        entry = repository.tree(tree).get(name)
        if entry is None or entry.mode != FOLDER:
            raise GitStop("fatal: current working directory is untracked")
        tree = entry.sha
    files = repository.files(tree)
    specs = ["" if name in (".", "./") else normpath(name) for name in names[1:]]
    for name, spec in zip(names[1:], specs, strict=True):
        if not matching(list(files), [spec]):
            raise GitStop(f"fatal: pathspec '{name}' did not match any files")
    members = [_Member(prefix, FOLDER)] if prefix.endswith("/") else []
    begun: set[str] = set()
    left_out = _left_out(repository, files)
    for path in matching(list(files), specs):
        parts = path.split("/")
        for end in range(1, len(parts)):
            folder = "/".join(parts[:end])
            if folder not in begun and left_out.cause(f"{folder}/.") is None:
                begun.add(folder)
                members.append(_Member(f"{prefix}{folder}/", FOLDER))
        entry = files[path]
        if left_out.cause(path) is not None:
            continue
        if entry.mode == GITLINK:
            members.append(_Member(f"{prefix}{path}/", GITLINK))
        else:
            members.append(_Member(prefix + path, entry.mode, repository.blob(entry.sha)))
    return commit, moment, members


def _left_out(repository: FolderRepository, files: Mapping[str, TreeEntry]) -> Ignored:
    """Return the rules of what `.gitattributes` marks with `export-ignore`."""
    rules: dict[str, tuple[str, bytes]] = {}
    for path, entry in files.items():
        if basename(path) == ".gitattributes":
            words = [line.split() for line in repository.blob(entry.sha).decode(errors="replace").splitlines()]
            lines = [f"{line[0]}\n" for line in words if "export-ignore" in line[1:]]
            # Their patterns are those of .gitignore.
            rules[join(dirname(path), ".gitignore")] = ("100644", "".join(lines).encode())
    return Ignored(rules)


def _tar(members: list[_Member], moment: int, commit: str | None) -> bytes:
    parts: list[bytes] = []
    if commit is not None:
        comment = _pax({"comment": commit})
        parts.append(_record("pax_global_header", 0o666, len(comment), moment, "g") + _padded(comment))
    for member in members:
        parts.append(_tar_member(member, moment))
    content = b"".join(parts)
    # Two empty records end an archive, and it is filled up to whole blocks.
    size = len(content) + 2 * _RECORD
    return content.ljust(-(-size // _TAR_BLOCK) * _TAR_BLOCK, b"\0")


def _tar_member(member: _Member, moment: int) -> bytes:
    kind = "5" if member.mode in (FOLDER, GITLINK) else "2" if member.mode == _LINK else "0"
    link = member.content.decode("utf-8", "surrogateescape") if kind == "2" else ""
    content = b"" if kind != "0" else member.content
    name, above = member.path, ""
    before = b""
    if len(name.encode()) > 100:
        cut = name.rfind("/", 0, min(155, len(name) - 1))
        if cut > 0 and len(name) - cut - 1 <= 100:
            above, name = name[:cut], name[cut + 1 :]
        else:
            head = _pax({"path": name})
            before = _record("@PaxHeader", 0o666, len(head), moment, "x") + _padded(head)
            name = name[-100:]
    return before + _record(name, member.permissions, len(content), moment, kind, link, above) + _padded(content)


def _pax(fields: dict[str, str]) -> bytes:
    parts: list[bytes] = []
    for name, value in fields.items():
        text = f" {name}={value}\n".encode("utf-8", "surrogateescape")
        size = len(text) + 1
        while len(str(size)) + len(text) != size:
            size = len(str(size)) + len(text)
        parts.append(str(size).encode() + text)
    return b"".join(parts)


def _padded(content: bytes) -> bytes:
    return content.ljust(-(-len(content) // _RECORD) * _RECORD, b"\0")


def _record(name: str, mode: int, size: int, moment: int, kind: str, link: str = "", above: str = "") -> bytes:
    """Return the head of a file in a tar archive (POSIX, ustar interchange format)."""

    def text(value: str, wide: int) -> bytes:
        return value.encode("utf-8", "surrogateescape")[:wide].ljust(wide, b"\0")

    first = text(name, 100) + b"%07o\0%07o\0%07o\0%011o\0%011o\0" % (mode, 0, 0, size, moment)
    last = (
        kind.encode() + text(link, 100) + b"ustar\x0000" + text("root", 32) * 2 + b"%07o\0" % 0 * 2 + text(above, 155)
    )
    total = sum(first) + sum(last) + 8 * ord(" ")
    return (first + b"%07o\0" % total + last).ljust(_RECORD, b"\0")


def _zip(members: list[_Member], moment: int, commit: str | None) -> bytes:
    when = datetime.fromtimestamp(moment, UTC)
    store = BytesIO()
    with zipfile.ZipFile(store, "w") as made:
        made.comment = commit.encode() if commit else b""
        for member in members:
            is_folder, is_link = member.mode in (FOLDER, GITLINK), member.mode == _LINK
            has_mode = is_link or member.mode == "100755"
            info = zipfile.ZipInfo(member.path, when.timetuple()[:6])
            info.extra = b"UT\x05\0\x01" + moment.to_bytes(4, "little")
            info.create_system, info.create_version, info.extract_version = (3, 23, 10) if has_mode else (0, 0, 10)
            info.internal_attr = int(not is_folder and b"\0" not in member.content)
            shrinks = len(zlib.compress(member.content, 6)) - _ZLIB_FRAME < len(member.content)
            how = zipfile.ZIP_DEFLATED if shrinks and not is_link else zipfile.ZIP_STORED
            made.writestr(info, member.content, compress_type=how)
            # Set behind the writing, which takes 0 for a file that has no mode yet.
            mode = 0o120777 if is_link else int(member.mode, 8)
            info.external_attr = 0x10 if is_folder else mode << 16 if has_mode else 0
    return store.getvalue()
