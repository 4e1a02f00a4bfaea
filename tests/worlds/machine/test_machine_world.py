"""A machine world in an episode: the shell and SQL over the same files, forks, changes, limits, and mistakes in its file."""

from pathlib import Path

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.values.types import Observation
from simtrain.world_models.domains.terminal import TerminalDomain
from simtrain.world_models.embedded import Embedded
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld

FILE = """
kind: machine
name: bench
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users:
  ann: {groups: [adm], sudo: true}
  bob: {}
schema: |
  create table notes (name text primary key, text text not null);
rows:
  notes: [{name: one, text: first}, {name: two, text: second}]
files:
  - {path: /srv/notes, directory: true, owner: ann}
  - each: select name, text from notes order by name
    path: /srv/notes/{{ name }}.txt
    lines: select text from notes where name = :name
    owner: ann
  - {path: /srv/locked/key, content: "secret\\n", mode: "0600"}
  - {path: /srv/raw, template: "{{ host }} {{ rows | length }}", rows: select name from notes}
  - {path: /srv/link, link: notes/one.txt}
  - {path: /var/big.log, content: "head\\n", size: 3G, modified: 2031-02-01T00:00:00Z}
services:
  web: {command: /usr/bin/web, port: 8080, user: bob}
commands:
  note: {sql: "select text from notes where name = :a1"}
  hello: {template: "hello {{ arguments | join(' ') }} at {{ now }}"}
disk: {size: 4G, read_only: [/srv/locked]}
"""


def world(text: str = FILE) -> MachineWorld:
    found = MachineSource.load(parse_document(text, Path("bench.yaml"))).build()
    assert isinstance(found, MachineWorld)
    return found


def type_in(state: MachineState, command: str, **arguments: float) -> Observation:
    return state.answer(Request(state.world.tools[0], {"command": command, **arguments}, 0, 0))


def test_files_are_made_from_rows_and_seen_by_the_shell() -> None:
    state = world().open()
    assert (
        type_in(state, "cat /srv/notes/one.txt /srv/link /srv/raw; ls /srv/notes").text
        == "first\nfirst\noak 2one.txt\ntwo.txt"
    )
    assert type_in(state, "stat -c '%U %a' /srv/notes/two.txt").text == "ann 644"


def test_what_tools_leave_in_a_folder_is_no_part_of_the_world(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.txt").write_text("page\n")
    text = FILE.replace("files:\n", "files:\n  - {path: /srv/site, folder: site, owner: ann}\n")

    def made() -> tuple[str, list[str]]:
        source = MachineSource.load(parse_document(text, tmp_path / "bench.yaml"))
        rows = source.build().query("select path from files where path like '/srv/site/%' and kind = 'file'")
        return source.digest, [str(row["path"]) for row in rows]

    before = made()
    assert before[1] == ["/srv/site/page.txt"]
    for name in ("__pycache__/page.cpython-311.pyc", ".pytest_cache/CACHEDIR.TAG", "deep/.ruff_cache/0.17/x"):
        (tmp_path / "site" / name).parent.mkdir(parents=True)
        (tmp_path / "site" / name).write_bytes(b"left")
    assert made() == before
    (tmp_path / "site" / "deep" / "more.txt").write_text("more\n")
    assert made()[1] == ["/srv/site/deep/more.txt", "/srv/site/page.txt"]


def test_scenarios_that_configure_a_machine_differ_in_what_they_set_alone() -> None:
    source = MachineSource.load(parse_document(FILE, Path("bench.yaml")))
    typed = source.configured(parse_document("{}", Path("case.yaml")), {"actions": "keystrokes"}, ())
    first, second = source.build(), typed.build()
    assert [tool.name for tool in first.tools][:1] == ["bash"] and [tool.name for tool in second.tools] != ["bash"]
    assert (first.digest, second.digest) == (source.digest, typed.digest) and source.digest != typed.digest
    for one, other in ((first, second), (second, first)):
        one.open().execute("delete from notes")
        assert other.open().query("select count(*) as n from notes") == [{"n": 2}]


def test_what_a_command_writes_is_what_sql_reads() -> None:
    state = world().open()
    type_in(
        state,
        "echo third > /srv/notes/one.txt; rm /srv/notes/two.txt; sudo chown bob /var/big.log; head -c 3 /dev/zero > ~/zeros",
    )
    rows = state.query(
        "select path, owner, content, base64 from files where path like '/srv/notes/%' or path like '/home/ann/z%'"
    )
    assert rows == [
        {"path": "/srv/notes/one.txt", "owner": "ann", "content": "third\n", "base64": None},
        {"path": "/home/ann/zeros", "owner": "ann", "content": None, "base64": "AAAA"},
    ]
    changed = {(change.after or change.before or {})["path"]: change for change in state.changes()["files"]}
    assert set(changed) == {"/srv/notes/one.txt", "/srv/notes/two.txt", "/var/big.log", "/home/ann/zeros"}
    assert changed["/srv/notes/two.txt"].after is None and changed["/home/ann/zeros"].before is None


def test_what_sql_writes_is_what_the_shell_reads_and_the_shell_keeps_its_place() -> None:
    state = world().open()
    type_in(state, "cd /srv/notes; x=7")
    state.execute("update files set content = 'by sql' where path = '/srv/notes/one.txt'")
    assert type_in(state, "pwd; echo $x; cat one.txt").text == "/srv/notes\n7\nby sql"


def test_a_fork_goes_its_own_way_with_files_rows_clock_and_shell() -> None:
    state = world().open()
    type_in(state, "cd /srv/notes; echo a > a.txt")
    fork = state.fork()
    type_in(fork, "sleep 60; cd /; echo b > ~/b.txt")
    type_in(state, "rm a.txt")
    assert type_in(fork, "pwd; cat /srv/notes/a.txt").text == "/\na"
    assert type_in(state, "pwd; ls ~").text == "/srv/notes"
    assert (state.clock.now, fork.clock.now) == ("2031-03-03T09:00:00Z", "2031-03-03T09:01:00Z")


def test_a_savepoint_undoes_files_rows_and_the_shell() -> None:
    state = world().open()
    type_in(state, "cd /srv/notes")
    with state.savepoint():
        type_in(state, "rm one.txt; cd /")
        state.execute("delete from notes")
        assert state.query("select count(*) as n from files where path = '/srv/notes/one.txt'") == [{"n": 0}]
    assert type_in(state, "pwd; cat one.txt; note one").text == "/srv/notes\nfirst\nfirst"
    assert state.changes() == {}


async def test_a_command_within_a_savepoint_is_answered_and_undone() -> None:
    state = world().open()
    tools = state.world.tools
    async with Embedded().session(domain=TerminalDomain(), world=state, tools=tools) as answer:
        with state.savepoint():
            said = await answer(Request(tools[0], {"command": "echo new > /srv/notes/one.txt && cat /srv/link"}, 0, 0))
            assert said.text == "new"
    assert (state.changes(), type_in(state, "cat /srv/link").text) == ({}, "first")


def test_an_episode_is_opened_again_from_its_changes() -> None:
    first = world()
    state = first.open()
    type_in(state, "echo x > /srv/notes/x.txt; rm /srv/notes/one.txt")
    again = first.open(state.changes())
    assert type_in(again, "ls /srv/notes; cat /srv/notes/x.txt").text == "two.txt\nx.txt\nx"


def test_new_files_below_tmp_are_no_changes() -> None:
    state = world().open()
    type_in(state, "echo x > /tmp/x; echo y > ~/y")
    assert [change.after and change.after["path"] for change in state.changes()["files"]] == ["/home/ann/y"]
    assert state.query("select count(*) as n from files where path = '/tmp/x'") == [{"n": 1}]


def test_a_version_stays_equal_while_nothing_runs_and_held_rows_differ_after_a_write() -> None:
    state = world().open()
    held = state.held()
    assert not state.differs(held)
    type_in(state, "cat /srv/raw")
    assert not state.differs(held)
    type_in(state, "echo x > ~/x")
    assert state.differs(held)


def test_the_exit_code_is_told_and_the_prompt_shows_where_the_shell_was() -> None:
    state = world().open()
    observation = type_in(state, "cd /srv; cat nofile")
    assert observation.text == "cat: nofile: No such file or directory\n[exit code 1]"
    assert observation.structured == {
        "stdout": "",
        "stderr": "cat: nofile: No such file or directory\n",
        "exit_code": 1,
        "prompt": "ann@oak:~$ ",
    }
    again = type_in(state, "true")
    assert (again.text, (again.structured or {})["prompt"]) == ("", "ann@oak:/srv$ ")


def test_a_command_is_stopped_when_its_virtual_time_is_up() -> None:
    state = world().open()
    assert type_in(state, "echo a; sleep 100; echo b", timeout=30).text == "a\n[stopped after 30 s]"
    assert state.clock.now == "2031-03-03T09:00:30Z"
    assert type_in(state, "while :; do :; done", timeout=10).text == "[stopped after 10 s]"
    assert state.clock.now == "2031-03-03T09:00:40Z"


def test_the_disk_fills_up_and_a_claimed_size_counts() -> None:
    state = world().open()
    assert "/dev/vda1" in type_in(state, "df /").text
    assert type_in(state, "stat -c %s /var/big.log; wc -c < /var/big.log").text == "3000000000\n5"
    found = type_in(state, "sudo touch /srv/locked/new; cat /srv/locked/key").text
    assert "Read-only file system" in found and "Permission denied" in found


def test_zeros_are_as_many_as_are_asked_for_and_no_file_of_them_is_cut_short() -> None:
    state = world().open()
    assert type_in(state, "head -c 1M /dev/zero | wc -c").text.splitlines()[0] == "1048576"
    assert type_in(state, "head -c 10G /dev/zero > f").text == "bash: line 1: f: File too large\n[exit code 1]"


def test_commands_of_the_world_are_sql_and_templates() -> None:
    state = world().open()
    assert type_in(state, "note two; hello a 'b c' | tr a-z A-Z").text == "second\nHELLO A B C AT 2031-03-03T09:00:00Z"


def test_services_have_processes_in_the_tables() -> None:
    rows = world().query("select command, user, port, service from processes where service = 'web'")
    assert rows == [{"command": "/usr/bin/web", "user": "bob", "port": 8080, "service": "web"}]


def test_the_same_commands_give_the_same_bytes_in_each_episode() -> None:
    script = "echo $RANDOM; mktemp; shuf -i 1-50 -n 3; ls -la --time-style=full-iso /tmp ~"
    first, second = (type_in(world().open(), script).text for _ in range(2))
    assert first == second


def test_dates_of_a_machine_are_told_from_when_its_clock_begins() -> None:
    text = FILE.replace("modified: 2031-02-01T00:00:00Z", "modified: start-30d")
    built = world(text + "processes:\n  - {command: /bin/job, started: start-2h}\ndirectory: /srv/notes\n")
    assert built.query("select modified from files where path = '/var/big.log'") == [
        {"modified": "2031-02-01T09:00:00Z"}
    ]
    assert built.query("select started from processes where command = '/bin/job'") == [
        {"started": "2031-03-03T07:00:00Z"}
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("user: ann\n", "user: eve\n", "there is no user 'eve'"),
        ("size: 4G", "size: lots", "'lots' is no size"),
        ("/srv/locked/key, content", "srv/locked/key, content", "is no absolute path"),
        ("lines: select text from notes", "lines: select txt from notes", "no such column: txt"),
        ('template: "{{ host }}', 'template: "{{ hosts }}', "hosts"),
        ("link: notes/one.txt", "link: notes/one.txt, content: x", "a file has exactly one of"),
        ("owner: ann", "owner: eve", "there is no user 'eve' on oak"),
        ("note: {sql:", "note: {sqll:", "sql"),
        ("path: /srv/raw", "path: /srv/link/x", "which is no directory"),
        ("port: 8080,", "port: 8080, requires: [wbe],", "there is no service 'wbe' on oak"),
        ("services:\n", "cron:\n  - {schedule: '* * * *', command: date}\nservices:\n", "no schedule"),
        ("where name = :a1", "where nam = :a1", "no such column: nam"),
        ("user: bob}", "user: bob, answers: [{path: /, rows: select 1 from noted}]}", "no such table: noted"),
        ("user: bob}", "user: bob, answers: [{path: /, do: [delete from noted]}]}", "no such table: noted"),
        ("hostname: oak\n", "hostname: oak\ndirectory: /srv/note\n", "there is no directory /srv/note on oak"),
        ("{size: 4G,", "{size: 4G, largest_file: 4M,", "at most 3M are kept of a file"),
        ('mode: "0600"', 'mode: "0800"', "octal digits"),
        ("hostname: oak\n", "hostname: oak\nshell: zsh\n", "known: simulated, bubblewrap"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(old: str, new: str, problem: str) -> None:
    text = FILE.replace(old, new, 1)
    assert text != FILE
    if "/srv/link/x" in new:
        text = text.replace("  - {path: /srv/link,", "  - {path: /srv/link, content: x}\n  - {path: /srv/other,")
        text = text.replace("  - {path: /srv/link/x", "  - {path: /srv/notes/one.txt/x")
    with pytest.raises(InputError, match=problem) as raised:
        world(text)
    assert str(raised.value).startswith("bench.yaml:") and "\n" not in str(raised.value)
