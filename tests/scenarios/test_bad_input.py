"""Bad input of every kind ends with exit code 2 and one line that names file, line, place, problem and remedy; nothing is left behind."""

# ruff: noqa: E501 (the table is read by its lines)

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from simtrain.cli import main
from simtrain.testing import FakeOpenAI

pytestmark = pytest.mark.slow

WORLD = """\
kind: service
name: shelf
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
schema: |
  create table items (id text primary key, name text not null, price integer not null, sold integer not null default 0);
  create table sales (id text primary key, item_id text not null references items);
rows:
  items: {count: 6, with: {id: "I{seq:02}", name: {text: ["lamp {seq}"]}, price: {int: [100, 900]}}}
tools:
  - name: items.list
    description: List all items.
    input: {}
    read: {items: "select id, name, price from items order by id"}
    page: 4
  - name: items.sell
    description: Sell an item.
    input: {item_id: {type: string}}
    let: {price: "select price from items where id = :item_id"}
    refuse:
      - {unless: "select 1 from items where id = :item_id", error: "There is no item {{ item_id }}."}
    ids: {sale: "S{seq:02}"}
    write:
      - update items set sold = 1 where id = :item_id
      - insert into sales values (:sale, :item_id)
    read: {one: "select id, price from items where id = :item_id"}
"""

SCENARIO = """\
name: sell
world: shelf.yaml
prompt: "Sell {{ name }} and tell me its price."
cases:
  sql: select name, id as item, price as cost from items order by id
tools: ["items.*"]
world_models:
  - {tools: "*", use: embedded}
perturbations:
  - {use: latency, with: {seconds: 3}, when: {tools: "items.*", nth: 1}}
reference:
  steps:
    - {call: items.list, as: list, pages: items}
    - {set: {wanted: "{{ list['items'] | selectattr('name', 'equalto', name) | first }}"}}
    - {call: items.sell, with: {item_id: "{{ wanted.id }}"}, as: sold}
  answer: "{{ sold.price }}"
rubric:
  - use: final_state
    with: {expect: ["select sold from items where id = :item"], changes_only: [items.sold, sales]}
  - use: answer
    with: {sql: "select price from items where id = :item", as: number}
limits: {turns: 9, calls: 9}
"""

RUN = ("run", "sell.yaml", "--agent", "oracle", "--out", "out")


@dataclass(frozen=True)
class Bad:
    """One bad input: what is changed in the good files, the command, and what the line must say.

    `at` is text on the line of the file that must be named; without it only the file's name is looked for in `says`.
    """

    name: str
    says: tuple[str, ...]
    world: tuple[str, str] = ("", "")
    scenario: tuple[str, str] = ("", "")
    at: str | None = None
    words: tuple[str, ...] = RUN
    files: dict[str, str] = field(default_factory=dict[str, str])


def in_world(name: str, old: str, new: str, *says: str, at: str | None = None) -> Bad:
    """A world with one thing changed; the line is that of the change unless `at` says otherwise."""
    return Bad(f"world: {name}", says, world=(old, new), at=new.splitlines()[0] if at is None else at)


def in_scenario(name: str, old: str, new: str, *says: str, at: str | None = None) -> Bad:
    """A scenario with one thing changed; the line is that of the change unless `at` says otherwise."""
    return Bad(f"scenario: {name}", says, scenario=(old, new), at=new.splitlines()[0] if at is None else at)


def on_command(name: str, words: str, *says: str) -> Bad:
    """Good files, and a bad command."""
    return Bad(f"command: {name}", says, words=tuple(words.split()))


SELL = "update items set sold = 1 where id = :item_id"
LIST = "select id, name, price from items order by id"

TABLE = [
    # Keys and types.
    in_scenario("an unknown key", "limits: {", "limit: {", "unknown key 'limit'", "did you mean 'limits'?"),
    in_scenario("an unknown key inside", "limits: {turns: 9", "limits: {turn: 9", "limits", "unknown key 'turn'", "did you mean 'turns'?"),
    in_scenario("a key that is missing", "world: shelf.yaml\n", "", "the key 'world' is missing", at="name: sell"),
    in_scenario("a wrong type", "turns: 9", "turns: many", "limits.turns", "integer", "'many'"),
    in_scenario("a bad limit", "turns: 9", "turns: 0", "limits.turns", "greater than"),
    in_scenario("a bad name", "name: sell", "name: Sell It", "name", "is not a name", "small letters"),
    in_world("an unknown key", "    page: 4", "    pages: 4", "tools[0]", "unknown key 'pages'", "did you mean 'page'?"),
    in_world("a wrong type", "    page: 4", "    page: four", "tools[0].page", "integer"),
    in_world("an unknown kind", "kind: service", "kind: servise", "kind", "unknown world 'servise'", "did you mean 'service'?"),
    in_world("no kind", "kind: service\n", "", "a world file begins with `kind:`", at="name: shelf"),
    in_world("a bad clock", "per_step: 20s", "per_step: soon", "clock.per_step", "soon"),
    in_world("no tools", WORLD[WORLD.index("tools:") :], "tools: []\n", "tools"),
    # Plug-ins of each kind.
    in_scenario("a misspelt grader", "use: final_state", "use: final_sate", "rubric[0].use", "unknown grader 'final_sate'", "did you mean 'final_state'?"),
    in_scenario("a misspelt perturbation", "use: latency", "use: latensy", "perturbations[0].use", "unknown perturbation", "did you mean 'latency'?"),
    in_scenario("a misspelt world model", "use: embedded", "use: embeded", "world_models[0].use", "unknown world model", "did you mean 'embedded'?"),
    in_scenario("a misspelt paradigm", "name: sell", "paradigm: impersonate\nname: sell", "paradigm", "unknown paradigm", "did you mean 'impersonation'?"),
    in_scenario("a misspelt domain", "name: sell", "domain: mpc\nname: sell", "domain", "unknown domain", "did you mean 'mcp'?"),
    in_scenario("a misspelt pack", "  - {use: latency, with: {seconds: 3}, when: {tools: \"items.*\", nth: 1}}", "  - uncertain_write", "perturbations[0]", "uncertain_write", "did you mean 'uncertain_writes'?"),
    in_scenario("a misspelt world", "world: shelf.yaml", "world: helpdsk", "world", "unknown world 'helpdsk'", "did you mean 'helpdesk'?"),
    in_scenario("a world that is not there", "world: shelf.yaml", "world: shelves.yaml", "world", "there is no file shelves.yaml"),
    in_scenario("an unknown knob", "as: number}", "form: number}", "rubric[1].with", "unknown key 'form'"),
    in_scenario("a knob of the wrong type", "seconds: 3", "seconds: -3", "perturbations[0].with.seconds", "greater than or equal to 0"),
    in_world("a misspelt handler", '    read: {items: "' + LIST + '"}\n    page: 4', "    handler: cheapest", "tools[0].handler", "unknown handler 'cheapest'", at="handler: cheapest"),
    # SQL that does not compile.
    in_world("SQL of the schema", "create table sales (id text primary key,", "create table sales (id text primary kay,", "schema", "syntax error"),
    in_world("a schema that does not end", "references items);", "references items)", "schema", "semicolon", at="schema:"),
    in_world("a table without rowid", "references items);", "references items) without rowid;", "schema", "rowid", at="schema:"),
    in_world("rows of no table", "  items: {count", "  item: {count", "rows.item", "there is no table 'item'", "did you mean 'items'?"),
    in_world("rows with no such column", "price: {int", "prise: {int", "no column 'prise'", "did you mean 'price'?"),
    in_world("a row that the schema refuses", "price: {int: [100, 900]}", "price: null", "rows.items", "NOT NULL"),
    in_world("a generator that is none", "{int: [100, 900]}", "{inte: [100, 900]}", "rows.items.with.price", "not inte", "did you mean 'int'?"),
    in_world("SQL of a generator", "price: {int: [100, 900]}", 'price: {sql: "selec 1"}', "rows.items.with.price", "syntax error"),
    in_world("literal rows that are no cells", "{int: [100, 900]}", "[[1]]", "rows.items.with.price"),
    in_world("SQL afterwards", "tools:\n", "after: [updat items]\ntools:\n", "after[0]", "syntax error"),
    in_world("SQL of let", "let: {price: \"select price", "let: {price: \"select prize", "tools[1].let.price", "prize"),
    in_world("SQL of refuse", 'unless: "select 1 from items', 'unless: "select 1 from item', "tools[1].refuse[0]", "no such table"),
    in_world("SQL of read", "select id, name, price from items order by id", "select id, nam, price from items order by id", "tools[0].read", "no such column"),
    in_world("SQL of write", SELL, "update items set sold to 1 where id = :item_id", "tools[1].write[0]", "syntax error"),
    in_scenario("SQL of the cases", "sql: select name,", "sql: select nam,", "cases.sql", "no such column"),
    in_scenario("SQL of the cases that writes", "sql: select name, id as item, price as cost from items order by id", "sql: delete from items", "cases.sql"),
    in_scenario("two statements in the cases", "from items order by id", "from items; select 1", "cases.sql", "one statement"),
    in_scenario("two statements in a grader", "select price from items where id = :item", "select 1; select 2", "rubric[1].with.sql", "one statement"),
    in_scenario("SQL of a grader", "select price from items where id = :item", "select prize from items where id = :item", "rubric[1].with.sql", "no such column"),
    in_scenario("a predicate of a grader", "select sold from items", "select sold, id from items", "rubric[0].with.expect[0]", "one value"),
    in_scenario("a grader's unknown parameter", "price from items where id = :item", "price from items where id = :itm", "rubric[1].with.sql", ":itm", "did you mean 'item'?"),
    in_scenario("a grader's unknown table", "items.sold, sales", "items.sold, sale", "rubric[0].with.changes_only[1]", "no table 'sale'", "did you mean 'sales'?"),
    in_world("literal rows that are no cells", '{count: 6, with: {id: "I{seq:02}", name: {text: ["lamp {seq}"]}, price: {int: [100, 900]}}}', "[{id: I01, name: [a], price: 1}]", "rows.items[0].name", "a cell is", at="  items: ["),
    in_world("a negative count", "count: 6", "count: -6", "rows.items.count", "greater than or equal to 0"),
    in_world("a range the wrong way round", "{int: [100, 900]}", "{int: [900, 100]}", "rows.items.with.price", "runs backwards"),
    in_world("a range of one number", "{int: [100, 900]}", "{int: 5}", "rows.items.with.price"),
    in_world("weights that do not fit", "{int: [100, 900]}", "{choose: [1, 2], weights: [1]}", "rows.items.with.price"),
    in_world("a choice of nothing", "{int: [100, 900]}", "{choose: []}", "rows.items.with.price"),
    in_world("a reference to nothing", "{int: [100, 900]}", "{ref: item.id}", "rows.items.with.price"),
    in_world("a reference that is no text", "{int: [100, 900]}", "{ref: 3}", "rows.items.with.price"),
    in_world("a text that is no text", "{int: [100, 900]}", "{text: [3]}", "rows.items.with"),
    in_world("a date that is none", "{int: [100, 900]}", "{date: [start, tomorrow]}", "rows.items.with.price"),
    in_world("hours that are none", "{int: [100, 900]}", "{time: [start-1d, start], hours: nine}", "rows.items.with.price"),
    in_world("an email of nothing", "{int: [100, 900]}", "{email: 3}", "rows.items.with.price"),
    in_world("a count the wrong way round", "count: 6", "count: [6, 2]", "rows.items.count", "lower end"),
    in_world("weights that are no numbers", "{int: [100, 900]}", "{choose: [1, 2], weights: [a, b]}", "rows.items.with.price"),
    in_world("digits that are no number", "{int: [100, 900]}", "{number: [1, 2], digits: two}", "rows.items.with.price", "cannot be used"),
    in_world("a grid of nothing", "{int: [100, 900]}", "{time: [start-1d, start], minutes: 0}", "rows.items.with.price", "fails"),
    in_world("a time beyond time", "{int: [100, 900]}", "{time: [start, start+99999999d]}", "rows.items.with.price"),
    in_world("a value that is a list", "{int: [100, 900]}", "{value: [1]}", "rows.items.with"),
    in_world("two statements in a generator", "{int: [100, 900]}", '{sql: "select 1; select 2"}', "rows.items.with.price", "one statement"),
    in_world("two statements afterwards", "tools:\n", "after: [delete from sales; delete from items]\ntools:\n", "after[0]", "one statement"),
    in_world("a chance of text", "{int: [100, 900]}", "{chance: often}", "rows.items.with.price"),
    in_world("a null share of text", "{int: [100, 900]}", "{int: [1, 2], null: often}", "rows.items.with.price"),
    in_world("a field that is none", "lamp {seq}", "lamp {sq}", "rows.items.with.name", "unknown field {sq}", "did you mean 'seq'?"),
    in_world("rows of each nothing", "count: 6,", "each: shelves,", "rows.items.each", "shelves"),
    in_world("a condition that does not compile", "count: 6,", "each: items, where: selec,", "rows.items"),
    in_world("too many rows", "count: 6,", "count: 500000,", "rows.items.count", "200000"),
    # Tools.
    in_world("an argument that is no schema", "{item_id: {type: string}}", "{item_id: 3}", "tools[1].input.item_id", "JSON Schema"),
    in_world("a schema in another file", "{item_id: {type: string}}", '{item_id: {$ref: "file:///etc/hostname"}}', "tools[1].input", "nothing outside itself"),
    in_world("a pattern that is none", "{item_id: {type: string}}", '{item_id: {type: string, pattern: "("}}', "tools[1].input.item_id.pattern"),
    in_world("a reply that is no query", "read: {items: " + f'"{LIST}"' + "}", "read: {items: 3}", "tools[0].read", "a query is SQL"),
    in_world("a reply of two shapes", "read: {one: ", "read: {value: select 1, one: ", "tools[1].read", "exactly one"),
    in_world("a page without a list", "read: {items: " + f'"{LIST}"' + "}", 'read: {one: "select 1 as a"}', "tools[0].read", "`page` needs a list"),
    in_world("a limit where pages are", LIST, LIST + " limit 3", "tools[0].read", "syntax error"),
    in_world("two columns of one name", LIST, "select id, id from items order by id", "tools[0].read", "two columns"),
    in_world("a refusal without a condition", 'unless: "select 1 from items where id = :item_id", ', "", "tools[1].refuse[0]", "either `if` or `unless`", at='      - {error: "There'),
    in_world("a refusal of two conditions", "{unless:", '{if: "select 1", unless:', "tools[1].refuse[0]", "either `if` or `unless`"),
    in_world("a service text that names too much", "tools:\n", 'errors: {check: "{what.__class__}"}\ntools:\n', "errors.check", "{what} only"),
    in_world("a service text that pads", "tools:\n", 'errors: {unknown_tool: "{tool:>1000000000}"}\ntools:\n', "errors.unknown_tool", "{tool} only"),
    in_world("a tool's text that does not close", "    page: 4", '    page: 4\n    errors: {unique: "{what"}', "tools[0].errors.unique", at="    errors:"),
    in_world("a tool without a name", "- name: items.sell\n    description", "- description", "tools[1]", "the key 'name' is missing"),
    in_world("a bad tool name", "name: items.sell", "name: items.sell.all", "tools[1].name", "pattern"),
    in_world("two statements in one", SELL, SELL + "; delete from sales", "tools[1].write[0]"),
    in_world("a read that writes", LIST, "delete from items returning id", "tools[0].read", "may not", "`write`"),
    in_world("a tool without a statement", f'    read: {{items: "{LIST}"}}\n    page: 4\n', "", "tools[0]", "no statement", "add read, write or handler", at="- name: items.list"),
    in_world("a parameter that the schema lacks", SELL, "update items set sold = 1 where id = :item", "tools[1].write[0]", "nothing binds the parameter :item", "did you mean 'item_id'?"),
    in_world("a positional parameter", SELL, "update items set sold = 1 where id = ?", "tools[1].write[0]", "positional"),
    in_world("a text that names nothing", "no item {{ item_id }}", "no item {{ item }}", "tools[1].refuse[0].error", "'item'", "did you mean 'item_id'?"),
    in_world("a template that does not parse", "no item {{ item_id }}", "no item {{ item_id", "tools[1].refuse[0].error", "does not parse"),
    in_world("an input that is no schema", "{item_id: {type: string}}", "{item_id: {type: strin}}", "tools[1].input.item_id.type", "not a JSON Schema", "strin"),
    in_world("two tools of one name", "name: items.sell", "name: items.list", "tools[1].name", "appears twice", "rename one", at="  - name: items.list\n    description: Sell"),
    # What SQL of a world may not do.
    in_world("ATTACH", "  create table sales", "  attach 'x.db' as x;\n  create table sales", "schema", "not allowed"),
    in_world("PRAGMA", "  create table sales", "  pragma writable_schema = on;\n  create table sales", "schema", "not allowed"),
    in_world("load_extension", LIST, "select load_extension('x') as id", "tools[0].read", "may not"),
    in_world("random", LIST, "select random() as id", "tools[0].read", "may not"),
    in_world("random rows", "price: {int: [100, 900]}", 'price: {sql: "select abs(random())"}', "rows.items.with.price"),
    in_world("the schema table", SELL, "delete from sqlite_master", "tools[1].write[0]"),
    in_world("our own tables", LIST, "select name as id from _simtrain_changes", "tools[0].read", "may not"),
    in_world("a generator without end", "{int: [100, 900]}", '{sql: "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"}', "too many steps"),
    in_scenario("a query without end", "select name, id as item", "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as", "cases.sql", at="  sql: with"),
    # Cases and plans.
    in_scenario("cases that yield nothing", "order by id\n", "where price > 1000\n", "cases", "empty", at="cases:"),
    in_scenario("cases without the same parameters", "cases:\n  sql: select name, id as item, price as cost from items order by id", "cases: [{name: a, item: I01, cost: 1}, {name: b, item: I02}]", "cases[1]", "same parameters"),
    in_scenario("cases both ways", "order by id\n", "order by id\n  rows: [{name: a}]\n", "cases", "one of", at="cases:"),
    in_scenario("a prompt that names nothing", "Sell {{ name }}", "Sell {{ nam }}", "prompt", "'nam'", "did you mean 'name'?"),
    in_scenario("a prompt that does not parse", "Sell {{ name }}", "Sell {{ name }", "prompt", "does not parse"),
    in_scenario("a prompt that sets", "Sell {{ name }}", "{% set a = 1 %}Sell {{ name }}", "prompt", "not available"),
    in_scenario("a prompt that loops", "Sell {{ name }}", "{% for a in (name * 9) | list %}x{% endfor %}", "prompt", "numbers only"),
    in_scenario("a prompt that reaches out", "Sell {{ name }}", "Sell {{ name.__class__.__mro__ }}", "prompt"),
    in_scenario("a hidden parameter in a plan", "{{ wanted.id }}", "{{ item }}", "reference.steps[2].with.item_id", "the case parameter 'item'", "look it up"),
    in_scenario("a plan's unknown name", "{{ wanted.id }}", "{{ wnted.id }}", "reference.steps[2].with.item_id", "'wnted'", "did you mean 'wanted'?"),
    in_scenario("a plan's unknown tool", "call: items.sell", "call: items.sel", "reference.steps[2].call", "'items.sel'", "did you mean 'items.sell'?"),
    in_scenario("a plan's unknown argument", "with: {item_id:", "with: {id:", "reference.steps[2].with.id", "no argument 'id'"),
    in_scenario("a plan without an argument", "call: items.sell, with: {item_id: \"{{ wanted.id }}\"}", "call: items.sell", "reference.steps[2]", "needs the argument 'item_id'"),
    in_scenario("a step that is none", "{call: items.sell,", "{cal: items.sell,", "reference.steps[2]", "'cal'", "did you mean 'call'?"),
    in_scenario("a plan with two ends", "  answer: \"{{ sold.price }}\"", "  answer: \"1\"\n  abstain: no", "reference", "not both", at="reference:"),
    in_scenario("tools that match nothing", 'tools: ["items.*"]', 'tools: ["item.*"]', "tools[0]", "no tool", "item.*"),
    in_scenario("a trigger that matches nothing", 'when: {tools: "items.*"', 'when: {tools: "item.*"', "perturbations", "matches no tool", at="perturbations:"),
    in_scenario("a probability of 2", "nth: 1", "probability: 2", "perturbations[0].when.probability", "less than or equal to 1"),
    in_scenario("a tool that nobody answers", '{tools: "*", use: embedded}', '{tools: "items.list", use: embedded}', "world_models", "no world model answers", "items.sell", at="world_models:"),
    in_scenario("a label twice", "  - use: answer\n", "  - use: final_state\n    with: {changes_only: [items, sales]}\n  - use: answer\n", "rubric", "'final_state' appears twice", "`as`", at="rubric:"),
    in_scenario("no grader", SCENARIO[SCENARIO.index("rubric:") :], "rubric: []\n", "rubric", "at least 1"),
    # YAML.
    in_scenario("a key twice", "limits: {", "name: other\nlimits: {", "the key 'name' appears twice", "keep one"),
    in_scenario("broken YAML", "cases:\n", "cases: [\n", "not YAML", at="tools:"),
    in_scenario("a tag", "name: sell", "name: !!python/object:os.system sell", "tag"),
    in_scenario("YAML that holds itself", "name: sell", "description: &a [*a]\nname: sell", "refers to itself"),
    in_scenario("a tag on a list", "tools: [", "tools: !!set [", "tag"),
    in_scenario("half a character", "name: sell", 'description: "\\ud800"\nname: sell', "", at="description:"),
    in_scenario("a number without end", "seconds: 3", "seconds: 1e999", "the number 1e999 is too large"),
    in_scenario("a knob without end", "seconds: 3", "seconds: inf", "perturbations[0].with.seconds", "finite"),
    in_scenario("two documents", "limits:", "---\nlimits:", "not YAML", at="---"),
    Bad("scenario: no mapping", ("sell.yaml:1", "mapping"), files={"sell.yaml": "- a\n- b\n"}),
    Bad("scenario: empty", ("sell.yaml:1", "mapping"), files={"sell.yaml": ""}),
    Bad("scenario: nested too deeply", ("sell.yaml:1", "nested too deeply"), files={"sell.yaml": "a: " + "[" * 500 + "]" * 500}),
    Bad("scenario: nested far too deeply", ("sell.yaml:1", "nested too deeply"), files={"sell.yaml": "a: " + "[" * 200_000}),
    # The command.
    on_command("an unknown scenario", "run helpdesk/refnd", "unknown scenario 'helpdesk/refnd'", "did you mean 'helpdesk/refund'?"),
    on_command("an unknown suite", "run helpdisk", "unknown scenario 'helpdisk'", "did you mean 'helpdesk'?"),
    on_command("a file that is not there", "run nothing.yaml", "there is no file nothing.yaml"),
    on_command("a folder without scenarios", "run empty", "the folder empty holds no scenario file"),
    on_command("an unknown agent", "run sell.yaml --agent orakle --out out", "unknown agent 'orakle'", "did you mean 'oracle'?"),
    on_command("an agent without a module", "run sell.yaml --agent no_such_module:agent --out out", "no_such_module"),
    on_command("an agent without its plan", "run sell.yaml --agent wrong --out out", "sell.yaml:1", "no `wrong` plan", "add one"),
    on_command("a knob without a value", "run sell.yaml --agent oracle --with retries --out out", "'retries' is not name=value", "--with temperature=0.2"),
    on_command("an unknown knob", "run sell.yaml --agent resilient --with retry=2 --out out", "agent resilient", "unknown key 'retry'", "did you mean 'retries'?"),
    on_command("a knob of the wrong type", "run sell.yaml --with retries=some --out out", "agent resilient", "integer", "'some'"),
    on_command("a knob twice", "run sell.yaml --with retries=1 --with retries=2 --out out", "--with retries is given twice"),
    on_command("no episodes", "run sell.yaml --episodes 0 --out out", "--episodes", "see simtrain run --help"),
    on_command("episodes that are no number", "run sell.yaml --episodes many --out out", "--episodes", "valid integer"),
    on_command("no concurrency", "run sell.yaml --concurrency 0 --out out", "--concurrency"),
    on_command("an unknown option", "run sell.yaml --agnet oracle --out out", "--agnet", "--agent"),
    on_command("an unknown command", "rum sell.yaml", "'rum'", "'run'"),
    on_command("nothing to run", "run", "NAME|FILE|FOLDER", "see simtrain run --help"),
    on_command("--resume without a folder", "run sell.yaml --resume", "--resume needs --out"),
    on_command("a folder under a file", "run sell.yaml --agent oracle --out sell.yaml/out", "sell.yaml/out", "cannot be written", "--out"),
    on_command("a folder that is a file", "run sell.yaml --agent oracle --out sell.yaml", "sell.yaml", "--out"),
    on_command("a name that is too long", f"run {'a' * 5000}", "too long"),
    on_command("a run to show that is none", "show empty", "empty/run.json", "not a run folder"),
    on_command("a run to grade that is none", "grade empty", "empty/run.json", "not a run folder"),
    on_command("a run to export that is none", "export empty --format steps -o rows.jsonl", "empty/run.json", "not a run folder"),
    on_command("a kind to list that is none", "list graderz", "'graderz'", "graders"),
    on_command("a schema that is none", "schema worlds", "'worlds'", "world"),
    on_command("schemas under a file", "schema -o sell.yaml/schemas", "sell.yaml/schemas", "cannot be written"),
    on_command("a starter under a file", "init sell.yaml/starter", "sell.yaml/starter", "cannot be written"),
    on_command("a family to validate that is none", "validate helpdesk/refnd", "did you mean 'helpdesk/refund'?"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a good world and a good scenario."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "shelf.yaml").write_text(WORLD)
    (tmp_path / "sell.yaml").write_text(SCENARIO)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line on standard error that a command with bad input ends with."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    out, err = capsys.readouterr()
    assert ended.value.code == 2, err or out
    assert out == ""
    assert err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1, err
    return err


def changed(text: str, change: tuple[str, str]) -> str:
    old, new = change
    assert old in text, f"the test changes {old!r}, which is not there"
    return text.replace(old, new, 1)


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.name)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    bad: Bad, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"shelf.yaml": changed(WORLD, bad.world), "sell.yaml": changed(SCENARIO, bad.scenario), **bad.files}
    for name, text in texts.items():
        (folder / name).write_text(text)
    before = sorted(folder.rglob("*"))
    line = said(capsys, *bad.words)
    for part in bad.says:
        assert part in line, line
    if bad.at is not None:
        name = "shelf.yaml" if bad.world != ("", "") else "sell.yaml"
        number = texts[name][: texts[name].index(bad.at)].count("\n") + 1
        assert f"{name}:{number}: " in line, f"line {number} expected: {line}"
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "bad",
    [bad for bad in TABLE if bad.name.startswith(("world: SQL of", "scenario: an unknown"))],
    ids=lambda bad: bad.name,
)
def test_validate_says_the_same_as_run(bad: Bad, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shelf.yaml").write_text(changed(WORLD, bad.world))
    (folder / "sell.yaml").write_text(changed(SCENARIO, bad.scenario))
    assert said(capsys, "validate", "sell.yaml") == said(capsys, *RUN)


def test_the_good_files_of_these_tests_are_good(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*RUN, "--json"])
    assert not ended.value.code
    assert '"successes"' not in capsys.readouterr().err
    assert (folder / "out" / "run.json").exists()


def test_a_file_that_is_not_utf_8_is_named_with_the_byte(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sell.yaml").write_bytes(b"name: caf\xe9\n")
    assert "sell.yaml: the file is not UTF-8 (byte 9); save it as UTF-8" in said(capsys, *RUN)


def test_a_file_of_100_megabytes_is_refused_unread(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "shelf.yaml").open("r+b") as file:
        file.truncate(100_000_000)
    assert "shelf.yaml: the file is larger than 8 MB; split it" in said(capsys, *RUN)


def test_aliases_that_multiply_are_cut_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{depth}: &a{depth} [{', '.join([f'*a{depth - 1}'] * 10)}]" for depth in range(1, 10)]
    (folder / "sell.yaml").write_text("\n".join(layers))
    assert "the file expands to more than 400000 values" in said(capsys, *RUN)


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("{% for a in many %}{% for b in many %}x{% endfor %}{% endfor %}{{ name }}", "at most 20000 loop items"),
        ("{% for a in many %}{{ long }}{% endfor %}{{ name }}", "at most 200000 characters"),
    ],
)
def test_a_prompt_without_end_is_refused_before_the_run(
    prompt: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = f"cases: [{{name: a, many: {[1] * 300}, long: {'y' * 1000}}}]\n"
    text = changed(SCENARIO, (SCENARIO[SCENARIO.index("cases:") : SCENARIO.index("tools:")], cases))
    (folder / "sell.yaml").write_text(
        changed(text, ("Sell {{ name }}", prompt)).replace(" where id = :item", "").replace("as: number", "as: set")
    )
    line = said(capsys, *RUN)
    assert "sell.yaml:3: prompt: a template" in line and says in line
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("model", "says"), [("fake-2", "did you mean 'fake'?"), ("nothing", "nothing")], ids=["misspelt", "unknown"]
)
def test_a_wrong_model_is_refused_before_the_run(
    model: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(models=["fake"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        line = said(capsys, "run", "sell.yaml", "--agent", f"chat:{model}", "--out", "out")
    assert model in line and says in line
    assert not (folder / "out").exists()


def test_a_server_that_cannot_be_reached_is_said_before_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI() as server:
        url = server.url
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert url.removesuffix("/v1") in said(capsys, "run", "sell.yaml", "--agent", "chat:fake", "--out", "out")
    assert not (folder / "out").exists()


@pytest.fixture
def played(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A finished run of six episodes."""
    with pytest.raises(SystemExit) as ended:
        main([*RUN])
    assert not ended.value.code
    capsys.readouterr()
    return folder / "out"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_folder_that_holds_a_run_is_kept(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(played)
    line = said(capsys, *RUN)
    assert "out: the folder already holds a run; add --resume" in line
    assert contents(played) == before


READERS = [
    ("show", "out"),
    ("grade", "out"),
    ("export", "out", "--format", "openai", "-o", "rows.jsonl"),
    ("run", "sell.yaml", "--agent", "oracle", "--out", "out", "--resume"),
]


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
@pytest.mark.parametrize("content", ["{", "[]", "{}", ""], ids=["broken", "list", "empty object", "empty"])
def test_a_damaged_run_json_is_named(
    content: str, words: tuple[str, ...], played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (played / "run.json").write_text(content)
    before = contents(played)
    assert "out/run.json: not " in said(capsys, *words)
    assert contents(played) == before
    assert not (played.parent / "rows.jsonl").exists()


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    "damage",
    [b'{"scenario": \n', b"[]\n", b"{}\n", b"null\n", b"\xff\xfe\n"],
    ids=["torn", "list", "object", "null", "bytes"],
)
def test_a_broken_line_in_the_middle_is_named(
    damage: bytes, words: tuple[str, ...], played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = next(played.glob("trajectories-*.jsonl"))
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join([damage, *lines[1:]]))
    before = contents(played)
    assert f"out/{part.name}:1: " in said(capsys, *words)
    assert contents(played) == before
    assert not (played.parent / "rows.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("export", "out", "--format", "opnai", "-o", "rows.jsonl"), "unknown exporter 'opnai'; did you mean 'openai'?"),
        (("export", "out", "--format", "openai", "-o", "rows.jsonl", "--with", "reson=1"), "unknown key 'reson'"),
        (("export", "out", "--format", "openai", "-o", "rows.jsonl", "--min-reward", "2"), "--min-reward 2 is not a reward"),
        (("export", "out", "--format", "openai", "-o", "rows.jsonl", "--min-reward", "1", "--max-reward", "0"), "swap"),
        (("export", "out", "--format", "openai", "-o", "rows.jsonl", "--stop", "answer"), "'answered'"),
        (("export", "out", "--format", "openai", "-o", "sell.yaml/rows.jsonl"), "sell.yaml/rows.jsonl: the file cannot be written"),
        (("export", "out", "--format", "openai", "-o", "out/run.json"), "out/run.json: this file belongs to the run"),
        (("show", "out", "c9999"), "out: no trajectory fits; it holds sell:c0000, for instance"),
    ],
)  # fmt: skip
def test_bad_words_for_a_good_run_leave_it_as_it_is(
    words: tuple[str, ...], says: str, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(played.parent)
    assert says in said(capsys, *words)
    assert contents(played.parent) == before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [("price: {int: [100, 900]}", "price: {int: [100, 901]}", "has changed since"), ("kind: service", "kind: servce", "unknown world")],
)  # fmt: skip
def test_a_run_over_another_world_is_not_graded(
    old: str, new: str, says: str, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (played.parent / "shelf.yaml").write_text(changed(WORLD, (old, new)))
    before = contents(played)
    assert says in said(capsys, "grade", "out")
    assert contents(played) == before


@pytest.mark.parametrize("words", [RUN, ("runn",), ("run", "sell.yaml", "--agent", "orakle")], ids=" ".join)
def test_the_process_ends_like_the_function(words: tuple[str, ...], folder: Path) -> None:
    (folder / "sell.yaml").write_text(SCENARIO.replace("limits:", "limit:"))
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "simtrain", *words],
        cwd=folder,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sell.yaml").write_text('"a\\nb\\e[31m": 1\n' + SCENARIO)
    line = said(capsys, *RUN)
    assert "\x1b" not in line and "unknown key" in line
