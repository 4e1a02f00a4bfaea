"""Defects for a good proposal of `mcp-todo`, one at a time: what to change in its text, and the objection that must come of it."""

# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """A change of a proposal, and the check, the tool and the words of the objection that names it."""

    name: str
    old: str
    new: str
    check: str
    tool: str | None
    words: str


GET = 'refuse: [{unless: "select 1 from tasks where id = :id", error: Task not found, error_as: result}]\n    read:'
LIST = '    text: "{{ items | tojson(indent=2) }}"'
TABLES = "tools:\n  - name: task_create\n"

DEFECTS = (
    Defect("no YAML", "schema: |\n", "schema: [\n", "form", None, "not YAML"),
    Defect("far too long", "schema: |\n", f"schema: |\n  -- {'x' * 200_000}\n", "form", None, "200000 at most"),
    Defect("a bomb of aliases", "tools:\n  - name", "rows:\n  a: &a [" + "x, " * 500 + "x]\n" + "".join(
        f"  {name}: &{name} [" + f"*{old}, " * 60 + f"*{old}]\n" for old, name in ("ab", "bc", "cd")) + "tools:\n  - name",
        "form", None, "expands to more than"),
    Defect("a tag of Python", "tools:\n  - name", "rows: !!python/object/apply:os.system [id]\ntools:\n  - name", "form", None, "the tag"),
    Defect("a part that is not its to say", "schema: |\n", "manifest: /etc/passwd\nschema: |\n", "form", None, "the key 'manifest' is not allowed"),
    Defect("rows without end", TABLES, "rows: {tasks: {count: 1000000000}}\n" + TABLES, "form", None, "rows are lists of rows"),
    Defect("a handler", '    write: ["delete from tasks where id = :id"]\n', "    handler: memory_read_graph\n", "form", None, "the key 'handler' is not allowed"),
    Defect("a tool that the server lacks", "  - name: task_delete\n", "  - name: task_remove\n", "form", None, "the server has no tool 'task_remove'"),
    Defect("a tool left out", "  - name: task_delete\n", "  - name: task_get\n    open: later\n  - name: task_delete\n", "form", None, "the tool 'task_get' appears twice"),
    Defect("a column that is not there", "select id, name, desc, tags as", "select id, title, desc, tags as", "load", "task_get", "no such column: title"),
    Defect("SQL that is none", "delete from tasks where id = :id", "delete tasks where id = :id", "load", "task_delete", "syntax error"),
    Defect("another database", '["delete from tasks where id = :id"]', "[\"attach database '/etc/passwd' as other\"]", "load", "task_delete", "may not do this"),
    Defect("a template that reaches for Python", "Task deleted successfully", "\"{{ ''.__class__.__mro__ }}\"", "replay", "task_delete", "is unsafe"),
    Defect("SQL without end", "delete from tasks where id = :id",
        "delete from tasks where id in (with recursive n(i) as (select 1 union all select i + 1 from n) select i from n)",
        "replay", "task_delete", "the draft breaks down"),
    Defect("a delete that deletes nothing", "delete from tasks where id = :id", "delete from tasks where id = -:id", "held out", "task_list", 'with {"status":"all"}'),
    Defect("a refusal that is missing", GET, "read:", "replay", "task_get", "Task not found"),
    Defect("a refusal in other words", "Error: Task with ID {{ id }} not found", "Error: there is no task {{ id }}", "replay", "task_update", "content[0].text: other text"),
    Defect("an id that is always the same", "coalesce(max(id), 0) + 1 from tasks", "count(*) * 0 + 41 from tasks", "replay", "task_create", "content[0].text: other text"),
    Defect("a filter without effect", "and (:priority is null or priority = :priority)", "", "replay", "task_list", '"priority":"high"'),
    Defect("a search without effect", "(:keyword is null or instr(lower(name), lower(:keyword)) > 0 or", "(1 or", "replay", "task_list", '"keyword":'),
    Defect("an update that keeps the old name", "name = coalesce(:name, name)", "name = name", "replay", "task_get", "other text"),
    Defect("structured content that the server does not give", LIST + "\n    structured: false", LIST, "replay", "task_list", "structuredContent: only in the draft"),
    Defect("an order without effect", "case when :orderby = 'id' and :order = 'desc' then id end desc, ", "", "replay", "task_list", '"orderby":"id"'),
    Defect("replies known by heart", "select id, name, desc", "select id, case id when 1 then 'Buy flour' else name end as name, desc", "read after write", "task_get", 'with {"id":1}'),
    Defect("a word written whatever is given", ":name, :desc, :tags", "iif(:name like 'Buy flour%', 'Buy flour', :name), :desc, :tags", "read after write", "task_get", "with other words in the recorded calls"),
)  # fmt: skip
