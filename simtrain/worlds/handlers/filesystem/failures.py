"""The messages of failed file operations, in Node's words."""

from collections.abc import Mapping

from simtrain.contracts.handler import ToolError

_MEANINGS: Mapping[str, str] = {
    "EEXIST": "file already exists",
    "EINVAL": "invalid argument",
    "EISDIR": "illegal operation on a directory",
    "ELOOP": "too many symbolic links encountered",
    "ENAMETOOLONG": "name too long",
    "ENOENT": "no such file or directory",
    "ENOTDIR": "not a directory",
}


class FileSystemFailure(ToolError):
    """A system call that fails: `ENOENT: no such file or directory, open '/projects/x'`."""

    def __init__(self, code: str, operation: str, path: str | None = None, target: str | None = None) -> None:
        """Leave `path` out for a call on an open file, and `target` for a call on one path."""
        places = "" if path is None else f" '{path}'" if target is None else f" '{path}' -> '{target}'"
        super().__init__(f"{code}: {_MEANINGS[code]}, {operation}{places}")
        self.code = code
