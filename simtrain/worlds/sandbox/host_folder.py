"""Files and folders of the host as values that go into a sandbox: bounded, links kept as links."""

import stat
from pathlib import Path

from simtrain.contracts.sandbox_runs import Entry, File, Folder, SymbolicLink
from simtrain.files.file_bytes import file_bytes
from simtrain.values.errors import InputError

MOST_BYTES = 64 << 20
MOST_FILES = 10_000


class HostFolder:
    """Gathers entries by the paths that they get. Raises InputError beyond MOST_BYTES or MOST_FILES in all."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._size = 0

    def add(self, path: Path, goal: str, *, mode: int | None = None) -> None:
        """Add a file, or a folder with what is in it. `mode` replaces that of files. Raises InputError."""
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            self.entries[goal] = SymbolicLink(str(path.readlink()))
        elif stat.S_ISDIR(status.st_mode):
            self.entries.setdefault(goal, Folder())
            for inner in sorted(path.iterdir()):
                self.add(inner, f"{goal.rstrip('/')}/{inner.name}", mode=mode)
        elif stat.S_ISREG(status.st_mode):
            self._size += status.st_size
            if self._size > MOST_BYTES or len(self.entries) >= MOST_FILES:
                raise InputError(
                    f"there are more than {MOST_BYTES >> 20} MiB or {MOST_FILES:,} files up to here",
                    remedy="take less, or play the folder where Docker is",
                    file=path,
                )
            self.entries[goal] = File(file_bytes(path), mode or (0o755 if status.st_mode & 0o100 else 0o644))
        else:
            raise InputError("is neither a file nor a folder", remedy="remove it", file=path)


def folder_entries(folder: Path, goal: str) -> dict[str, Entry]:
    """Return a folder and what is in it, by the paths below `goal`. Raises InputError."""
    gathering = HostFolder()
    gathering.add(folder, goal)
    return gathering.entries
