"""What pip leaves of a package beside its modules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_entry_points(folder: Path, groups: Mapping[str, Mapping[str, str]], *, name: str = "documented") -> None:
    """Write the name and the entry points of a package, so that it counts as installed where the folder is on the path."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{point} = {value}\n" for point, value in table.items())
        for group, table in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
