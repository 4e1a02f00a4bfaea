"""The files of a report: drill.json for programs and drill.html for people."""

from __future__ import annotations

from pathlib import Path

from simtrain.drilling.page import page
from simtrain.drilling.report import Report
from simtrain.lines import write_whole

JSON_FILE = "drill.json"
PAGE_FILE = "drill.html"


def write_report(report: Report, folder: Path) -> Path:
    """Write both files into a folder; the page's path. Raises InputError when they cannot be written."""
    write_whole(folder / JSON_FILE, report.facts())
    write_whole(folder / PAGE_FILE, page(report))
    return folder / PAGE_FILE
