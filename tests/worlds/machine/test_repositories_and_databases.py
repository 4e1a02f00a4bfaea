"""Repositories and database files that a world begins with: the real git and SQLite read them, and mistakes are told by place."""

import subprocess
from base64 import b64decode
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld

pytestmark = pytest.mark.slow

FILE = """
kind: machine
name: bench
seed: 4
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {sudo: true}, bob: {}}
schema: |
  create table projects (name text primary key, steps integer not null);
  create table entries (id integer primary key, project text not null references projects, note text not null);
rows:
  projects: [{name: fir, steps: 2}, {name: elm, steps: 3}]
  entries: [{project: fir, note: one}, {project: fir, note: "two's"}, {project: elm, note: three}]
repositories:
  - path: /srv/{{ name }}
    each: select name, steps from projects order by name
    owner: ann
    author: Ann Lee <ann@oak.example>
    commits:
      - {message: First, date: start-9d, files: {README: "{{ name }}\\n", src/run.sh: "echo 1\\n"}, executable: [src/run.sh], tag: v1}
      - each: select id, note from entries where project = :name order by id
        message: "Note {{ id }}\\n\\nSays {{ note }}."
        date: "start-{{ 9 - id }}d"
        author: Bo Ek <bob@oak.example>
        files: {"notes/{{ id }}": "{{ note }}\\n", README: "{{ name }} {{ id }}\\n"}
      - {branch: topic, from: v1, message: Topic, date: 2031-03-01T10:00:00+01:00, files: {README: "topic\\n", src/run.sh: null}}
      - {branch: main, merge: topic, message: Join, date: 2031-03-02T10:00:00Z, files: {README: "joined\\n"}}
      - {from: v1, message: Aside, date: 2031-03-02T11:00:00Z, files: {aside: "x\\n"}}
    then:
      - checkout -q main
      - {README: "not committed\\n", stray: "new\\n"}
      - add stray
databases:
  - path: /srv/db/{{ name }}.db
    each: select name, steps from projects order by name
    owner: bob
    mode: "0600"
    schema: |
      create table people (name text primary key, age integer not null check (age between 1 and 99));
      create table notes (id integer primary key, text text not null);
      create table info (project text not null);
    rows:
      people: {count: 8, with: {name: "P{seq}", age: {int: [20, 60]}}}
    copy:
      notes: select id, note as text from entries where project = :name
    after: ["insert into info values (:name)"]
"""


def world(text: str = FILE) -> MachineWorld:
    found = MachineSource.load(parse_document(text, Path("bench.yaml"))).build()
    assert isinstance(found, MachineWorld)
    return found


def type_in(state: MachineState, command: str) -> str:
    return state.answer(Request(state.world.tools[0], {"command": command}, 0, 0)).text


def laid_out(state: MachineState, top: str, folder: Path) -> None:
    """Write what lies below a path of the machine to a folder of this host."""
    rows = state.query(
        "select path, kind, mode, content, base64 from files where path like :top || '/%' order by path", {"top": top}
    )
    folder.mkdir()
    for row in rows:
        path = folder / row["path"][len(top) + 1 :]
        if row["kind"] == "directory":
            path.mkdir()
            continue
        path.write_bytes(b64decode(row["base64"]) if row["base64"] else (row["content"] or "").encode())
        path.chmod(int(row["mode"], 8) | 0o200)


def real_git(folder: Path, *words: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TZ": "UTC", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-c", "core.pager=cat", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOOKS = (
    ("log", "--graph", "--all", "--format=%H %an <%ae> %ad %cd %s", "--date=iso-strict"),
    ("log", "--format=%H%n%B"), ("status", "--porcelain"), ("reflog",), ("ls-files", "-s"),
    ("diff",), ("diff", "--cached"), ("show", "--stat", "main~1"), ("log", "-1", "--format=%s %ci", "HEAD@{1}"),
)  # fmt: skip


def test_the_real_git_finds_a_made_repository_sound_and_says_of_it_what_the_machine_says(tmp_path: Path) -> None:
    state = world().open()
    laid_out(state, "/srv/fir", tmp_path / "fir")
    assert "error" not in real_git(tmp_path / "fir", "fsck", "--strict")
    for words in LOOKS:
        line = " ".join(f"'{word}'" for word in words)
        assert type_in(state, f"cd /srv/fir; TZ=UTC git --no-pager {line}").rstrip("\n") == real_git(
            tmp_path / "fir", *words
        ).rstrip("\n"), words
    log = real_git(tmp_path / "fir", "log", "--format=%an %as %s", "main").splitlines()
    assert log == [
        "Ann Lee 2031-03-02 Join", "Ann Lee 2031-03-01 Topic", "Bo Ek 2031-02-24 Note 2", "Bo Ek 2031-02-23 Note 1",
        "Ann Lee 2031-02-22 First",
    ]  # fmt: skip
    assert real_git(tmp_path / "fir", "status", "--porcelain") == " M README\nA  stray\n"
    assert (
        "Aside" in real_git(tmp_path / "fir", "reflog")
        and not real_git(tmp_path / "fir", "branch", "--contains", "HEAD@{1}").strip()
    )


def test_a_made_repository_belongs_to_its_owner_and_is_shared_by_all_episodes() -> None:
    built = world()
    one, other = built.open(), built.open()
    assert (
        type_in(
            one,
            "cd /srv/elm && git config user.name Ann && git config user.email a@b && git commit -qam More && git log --format=%s -1",
        )
        == "More"
    )
    assert type_in(other, "cd /srv/elm && git log --format=%s -1; ls -ld .git | cut -d ' ' -f 3") == "Join\nann"
    assert not other.changes() and world().content == built.content


def test_a_prompt_for_a_language_model_tells_refs_and_logs_of_a_repository_but_no_objects() -> None:
    told = [line.split()[-1] for line in world().open().describe().splitlines() if "/.git/" in line]
    assert any(path.endswith("/.git/logs/HEAD") for path in told) and any(path.endswith("/.git/HEAD") for path in told)
    assert not [path for path in told if "/objects" in path or "/hooks" in path or path.endswith("/index")]


def test_a_made_database_is_one_for_sqlite_and_for_the_shell(tmp_path: Path) -> None:
    state = world().open()
    laid_out(state, "/srv/db", tmp_path / "db")
    with closing(connect(tmp_path / "db" / "fir.db")) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert [
            name
            for (name,) in database.execute("select name from sqlite_master order by 1")
            if not name.startswith("sqlite_")
        ] == ["info", "notes", "people"]
        assert database.execute("select id, text from notes order by id").fetchall() == [(1, "one"), (2, "two's")]
        assert database.execute("select project from info").fetchall() == [("fir",)]
        ages = database.execute("select sum(age), count(*) from people").fetchone()
    assert ages[1] == 8
    assert type_in(state, "sqlite3 /srv/db/fir.db 'select 1'") == (
        'Error: unable to open database "/srv/db/fir.db": unable to open database file\n[exit code 1]'
    )
    assert type_in(state, "sudo sqlite3 /srv/db/fir.db 'select sum(age), count(*) from people'") == f"{ages[0]}|8"
    # The other database has people of its own.
    assert type_in(state, "sudo sqlite3 /srv/db/elm.db 'select sum(age), count(*) from people'") != f"{ages[0]}|8"


def test_sql_looks_into_a_database_file_as_commands_have_left_it() -> None:
    state = world().open()
    look = "select query_database(base64, 'select id, text from notes order by id') as found from files where path = '/srv/db/fir.db'"
    assert state.query(look) == [{"found": '[{"id":1,"text":"one"},{"id":2,"text":"two\'s"}]'}]
    type_in(
        state,
        "sudo sqlite3 /srv/db/fir.db \"update notes set text = 'äöü' where id = 1; delete from notes where id = 2\"",
    )
    assert state.query(look) == [{"found": '[{"id":1,"text":"äöü"}]'}]
    # What is no database, and what is no SELECT over it, gives nothing: a check then fails, and is not in error.
    for content, sql in (
        ("base64", "select nothing from notes"),
        ("'AAAA'", "select 1"),
        ("base64", "delete from notes"),
        ("base64", "attach '/etc/passwd' as p"),
        ("null", "select 1"),
        ("base64", "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"),
    ):
        found = state.query(
            f"select query_database({content}, :sql) as found from files where path = '/srv/db/fir.db'", {"sql": sql}
        )
        assert found == [{"found": None}], sql


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("author: Ann Lee <ann@oak.example>", "author: Ann",
         "repositories[0].commits[0]: 'Ann' is no author of a commit; write it like Kim Ode <kim@example.org>"),
        ("date: start-9d", "date: soon", "repositories[0].commits[0].date: 'soon' is not a date"),
        ("from: v1, message: Topic", "from: v9, message: Topic", "repositories[0].commits[2].branch: git checkout fails"),
        (', files: {README: "joined\\n"}', "",
         "repositories[0].commits[3].merge: the merge has conflicts in README; write under `files` what they become"),
        ("- add stray", "- add nowhere", "repositories[0].then[2]: git add fails: pathspec 'nowhere' did not match any files"),
        ("src/run.sh: null", "src/walk.sh: null", "repositories[0].commits[2].files.src/walk.sh: there is no file 'src/walk.sh' to remove"),
        ("{aside:", "{../aside:", "'../aside' is no path within the working tree"),
        ('{aside: "x\\n"}', '{README: "{{ name }}\\n"}', "repositories[0].commits[4]: the commit cannot be made: nothing is changed by it"),
        ("message: Join, ", "", "repositories[0].commits[3].message"),
        ("owner: bob", "owner: carl", "databases[0].owner: there is no user 'carl' on oak; add it under `users`"),
        ("age: {int: [20, 60]}", "age: {int: [120, 160]}", "databases[0].rows.people.with: row 1 of 'people' is refused by the schema"),
        ("create table info (project", "create tables info (project", "databases[0].schema: the statement fails"),
        ("select id, note as text", "select id, note", "databases[0].copy.notes: the table 'notes' has no column 'note'; it has id, text"),
        ("insert into info values (:name)", "insert into info values (:other)", "databases[0].after[0]: the statement fails"),
        ("select id, note as text", "select id, not as text", "databases[0].copy.notes: the SQL fails"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_line_with_its_place(old: str, new: str, said: str) -> None:
    assert FILE.count(old) >= 1
    with pytest.raises(InputError) as caught:
        world(FILE.replace(old, new))
    text = str(caught.value)
    assert said in text and text.startswith("bench.yaml:") and "\n" not in text
