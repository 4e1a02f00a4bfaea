"""The files of a report: drill.json for programs and drill.html for people."""

from __future__ import annotations

from pathlib import Path

from simtrain.drills.page import page
from simtrain.drills.report import Report
from simtrain.files.jsonl import write_whole


def write_report(report: Report, folder: Path, *, stem: str = "drill") -> Path:
    """Write both files, named `stem`, into a folder and return the page's path. Raises InputError when they cannot be written."""
    write_whole(folder / f"{stem}.json", report.facts())
    write_whole(folder / f"{stem}.html", page(report))
    return folder / f"{stem}.html"
