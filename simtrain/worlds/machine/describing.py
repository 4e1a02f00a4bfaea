"""Machines in words, for the prompt of a language world model: users, processes, services and files, with what small files hold."""

import re
from collections.abc import Callable, Iterator
from posixpath import split

from simtrain.values.types import JsonObject
from simtrain.worlds.machine.programs import is_program

MOST = 24_000
"""Most characters of the contents of files, all machines together."""
LARGEST = 2_000
"""Most characters of one file that is shown whole; of a larger one only its first lines are."""
HEAD = 300
MOST_FILES = 400

_PARTS = (
    ("Users", "select name || ' uid=' || uid || ' home=' || home || case sudo when 1 then ' sudo' else '' end as line "
     "from users where host = :host order by uid"),
    ("Processes", "select pid || ' ' || user || ' ' || command || coalesce(' port=' || port, '') as line "
     "from processes where host = :host order by pid"),
    ("Services", "select name || ' ' || state || ' ' || case enabled when 1 then 'enabled' else 'disabled' end || ' ' || command "
     "|| coalesce(' port=' || port, '') as line from services where host = :host order by name"),
    ("Crontab", "select user || ': ' || schedule || ' ' || command as line from crontab where host = :host order by user, schedule"),
    ("Packages", "select manager || ' ' || name || ' ' || version as line from packages where host = :host order by manager, name"),
)  # fmt: skip
_FILES = """
    select path, kind, mode, owner, "group", size, modified, content, target from files where host = :host order by path
"""

_INSIDE_GIT = re.compile(r"/\.git/(objects|hooks|info|branches|description|index)(/|$)")
"""What says nothing in words of a repository; its refs and logs do."""


def described(hosts: list[str], query: Callable[[str, JsonObject], list[JsonObject]]) -> str:
    """Return a few lines about each machine, the agent's first. `query` asks the tables of the world."""
    left = [MOST]
    return "\n\n".join("\n".join(_lines(host, query, left)) for host in hosts)


def _lines(host: str, query: Callable[[str, JsonObject], list[JsonObject]], left: list[int]) -> Iterator[str]:
    yield f"Machine {host}"
    for title, sql in _PARTS:
        rows = query(sql, {"host": host})
        if rows:
            yield f"{title}:"
            yield from (f"  {row['line']}" for row in rows)
    files, programs = list[JsonObject](), dict[str, list[str]]()
    for row in query(_FILES, {"host": host}):
        if is_program(str(row["content"]).encode(errors="replace")):
            folder, name = split(str(row["path"]))
            programs.setdefault(folder, []).append(name)
        elif not _INSIDE_GIT.search(str(row["path"])):
            files.append(row)
    for folder, names in programs.items():
        yield f"Programs in {folder}: {' '.join(names)}"
    yield "Files:"
    for row in files[:MOST_FILES]:
        target = f" -> {row['target']}" if row["target"] else ""
        kind = {"directory": "d", "link": "l", "device": "c"}.get(str(row["kind"]), "-")
        yield f"  {kind}{row['mode']} {row['owner']}:{row['group']} {row['size']} {row['modified']} {row['path']}{target}"
    if len(files) > MOST_FILES:
        yield f"  and {len(files) - MOST_FILES} more"
    for row in files:
        text = row["content"]
        if row["kind"] == "file" and isinstance(text, str) and text and left[0] > 0:
            shown = text if len(text) <= LARGEST else text[:HEAD]
            left[0] -= len(shown)
            yield f"--- {row['path']}{'' if shown == text else f' (its first {HEAD} of {len(text)} characters)'}"
            yield shown.rstrip("\n")
