"""The disk below the files of a machine."""

from dataclasses import dataclass


@dataclass(slots=True)
class Disk:
    """A disk: its size, the largest file that it takes, in bytes, and directories that are mounted read-only."""

    size: int = 20_000_000_000
    largest_file: int = 3_000_000
    read_only: tuple[str, ...] = ()

    def is_locked(self, path: str) -> bool:
        """True below a directory that is mounted read-only; /run has a disk of its own."""
        if not self.read_only:
            return False
        locked = [mount for mount in self.read_only if f"{path}/".startswith(f"{mount.rstrip('/')}/")]
        return bool(locked) and (locked != ["/"] or not f"{path}/".startswith("/run/"))
