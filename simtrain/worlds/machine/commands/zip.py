"""zip and unzip: archives in the format of PKZIP, as Info-ZIP's commands handle them."""

import zipfile
import zlib
from fnmatch import fnmatchcase
from io import BytesIO
from posixpath import basename, dirname

from simtrain.worlds.machine.binary import as_text
from simtrain.worlds.machine.commands.compressing import MOST
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_NO_ARCHIVE = (
    "\tzip warning: missing end signature--probably not a zip file (did you\n"
    "\tzip warning: remember to use binary mode when you transferred it?)\n"
    "\tzip warning: (if you are trying to read a damaged archive try -F)\n"
)


def zip_files(call: Invocation) -> Result:
    """Add files to an archive, with -r directories and what is in them."""
    options = parsed(
        call,
        "rqjuvmdx:9876543210yi:",
        {"recurse-paths": "r", "quiet": "q", "junk-paths": "j", "exclude=": "x"},
        code=16,
    )
    if isinstance(options, Result) and not options.stderr:
        return options
    if isinstance(options, Result):
        return Result(
            stderr=f"\nzip error: Invalid command arguments ({options.stderr.partition(': ')[2].splitlines()[0]})\n",
            exit_code=16,
        )
    if len(options.operands) < 2:
        return Result(stderr="\nzip error: Nothing to do!\n", exit_code=12)
    name, *rest = options.operands
    archive = name if "." in basename(name) else f"{name}.zip"
    path = call.path(archive)
    members: dict[str, tuple[zipfile.ZipInfo, bytes]] = {}
    if call.files.exists(path):
        try:
            with zipfile.ZipFile(BytesIO(call.files.read(path))) as old:
                members = {info.filename: (info, old.read(info)) for info in old.infolist()}
        except _DAMAGED:
            return Result(_NO_ARCHIVE, f"\nzip error: Zip file structure invalid ({archive})\n", 3)
    output, missing = "", 0
    for given in rest:
        top = call.path(given.rstrip("/"))
        if not call.files.exists(top):
            output += f"\tzip warning: name not matched: {given}\n"
            missing += 1
            continue
        for each in call.files.walk(top) if options.has("r") else [top]:
            node = call.files.node(each)
            shown = (given.rstrip("/") + each[len(top) :]).lstrip("/").removeprefix("./")
            if options.has("j"):
                shown = basename(shown)
            if node.kind == "directory":
                if options.has("j") or shown in ("", "."):
                    continue
                shown += "/"
            if any(fnmatchcase(shown, pattern) for pattern in options.values("x")):
                continue
            content = b"" if node.kind == "directory" else call.files.read(each)
            moment = local(max(node.modified, 315_532_800), call.environment)
            info = zipfile.ZipInfo(shown, moment.timetuple()[:6])
            info.external_attr = (node.mode | (0o040000 if node.kind == "directory" else 0o100000)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED if content else zipfile.ZIP_STORED
            verb = "updating" if shown in members else "  adding"
            members[shown] = (info, content)
            how = _share(content) if content else "(stored 0%)"
            output += f"{verb}: {shown} {how}\n"
    if not members or missing == len(rest):
        return Result(output, f"\nzip error: Nothing to do! ({archive})\n", 12)
    store = BytesIO()
    with zipfile.ZipFile(store, "w") as new:
        for info, content in members.values():
            new.writestr(info, content, compress_type=info.compress_type)
    call.files.write(path, store.getvalue())
    return Result("" if options.has("q") else output)


def _share(content: bytes) -> str:
    engine = zlib.compressobj(6, zlib.DEFLATED, -15)
    size = len(engine.compress(content) + engine.flush())
    if size >= len(content):
        return "(stored 0%)"
    return f"(deflated {round(100 * (1 - size / len(content)))}%)"


def unzip(call: Invocation) -> Result:
    """Unpack an archive, or list it with -l."""
    options = parsed(call, "lptvZ1qond:jx:", code=10)
    if isinstance(options, Result):
        return options
    if not options.operands:
        return Result("UnZip 6.00 of 20 April 2009, by Debian. Original by Info-ZIP.\n", "", 0)
    name, *wanted = options.operands
    candidates = [name, f"{name}.zip", f"{name}.ZIP"]
    found = next((one for one in candidates if call.files.exists(call.path(one))), None)
    if found is None:
        listed = f"{name}, {name}.zip or {name}.ZIP"
        return Result(stderr=f"unzip:  cannot find or open {listed}.\n", exit_code=9)
    try:
        archive = zipfile.ZipFile(BytesIO(call.files.read(call.path(found))))
    except _DAMAGED:
        return Result(f"Archive:  {found}\n", "  End-of-central-directory signature not found.\n", 9)
    comment = archive.comment.decode(errors="replace")
    comment += "\n" if comment and not comment.endswith("\n") else ""
    infos = [
        one for one in archive.infolist() if not wanted or any(fnmatchcase(one.filename, pattern) for pattern in wanted)
    ]
    infos = [one for one in infos if not any(fnmatchcase(one.filename, pattern) for pattern in options.values("x"))]
    if not infos and wanted:
        return Result(f"Archive:  {found}\n", f"caution: filename not matched:  {wanted[0]}\n", 11)
    if options.has("Z") or options.has("1"):
        return Result("".join(f"{one.filename}\n" for one in infos))
    if options.has("l"):
        return Result(_listing(found, comment, infos))
    if options.has("p"):
        try:
            return Result("".join(as_text(archive.read(one)) for one in infos if one.file_size <= MOST))
        except _DAMAGED:
            return Result(stderr="error:  invalid compressed data to inflate\n", exit_code=3)
    lines = [f"Archive:  {found}\n{comment}"]
    base = call.path(options.value("d") or ".").removesuffix("/.")
    for info in infos:
        try:
            done = attempt(
                lambda info=info: _unpack(call, archive, info, base, flat=options.has("j"), spare=options.has("n"))
            )
        except _DAMAGED:
            wrong = f"error:  invalid compressed data to inflate {info.filename}\n"
            return Result("".join(lines), wrong, 3)
        if isinstance(done, OSError):
            return Result("".join(lines), f"error:  cannot create {info.filename}: {done.strerror}\n", 50)
        shown = f"{options.value('d')}/{info.filename}" if options.has("d") else info.filename
        if done:
            lines.append(f"   creating: {shown}\n" if info.is_dir() else f"  inflating: {shown}  \n")
    return Result("" if options.has("q") else "".join(lines))


def _unpack(
    call: Invocation, archive: zipfile.ZipFile, info: zipfile.ZipInfo, base: str, *, flat: bool, spare: bool
) -> bool:
    name = basename(info.filename) if flat else info.filename
    if not name or ".." in name.split("/"):
        return False
    path = f"{base}/{name.strip('/')}"
    if info.is_dir():
        call.files.make_directory(path, parents=True)
        return True
    if spare and call.files.exists(path):
        return False
    call.files.make_directory(dirname(path), parents=True)
    call.files.write(path, archive.read(info))
    mode = info.external_attr >> 16 & 0o777
    if mode:
        call.files.change_mode(path, mode)
    return True


def _listing(name: str, comment: str, infos: list[zipfile.ZipInfo]) -> str:
    lines = [
        f"Archive:  {name}",
        *comment.splitlines(),
        "  Length      Date    Time    Name",
        "---------  ---------- -----   ----",
    ]
    for one in infos:
        year, month, day, hour, minute, _ = one.date_time
        lines.append(f"{one.file_size:9}  {year}-{month:02}-{day:02} {hour:02}:{minute:02}   {one.filename}")
    count = len(infos)
    total = sum(one.file_size for one in infos)
    lines += [
        "---------                     -------",
        f"{total:9}                     {count} file{'s' if count != 1 else ''}",
    ]
    return "\n".join(lines) + "\n"
