"""Scratch: files that whoever works in a shell may make, and that are no change of a machine."""

from simtrain.values.types import Changes, JsonObject

SCRATCH = ("/tmp/", "/var/tmp/")
CACHES = ("/__pycache__", "/.pytest_cache")


def without_scratch(changes: Changes) -> Changes:
    """Return changes without new files below /tmp, and without new caches of Python: whoever works in a shell may make some."""
    files = changes.get("files", ())
    kept = tuple(change for change in files if change.before is not None or not _is_scratch(change.after))
    if len(kept) == len(files):
        return changes
    others = {table: rows for table, rows in changes.items() if table != "files"}
    return dict(sorted({**others, **({"files": kept} if kept else {})}.items()))


def _is_scratch(row: JsonObject | None) -> bool:
    if row is None:
        return False
    path = str(row["path"])
    return path.startswith(SCRATCH) or any(f"{cache}/" in f"{path}/" for cache in CACHES)
