"""The stand-in for the git server: what agents and authors see of repositories that are rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from git_session import NOTES, TIDE, Server, world
from mcp import Client, MCPError
from serving_bakery import serving

from simtrain.contracts.world import World
from simtrain.files.yaml_files import parse_document
from simtrain.mcp.serve.targets import load_target
from simtrain.scenarios.find import find
from simtrain.values.errors import InputError
from simtrain.worlds.handlers.git.paths import quoted
from simtrain.worlds.service.source import ServiceSource

pytestmark = pytest.mark.slow

TOOLS = [
    "git_status", "git_diff_unstaged", "git_diff_staged", "git_diff", "git_commit", "git_add", "git_reset", "git_log",
    "git_create_branch", "git_checkout", "git_show", "git_branch",
]  # fmt: skip

TOO_FAR = (
    "Ref 'Invalid revision spec 'HEAD~99' - not enough parent commits to reach '~99'' did not resolve to an object"
)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def notes() -> Server:
    return Server(repo=NOTES)


# Through a client.


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_stages_commits_and_finds_the_commit(mode: str) -> None:
    async with serving(load_target("git")) as served, Client(f"{served.door.url}/mcp", mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS

        async def said(tool: str, **arguments: Any) -> str:
            return (await client.call_tool(tool, {"repo_path": TIDE, **arguments})).content[0].text

        assert await said("git_add", files=["plan.md"]) == "Files staged successfully"
        made = await said("git_commit", message="A plan")
        sha = re.fullmatch(r"Changes committed successfully with hash ([0-9a-f]{40})", made)
        assert sha is not None
        assert (await said("git_log", max_count=1)).startswith(f"Commit history:\nCommit: {sha[1]}\nAuthor: Agent\n")
        assert "+++ b/plan.md\n@@ -0,0 +1,4 @@\n+# Plan for 0.4.0\n" in await said("git_show", revision=sha[1][:9])
        with pytest.raises(MCPError, match="Unknown tool: git_push") as caught:
            await client.call_tool("git_push", {})
        assert caught.value.error.code == -32602
        bad = await client.call_tool("git_log", {"repo_path": 5})
        assert bad.is_error and bad.content[0].text == (
            "Error executing tool git_log: 1 validation error for logArguments\nrepo_path\n"
            "  Input should be a valid string [type=string_type, input_value=5, input_type=int]\n"
            "    For further information visit https://errors.pydantic.dev/2.14/v/string_type"
        )


# In an agent's hands.


def test_an_ignored_file_is_refused_and_the_others_are_staged_all_the_same(server: Server) -> None:
    assert "ignored by one of your .gitignore files:\nrun.log\nhint:" in server.refuses(
        "add", files=["run.log", "plan.md"]
    )
    assert "new file:   plan.md" in server.says("status")
    server.refuses("add", files=["README.md", "nope"])
    assert server.says("status").count("README.md") == 1
    assert "\tmodified:   README.md" in server.says("status").partition("not staged")[2]


def test_a_commit_belongs_to_its_branch_and_to_its_episode(notes: Server) -> None:
    before = notes.says("log", max_count=1)
    other = Server(notes.state.fork(), NOTES)
    notes.says("create_branch", branch_name="mine")
    assert notes.says("checkout", branch_name="mine") == "Switched to branch 'mine'"
    notes.state.execute("update worktree set content = 'pilot 555-0100' where path = 'contacts.txt'")
    assert notes.refuses("commit", message="too early").startswith("No changes staged for commit.")
    notes.says("add", files=["contacts.txt"])
    made = notes.says("commit", message="A number").rpartition(" ")[2]
    assert notes.says("branch", branch_type="local", contains=made) == "* mine"
    assert notes.says("checkout", branch_name="trunk") == "Switched to branch 'trunk'"
    assert notes.says("log", max_count=1) == before == other.says("log", max_count=1)
    assert "+pilot 555-0100\n\\ No newline at end of file\n" in notes.says("show", revision="mine")
    assert other.says("branch", branch_type="all") == "  draft\n* trunk"
    rows = "select count(*) as n from commits where message = 'A number'"
    assert (notes.state.query(rows)[0]["n"], other.state.query(rows)[0]["n"]) == (1, 0)
    restored = Server(world().open(notes.state.changes()), NOTES)
    assert restored.says("show", revision="mine") == notes.says("show", revision="mine")


def test_a_checkout_keeps_changes_that_are_not_in_its_way_and_refuses_the_others(server: Server) -> None:
    said = server.refuses("checkout", branch_name="docs")
    assert said.startswith(
        "Cmd('git') failed due to: exit code(1)\n  cmdline: git checkout docs\n  stderr: 'error: Your local changes"
    )
    assert "\ttidewatch/cli.py\nPlease commit your changes" in said and "plan.md" not in said
    assert server.says("branch", branch_type="local").splitlines()[-1] == "* main"
    server.says("reset")
    assert (
        server.says("checkout", branch_name="main~0")
        == f"HEAD is now detached at {server.says('log', max_count=1)[24:31]}"
    )
    assert server.says("status").startswith("Repository status:\nHEAD detached at ")
    assert server.refuses("create_branch", branch_name="x").startswith(
        "HEAD is detached, so there is no current branch"
    )


def test_untracked_files_are_never_overwritten(notes: Server) -> None:
    notes.state.execute("insert into worktree values (:r, 'fees.md', '100644', 'mine', 'utf-8')", {"r": NOTES})
    assert "untracked working tree files would be overwritten by checkout:\n\tfees.md" in notes.refuses(
        "checkout", branch_name="draft"
    )
    notes.state.execute("delete from worktree where path = 'fees.md'")
    assert notes.says("checkout", branch_name="draft") == "Switched to branch 'draft'"
    assert notes.state.query("select count(*) as n from worktree where path = 'fees.md'") == [{"n": 1}]
    notes.says("checkout", branch_name="trunk")
    assert notes.state.query("select count(*) as n from worktree where path = 'fees.md'") == [{"n": 0}]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("show", {"revision": "HEAD~99"}, TOO_FAR),
        ("show", {"revision": "HEAD:docs/nope.md"}, "\"Blob or Tree named 'nope.md' not found\""),
        ("show", {"revision": "--all"}, "Invalid revision: '--all' - cannot start with '-'"),
        ("diff", {"target": "main..docs"}, "Ref 'main..docs' did not resolve to an object"),
        ("add", {"files": ["../secret"]}, f"Path '../secret' is outside the repository '{TIDE}'"),
        ("create_branch", {"branch_name": "a..b"}, "Invalid reference 'refs/heads/a..b': references cannot contain '..'"),
        ("create_branch", {"branch_name": "main"}, "Cannot create branch 'main': refs/heads/main already exists"),
        ("create_branch", {"branch_name": "docs/x"}, f"[Errno 17] File exists: '{TIDE}/.git/refs/heads/docs'"),
        ("create_branch", {"branch_name": "x", "base_branch": "nope"}, "No item found with id nope"),
        ("branch", {"branch_type": "mine"}, "Invalid branch type: mine"),
        ("status", {"repo_path": "/etc"}, "/etc"),
        ("status", {"repo_path": "nope"}, "/repos/nope"),
    ],
)  # fmt: skip
def test_mistakes_are_worded_as_the_server_does(
    server: Server, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert server.refuses(tool, **arguments) == said
    assert server.state.changes() == {}


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("v0.3.0", "Release 0.3.0"), ("v0.3.0^{}", "Release 0.3.0"), ("HEAD^{/Changelog}", "Changelog"), ("origin", "Say which day it is"),
        ("main~1", "Say which day it is"), ("v0.2.0^", "Docs of the data format"), ("feature/currents^2", "Release 0.3.0"), 
        ("main@{u}", ""),
        ("@{0}", "Close files when reading fails"), ("tags/v0.2.1", "Version 0.2.1"),
    ],
)  # fmt: skip
def test_revisions_are_written_in_many_ways(server: Server, revision: str, message: str) -> None:
    if not message:
        assert server.says("show", revision=revision) == server.says("show", revision="origin/main")
    else:
        assert f"\n\n    {message}\n" in server.says("show", revision=revision)


def test_with_one_repository_allowed_the_others_are_out_of_reach(server: Server) -> None:
    server.state.execute("update server set only_repository = :repo", {"repo": TIDE})
    assert server.says("branch", branch_type="local", repo_path=f"{TIDE}/../tidewatch/").endswith("* main")
    assert (
        server.refuses("status", repo_path=NOTES)
        == f"Repository path '{NOTES}' is outside the allowed repository '{TIDE}'"
    )
    assert server.refuses("status", repo_path="") == f"Repository path '.' is outside the allowed repository '{TIDE}'"


def test_paths_with_other_letters_are_quoted() -> None:
    assert (
        quoted("öl/a b.txt") == '"\\303\\266l/a b.txt"'
        and quoted("a b.txt") == "a b.txt"
        and quoted('a"b') == '"a\\"b"'
    )


# In an author's hands.

REPOSITORY = """\
kind: service
name: own
schema: |
{schema}
rows: {{server: [{{directory: /r}}]}}
after:
  - handler: git_repository
    with:
      path: /r/one
      user: A <a@b>
      commits:
        - {{at: 2031-01-01T00:00:00Z, by: A <a@b>, message: One, files: {{a.txt: "1\\n2\\n"}}}}
{commits}
tools:
  - {{name: git_log, description: d, input: {{repo_path: string}}, handler: git_log}}
"""


def own_world(commits: str) -> World:
    text = find("worlds", "git").read_text()
    schema = text.partition("schema: |\n")[2].partition("\nrows:")[0]
    return ServiceSource.load(
        parse_document(REPOSITORY.format(schema=schema, commits=commits), Path("own.yaml"))
    ).build()


MISTAKES = {
    "a passage that is not there": ("{at: 2031-01-02, by: A <a@b>, message: m, files: {a.txt: {replace: [[x, y]]}}}",
        "'x' is not there once in a.txt"),
    "a file that is not there": ("{at: 2031-01-02, by: A <a@b>, message: m, files: {b.txt: null}}", "there is no b.txt to be deleted"),
    "nobody": ("{at: 2031-01-02, by: A, message: m}", "'A' is not a person"),
    "a branch from nowhere": ("{at: 2031-01-02, by: A <a@b>, message: m, branch: x}", "the branch 'x' is new"),
    "an unknown key": ("{at: 2031-01-02, by: A <a@b>, massage: m}", "with.commits.1.message: Field required"),
    "a merge that conflicts": (
        "{at: 2031-01-02T00:00:00Z, by: A <a@b>, message: m, branch: x, start: main, files: {a.txt: x}}\n"
        "        - {at: 2031-01-03T00:00:00Z, by: A <a@b>, message: m, files: {a.txt: y}}\n"
        "        - {at: 2031-01-04T00:00:00Z, by: A <a@b>, message: m, merge: x}",
        "both sides changed a.txt",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_authors_mistake_is_named_with_its_place(mistake: str) -> None:
    commits, said = MISTAKES[mistake]
    with pytest.raises(InputError) as caught:
        own_world(f"        - {commits}")
    assert said in str(caught.value) and str(caught.value).startswith("own.yaml:") and "after[0]" in str(caught.value)


def test_a_step_may_name_only_handlers_that_exist() -> None:
    tools = "tools: [{name: a.b, description: d, read: select a from t}]"
    text = f"kind: service\nname: own\nschema: create table t (a text);\nafter: [{{handler: git_repositry}}]\n{tools}\n"
    with pytest.raises(InputError, match=r"own\.yaml:4: after\[0\]: unknown handler 'git_repositry'.*git_repository"):
        ServiceSource.load(parse_document(text, Path("own.yaml"))).build()
