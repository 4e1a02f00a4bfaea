"""The templates of the viewer and of reports, with the functions that they call."""

from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from jinja2 import Environment

from simtrain.files.pages.templates import templates
from simtrain.values.types import encode
from simtrain.view.addresses import page_address, row_address, trajectory_address
from simtrain.view.shown_answer import answer_table, other_details
from simtrain.view.shown_episode import changed_rows, pretty
from simtrain.view.shown_page import page_markdown

HERE = Path(__file__).parent


@cache
def viewer_templates() -> Environment:
    """Return the templates."""
    found = templates(HERE / "templates")
    names: dict[str, Any] = {
        "id": id,
        "encode": encode,
        "pretty": pretty,
        "answer_table": answer_table,
        "other_details": other_details,
        "changed_rows": changed_rows,
        "markdown": page_markdown,
        "episode_address": row_address,
        "trajectory_address": trajectory_address,
        "page_address": page_address,
        "quoted": quote,
    }
    found.globals.update(names)
    return found
