"""Python packages of a world: the index that `pip` finds them in, and where on a machine they lie."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping

from simtrain.files.yaml_files import Document, Place
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.spec import HostSource, MachineSpec, PackageSource
from simtrain.worlds.machine.wheels import Wheel, read_wheel
from simtrain.worlds.sandbox.packages import SITE
from simtrain.worlds.service.database import Database, Mode

FILES_OF = "select path, content, base64 from package_files where name = :name and version = :version order by path"


def insert(database: Database, table: str, **cells: JsonValue) -> None:
    """Insert a row while a world is built."""
    names = ", ".join(f'"{name}"' for name in cells)
    marks = ", ".join("?" * len(cells))
    database.run(f'insert into "{table}" ({names}) values ({marks})', tuple(cells.values()), mode=Mode.OWN)


def build_index(database: Database, spec: MachineSpec, document: Document) -> None:
    """Fill the index of pip. Raises InputError with the place in the file."""
    for name, versions in spec.index.pip.items():
        place: Place = ("index", "pip", name)
        for one in versions:
            if spec.python and not one.files and one.wheel is None:
                remedy = "give it `version` and `files`, or a `wheel`"
                raise document.error(place, f"nothing says what Python finds in {name}", remedy)
            package = _package(one, document, place)
            insert(
                database, "package_index", manager="pip", name=name, version=package.version, summary=package.summary,
                requires=",".join(package.requires), size=sum(map(len, package.files.values())) or 100_000,
            )  # fmt: skip
            for path, content in with_metadata(name, package).items() if package.files else ():
                insert(database, "package_files", name=name, version=package.version, path=path, **_cells(content))


def _package(source: PackageSource, document: Document, place: Place) -> Wheel:
    if source.wheel is not None:
        return read_wheel(document, source.wheel, place)
    files = {path: text.encode() for path, text in source.files.items()}
    return Wheel(source.version or "0", source.summary, tuple(source.requires), files)


def with_metadata(name: str, package: Wheel) -> dict[str, bytes]:
    """Return the files of a package with those that say what it is, as pip writes them."""
    files = dict(package.files)
    folder = next((path.partition("/")[0] for path in files if path.endswith(".dist-info/METADATA")), None)
    if folder is None:
        folder = f"{name.replace('-', '_')}-{package.version}.dist-info"
        needed = "".join(f"Requires-Dist: {one}\n" for one in package.requires)
        told = f"Metadata-Version: 2.1\nName: {name}\nVersion: {package.version}\nSummary: {package.summary}\n{needed}"
        files[f"{folder}/METADATA"] = told.encode()
    files[f"{folder}/INSTALLER"] = b"pip\n"
    listed = "".join(f"{path},,\n" for path in sorted({*files, f"{folder}/RECORD"}))
    files[f"{folder}/RECORD"] = listed.encode()
    return files


def _cells(content: bytes) -> dict[str, JsonValue]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode()}
    return {"content": text} if "\0" not in text else {"base64": b64encode(content).decode()}


def content_of(row: Mapping[str, JsonValue]) -> bytes:
    """Return the content of a row of `package_files`."""
    return b64decode(str(row["base64"])) if row["base64"] else str(row["content"] or "").encode()


def installed_files(
    database: Database, spec: MachineSpec, host: HostSource, document: Document, place: Place
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the Python packages that a machine begins with. Raises InputError for one that the index lacks."""
    if "python3" not in host.packages.get("apt", {}):
        return
    for name, version in host.packages.get("pip", {}).items():
        rows: list[JsonObject] = database.rows(FILES_OF, {"name": name, "version": version}, mode=Mode.OWN)
        if not rows:
            remedy = "write it under `index: {pip: ...}`, with `files` or a `wheel`"
            where: Place = (*place, "packages", "pip", name)
            raise document.error(where, f"nothing says what Python finds in {name} {version}", remedy)
        for row in rows:
            yield f"{SITE}/{row['path']}", content_of(row)
