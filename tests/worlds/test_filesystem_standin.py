"""The stand-in for the filesystem server: what agents see of files that are rows, in the words of the server it stands in for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrain.contracts.request import Request
from simtrain.contracts.world import Variant, World, WorldState
from simtrain.files.json_schemas import validator
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.argument_styles.zod import zod
from simtrain.worlds.handlers.filesystem.collation import collation_key
from simtrain.worlds.handlers.filesystem.differences import LONGEST_SCRIPT, edit_script, unified_diff
from simtrain.worlds.handlers.filesystem.globs import glob

pytestmark = pytest.mark.slow

EDIT_OF_NOTHING = {"oldText": "no\nsuch", "newText": ""}
LINKED = "Access denied - symlink target outside allowed directories: {} not in /projects"
NO_RENAME = "{}, rename '/projects/{}' -> '/projects/{}'"
OUTSIDE = "Access denied - path outside allowed directories: {} not in /projects"


def world(seed: int | None = None) -> World:
    return load_world(find("worlds", "filesystem")).build(Variant(seed))


class Server:
    """The stand-in in one episode, called with arguments as its schemas demand them."""

    def __init__(self, state: WorldState | None = None) -> None:
        self.state = world().open() if state is None else state
        self._tools = {tool.name: tool for tool in world().tools}

    def call(self, tool: str, **arguments: Any) -> Observation:
        spec = self._tools[tool]
        checked = zod(tool, spec.input_schema)(arguments)
        assert checked.problem is None, checked.problem
        self.state.clock.tick()
        said = self.state.answer(Request(spec, checked.arguments, 0, 0))
        if not said.is_error:
            assert spec.output_schema is not None
            validator(spec.output_schema).validate(said.content)
        return said

    def says(self, tool: str, **arguments: Any) -> str:
        said = self.call(tool, **arguments)
        assert not said.is_error, said.text
        return said.text

    def refuses(self, tool: str, **arguments: Any) -> str:
        said = self.call(tool, **arguments)
        assert said.is_error, said.text
        return said.text


@pytest.fixture
def server() -> Server:
    return Server()


def test_the_world_is_a_tree_of_files_and_another_seed_fills_it_otherwise() -> None:
    files = "select path, content from nodes where kind = 'file' order by path"
    assert 60 <= len(world().query(files)) <= 200
    assert world().query(files) != world(99).query(files)
    assert world().query("select path from nodes where path <> '/' and parent not in (select path from nodes)") == []


def test_what_the_files_say_agrees_with_the_tables_behind_them(server: Server) -> None:
    ledger = server.says("read_text_file", path="/projects/invoices/ledger.csv").splitlines()[1:]
    totals = server.state.query("select number, days * rate as total from invoices order by number")
    assert [(row["number"], str(row["total"])) for row in totals] == [
        (line.split(",")[0], line.split(",")[3]) for line in ledger
    ]


def test_a_written_file_can_be_read_and_is_listed(server: Server) -> None:
    path = "/projects/handbook/boats.md"
    assert server.says("write_file", path=path, content="# Boats\n\nTwo.\n") == f"Successfully wrote to {path}"
    assert server.says("read_text_file", path=path) == "# Boats\n\nTwo.\n"
    assert server.says("read_file", path="handbook/boats.md", head=1) == "# Boats"
    assert "[FILE] boats.md" in server.says("list_directory", path="handbook")
    assert server.says("search_files", path="/projects", pattern="**/boats.*") == path


def test_an_episode_sees_nothing_of_another(server: Server) -> None:
    server.says("write_file", path="/projects/mine.txt", content="x")
    assert Server().refuses("read_text_file", path="/projects/mine.txt").startswith("ENOENT")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"head": 2}, "one\ntwo"),
        ({"head": 9}, "one\ntwo\nthree"),
        ({"head": 1.5}, "one\ntwo"),
        ({"head": 0}, "one\ntwo\nthree\n"),
        ({"head": -1}, ""),
        ({"tail": 2}, "three\n"),
        ({"tail": 0.5}, "one\ntwo\nthree\n"),
        ({"tail": 1.5}, ""),
        ({"tail": -1}, ""),
        ({"tail": 1e300}, "one\ntwo\nthree\n"),
    ],
)
def test_head_and_tail_count_lines_as_the_server_does(arguments: JsonObject, text: str, server: Server) -> None:
    server.says("write_file", path="/projects/a.txt", content="one\ntwo\nthree\n")
    assert server.says("read_text_file", path="/projects/a.txt", **arguments) == text


def test_head_and_tail_exclude_each_other(server: Server) -> None:
    text = "Cannot specify both head and tail parameters simultaneously"
    assert server.refuses("read_text_file", path="/projects/README.md", head=1, tail=1) == text


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("read_text_file", {"path": "/etc/passwd"}, OUTSIDE.format("/etc/passwd")),
        ("read_text_file", {"path": "/projects/../etc/passwd"}, OUTSIDE.format("/etc/passwd")),
        ("read_text_file", {"path": "/projects-old/a"}, OUTSIDE.format("/projects-old/a")),
        ("read_text_file", {"path": "~/a"}, OUTSIDE.format("/agent/a")),
        ("read_text_file", {"path": "a\0b"}, OUTSIDE.format("/projects/a\0b")),
        ("read_text_file", {"path": "C:\\a"}, "Access denied - Windows-style path received on a POSIX host: C:\\a"),
        ("list_directory", {"path": "/projects/maps"}, LINKED.format("/srv/scans")),
        ("write_file", {"path": "/projects/maps/a", "content": ""}, LINKED.format("/srv/scans")),
        ("read_text_file", {"path": "no"}, "ENOENT: no such file or directory, open '/projects/no'"),
        ("read_text_file", {"path": "no", "tail": 1}, "ENOENT: no such file or directory, stat '/projects/no'"),
        ("read_text_file", {"path": "/projects/logs"}, "EISDIR: illegal operation on a directory, read"),
        ("read_text_file", {"path": "README.md/x"}, "ENOTDIR: not a directory, realpath '/projects/README.md/x'"),
        ("list_directory", {"path": "no"}, "ENOENT: no such file or directory, scandir '/projects/no'"),
        ("list_directory", {"path": "README.md"}, "ENOTDIR: not a directory, scandir '/projects/README.md'"),
        ("get_file_info", {"path": "no"}, "ENOENT: no such file or directory, stat '/projects/no'"),
        ("write_file", {"path": "no/a", "content": ""}, "ENOENT: no such file or directory, open '/projects/no/a'"),
        ("create_directory", {"path": "README.md"}, "EEXIST: file already exists, mkdir '/projects/README.md'"),
        ("move_file", {"source": "no", "destination": "b"}, NO_RENAME.format("ENOENT: no such file or directory", "no", "b")),
        ("move_file", {"source": "no", "destination": "logs"}, "Destination already exists: /projects/logs"),
        ("move_file", {"source": "logs", "destination": "logs/b"}, NO_RENAME.format("EINVAL: invalid argument", "logs", "logs/b")),
        ("edit_file", {"path": "README.md", "edits": [EDIT_OF_NOTHING]}, "Could not find exact match for edit:\nno\nsuch"),
    ],
)  # fmt: skip
def test_refusals_have_the_servers_words_and_leave_nothing_behind(
    tool: str, arguments: JsonObject, text: str, server: Server
) -> None:
    assert server.refuses(tool, **arguments) == text
    assert server.state.changes() == {}


def test_no_name_is_longer_than_a_disk_allows(server: Server) -> None:
    long = "n" * 256
    assert server.refuses("read_text_file", path=long) == f"ENAMETOOLONG: name too long, realpath '/projects/{long}'"
    assert server.refuses("create_directory", path=f"new/{long}").startswith("ENAMETOOLONG: name too long, mkdir")
    assert server.says("list_directory", path="new") == ""


def test_writing_over_a_directory_fails_by_way_of_a_temporary_file(server: Server) -> None:
    text = server.refuses("write_file", path="/projects/logs", content="x")
    start, _, end = text.partition("logs.")
    assert start == "EISDIR: illegal operation on a directory, rename '/projects/"
    assert end[32:] == ".tmp' -> '/projects/logs'"


def test_an_edit_shows_a_diff_and_a_dry_run_changes_nothing(server: Server) -> None:
    path = "/projects/handbook/safety.md"
    edits = [{"oldText": "Nobody goes out alone", "newText": "Nobody goes out"}]
    shown = server.says("edit_file", path=path, edits=edits, dryRun=True)
    assert server.state.changes() == {}
    assert server.says("edit_file", path=path, edits=edits) == shown
    assert shown == (
        f"```diff\nIndex: {path}\n{'=' * 67}\n--- {path}\toriginal\n+++ {path}\tmodified\n@@ -1,7 +1,7 @@\n # Safety\n \n"
        "-Nobody goes out alone after dark.\n+Nobody goes out after dark.\n \n - Tell the office where you are.\n"
        " - Take the radio, and a spare battery.\n - Turn back when the water stands above the second mark.\n```\n\n"
    )
    assert "alone" not in server.says("read_text_file", path=path)


def test_an_edit_forgives_white_space_and_keeps_the_indent(server: Server) -> None:
    server.says("write_file", path="/projects/a.py", content="  def f():\n      return 1\r\n  x\n")
    edits = [{"oldText": "def f():\n    return 1", "newText": "def f():\n    return 2\n    more"}]
    server.says("edit_file", path="/projects/a.py", edits=edits)
    assert server.says("read_text_file", path="/projects/a.py") == "  def f():\n  return 2\n    more\n  x\n"


def test_a_failed_edit_undoes_the_ones_before_it(server: Server) -> None:
    edits = [{"oldText": "# Projects", "newText": "# All"}, {"oldText": "nowhere", "newText": ""}]
    assert server.refuses("edit_file", path="README.md", edits=edits) == "Could not find exact match for edit:\nnowhere"
    assert server.says("read_text_file", path="README.md", head=1) == "# Projects"


def test_a_directory_moves_with_all_it_holds(server: Server) -> None:
    before = server.says("directory_tree", path="minutes")
    server.says("move_file", source="minutes", destination="templates/drafts/minutes")
    assert server.says("directory_tree", path="templates/drafts/minutes") == before
    assert server.refuses("list_directory", path="minutes").startswith("ENOENT")


def test_a_tree_leaves_out_names_at_any_depth(server: Server) -> None:
    server.says("create_directory", path="t/a/docs")
    server.says("write_file", path="t/a/b.md", content="")
    assert server.says("directory_tree", path="t", excludePatterns=["docs"]) == (
        '[\n  {\n    "name": "a",\n    "type": "directory",\n    "children": [\n      {\n        "name": "b.md",\n'
        '        "type": "file"\n      }\n    ]\n  }\n]'
    )
    assert server.says("directory_tree", path="t", excludePatterns=["**"]) == "[]"


def test_the_deepest_of_trees_can_be_shown(server: Server) -> None:
    server.says("create_directory", path="deep/" + "/".join("d" * 1050))
    assert server.says("directory_tree", path="deep").count('"children"') == 1050
    assert server.says("search_files", path="deep", pattern="**").count("\n") == 1049


def test_sizes_are_summed_and_sorted(server: Server) -> None:
    server.says("create_directory", path="s/dir")
    for name, size in (("b", 1023), ("a", 1152), ("c", 3 * 1024 * 1024)):
        server.says("write_file", path=f"s/{name}", content="x" * size)
    lines = server.says("list_directory_with_sizes", path="s", sortBy="size").split("\n")
    assert lines == [
        f"[FILE] {'c':30}    3.00 MB",
        f"[DIR] {'dir':30} ",
        f"[FILE] {'a':30}    1.13 KB",
        f"[FILE] {'b':30}     1023 B",
        "",
        "Total: 3 files, 1 directories",
        "Combined size: 3.00 MB",
    ]


def test_names_are_listed_by_their_bytes_and_with_sizes_by_the_alphabet(server: Server) -> None:
    for name in ("b", "B", "a", "Ä", "_x", "10"):
        server.says("write_file", path=f"/projects/templates/drafts/{name}", content="")
    plain = server.says("list_directory", path="templates/drafts").split("\n")
    sized = server.says("list_directory_with_sizes", path="templates/drafts").split("\n")[:6]
    assert [line.split()[1] for line in plain] == ["10", "B", "_x", "a", "b", "Ä"]
    assert [line.split()[1] for line in sized] == ["_x", "10", "a", "Ä", "b", "B"]


def test_images_and_sounds_are_blocks_of_their_kind_and_anything_else_a_resource(server: Server) -> None:
    blocks: list[JsonObject] = []
    for name in ("dot.GIF", "chime.wav", "camera-b.dat"):
        wire = server.call("read_media_file", path=f"/projects/shared media/{name}").wire
        assert wire is not None
        assert wire["result"]["structuredContent"] == {"content": wire["result"]["content"]}
        blocks += wire["result"]["content"]
    assert [block["type"] for block in blocks] == ["image", "audio", "resource"]
    assert [block.get("mimeType") for block in blocks] == ["image/gif", "audio/wav", None]
    assert blocks[2]["resource"] == {
        "uri": "file:///projects/shared%20media/camera-b.dat",
        "mimeType": "application/octet-stream",
        "blob": "iQD//gcAwyjiggpBQkMKAAECAw==",
    }


def test_several_files_are_read_and_a_missing_one_does_not_stop_the_others(server: Server) -> None:
    text = server.says("read_multiple_files", paths=["templates/.gitkeep", "/projects/no", "templates/field-sheet.csv"])
    assert text == (
        "templates/.gitkeep:\n\n\n---\n/projects/no: Error - ENOENT: no such file or directory, open '/projects/no'\n"
        "---\ntemplates/field-sheet.csv:\nday,plot,species,seen\n\n"
    )


def test_symlinks_lead_to_what_they_name_and_searches_leave_out_what_lies_outside(server: Server) -> None:
    assert server.says("list_directory", path="current") == server.says("list_directory", path="invoices/2031")
    found = server.says("search_files", path="/projects", pattern="*").split("\n")
    assert "/projects/current" in found
    assert "/projects/maps" not in found


def test_times_follow_the_clock_of_the_episode(server: Server) -> None:
    server.says("write_file", path="/projects/a.txt", content="x")
    told = server.says("get_file_info", path="/projects/a.txt").split("\n")
    moment = "Mon Mar 03 2031 09:00:20 GMT+0000 (Coordinated Universal Time)"
    assert told == [
        "size: 1",
        *(f"{what}: {moment}" for what in ("created", "modified", "accessed")),
        "isDirectory: false",
        "isFile: true",
        "permissions: 644",
    ]
    assert f"modified: {moment}" in server.says("get_file_info", path="/projects")


def test_an_overwritten_file_keeps_its_permissions(server: Server) -> None:
    server.says("write_file", path="/projects/handbook/LICENSE", content="new")
    assert server.says("get_file_info", path="/projects/handbook/LICENSE").endswith("permissions: 444")


def test_no_file_of_the_host_is_ever_touched(server: Server, tmp_path: Path) -> None:
    server.state.execute("insert into roots values (2, :path)", {"path": str(tmp_path)})
    (tmp_path / "host.txt").write_text("of the host")
    path = str(tmp_path / "host.txt")
    assert "of the host" not in server.refuses("read_text_file", path=path)
    server.call("write_file", path=path, content="changed")
    server.call("move_file", source=path, destination="/projects/host.txt")
    assert (tmp_path / "host.txt").read_text() == "of the host"


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("*.md", ["a.md", ".a.md"], ["a/b.md", "md"]),
        ("**/*.md", ["a.md", "a/b/c.md"], ["a.mdx"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("a/**/b", ["a/b", "a/x/y/b"], ["a/bb", "ab"]),
        ("{a,b{1..3}}.txt", ["a.txt", "b2.txt"], ["b.txt", "b4.txt"]),
        ("[!a-c]?", ["dx", "1a"], ["ax", "d"]),
        ("!(*.md|*.txt)", ["(*.md|*.txt", "a.py", "a.md"], []),
        ("x!(*.md|*.txt)", ["xa.py", "x"], ["xa.md", "xa.txt"]),
        ("+(ab|c)", ["ab", "abcab"], ["", "a"]),
        ("!*.md", ["a.py", "a/b.md"], ["a.md"]),
        ("#a", [], ["#a", "a"]),
        ("[[:digit:]]*", ["1", "2x"], ["x2"]),
        ("a{b", ["a{b"], ["ab"]),
    ],
)
def test_globs_match_as_minimatch_does(pattern: str, fitting: list[str], others: list[str]) -> None:
    assert [path for path in [*fitting, *others] if glob(pattern)(path)] == fitting


def test_no_pattern_takes_forever() -> None:
    assert not glob("+(a|aa|aaa)" * 12 + "b")("a" * 200)
    assert not glob("*a" * 60 + "b")("a" * 200)
    assert glob("{a,b}" * 40)("a" * 40)


@settings(max_examples=200)
@given(st.lists(st.sampled_from("abc"), max_size=14), st.lists(st.sampled_from("abc"), max_size=14), st.booleans())
def test_an_edit_script_leads_from_one_text_to_the_other(old: list[str], new: list[str], ends: bool) -> None:
    before, after = "\n".join(old) + "\n" * ends, "\n".join(new)
    script = edit_script(before, after)
    assert "".join(line for sign, line in script if sign != "+") == before
    assert "".join(line for sign, line in script if sign != "-") == after


def test_a_diff_of_texts_that_share_nothing_is_found_without_a_long_search() -> None:
    count = 20 * LONGEST_SCRIPT
    before, after = ("".join(f"{word} {number}\n" for number in range(count)) for word in ("old", "new"))
    lines = unified_diff("a", "same\n" + before, "same\n" + after).split("\n")
    assert lines[4:8] == [f"@@ -1,{count + 1} +1,{count + 1} @@", " same", "-old 0", "-old 1"]


def test_accents_and_case_decide_only_where_letters_do_not() -> None:
    names = ["resume", "Resume", "resumé", "résumé", "Résumé", "resumes", "co-op", "co_op", "coop"]
    assert sorted(names, key=collation_key) == [
        "co_op", "co-op", "coop", "resume", "Resume", "resumé", "résumé", "Résumé", "resumes",
    ]  # fmt: skip


def test_a_root_that_was_moved_away_is_missed_by_its_parent(server: Server) -> None:
    server.state.execute("update roots set path = '/projects/gone'")
    assert server.refuses("list_directory", path="/projects/gone") == "Parent directory does not exist: /projects"
