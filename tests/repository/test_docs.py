"""The documentation holds: what it prints runs, its links lead somewhere, and every plug-in is in it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import PAGES, ROOT, Block, blocks, fenced

from docs.make_tables import filled
from simtrain.contracts.registry import resolve
from simtrain.integrations.train.recipe import load_recipe
from simtrain.mcp.verify.call_makers import read_makers
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.plugins import PLUGINS
from simtrain.values.seeding import Stream

pytestmark = pytest.mark.slow

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def write(folder: Path, *found: Block) -> None:
    for block in found:
        assert block.file, f"a block of {block.page.name} has no file"
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text)


def simtrain(*words: str, folder: Path) -> str:
    """What the command line prints in a folder; its modules can be imported."""
    return python("-m", "simtrain", *words, folder=folder)


def python(*words: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(folder: Path, groups: dict[str, dict[str, str]]) -> None:
    """What pip leaves of a package beside its modules: a name and its entry points."""
    info = folder / "documented-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: documented\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in table.items())
        for group, table in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)):
        if "://" in link:
            continue
        name, _, part = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}"
        if part:
            assert part in [anchor(heading) for heading in _HEADING.findall(target.read_text())], (
                f"{page.name} links to {link}"
            )


def test_the_index_lists_every_page() -> None:
    listed = set(_LINK.findall((ROOT / "docs" / "index.md").read_text()))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= listed


def test_every_plug_in_is_named_in_the_documentation() -> None:
    text = "\n".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    missing = [f"{kind}/{name}" for kind, table in PLUGINS.items() for name in table if not named(name, text)]
    assert missing == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_tables_of_plug_ins_are_those_of_the_plug_ins(page: Path) -> None:
    assert page.read_text() == filled(page.read_text()), f"docs/{page.name} is out of date: run `make tables`"


def test_the_catalogue_tells_every_plug_in_and_every_knob() -> None:
    """Read here without the code that writes the page."""
    sections = dict(
        re.findall(
            r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", (ROOT / "docs" / "catalogue.md").read_text(), re.MULTILINE | re.DOTALL
        )
    )
    for kind, shipped in PLUGINS.items():
        text = sections[kind.replace("_", " ").capitalize()]
        for name in shipped:
            plugin = resolve(kind, name)
            assert f"- `{name}`: {(plugin.__doc__ or '').split()[0]}" in text, f"{kind}/{name}"
            told = set(re.findall(rf"^\| `{name}` \| `(\w+)` \|", text, re.MULTILINE))
            fields = getattr(plugin, "model_fields", {})
            assert told == {info.alias or field for field, info in fields.items()} - {"severity"}, f"{kind}/{name}"


def named(plugin: str, text: str) -> bool:
    """Whether a text names a plug-in, by itself or with others of its kind, as `memory_*` does."""
    return any(
        fnmatchcase(plugin, pattern)
        for pattern in re.findall(r"`([a-z0-9_]*\*?[a-z_]*\*?)", text)
        if pattern.strip("*_")
    )


def test_the_scenario_of_the_readme_is_proved(tmp_path: Path) -> None:
    (scenario,) = blocks("yaml", page="README.md")
    assert len(scenario.text.splitlines()) <= 25
    target = tmp_path / "scenarios" / "mine" / "newest_invoice.yaml"
    target.parent.mkdir(parents=True)
    target.write_text(scenario.text)
    assert "mine/newest_invoice" in simtrain("validate", "mine/newest_invoice", "--cases", "4", folder=tmp_path)


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    _, session, agent = blocks("python", page="README.md")
    printed = python("-c", session.text, folder=tmp_path).splitlines()
    assert printed[0].startswith("1.0 ") and "charge_id" in printed[1] and "runs/naive" in printed[2]
    (tmp_path / "my_agent.py").write_text(agent.text)
    simtrain("run", "helpdesk/refund", "--agent", "my_agent:agent", "--episodes", "2", "--out", "out", folder=tmp_path)
    line = next((tmp_path / "out").glob("trajectories-*.jsonl")).read_text().splitlines()[0]
    assert '"abstained"' in line and "and I only look" in line


def test_the_sessions_of_the_page_are_played(tmp_path: Path) -> None:
    one, many, shared = (python("-c", block.text, folder=tmp_path) for block in blocks("python", page="sessions.md"))
    assert one.splitlines()[-1] == "0.0 abstained 1" and "False {" in one
    assert many.splitlines() == [str([False] * 8), str([0.0] * 8)]
    assert "['clerk', 'planner', " in shared and shared.splitlines()[-1].endswith("'session'] 1.0")


def test_the_training_data_of_the_readme_is_written(tmp_path: Path) -> None:
    (line,) = [text for text in (block.text for block in blocks("sh", page="README.md")) if "export" in text]
    run, export = [words.split()[1:] for words in line.strip().splitlines() if "runs/train" in words]
    simtrain(*run, "--episodes", "8", folder=tmp_path)
    simtrain(*export, folder=tmp_path)
    assert len((tmp_path / "train.jsonl").read_text().splitlines()) == 8


def test_the_world_and_the_scenario_of_the_pages_are_proved(tmp_path: Path) -> None:
    write(tmp_path, *blocks("yaml", page="worlds.md"), *blocks("yaml", page="scenarios.md"))
    assert "desk/refund" in simtrain("validate", "desk", "--cases", "6", folder=tmp_path)


def test_the_pack_and_the_perturbation_of_the_pages_fire(tmp_path: Path) -> None:
    (pack,), (source,) = blocks("yaml", page="perturbations.md"), blocks("python", page="perturbations.md")
    (tmp_path / "perturbations").mkdir()
    (tmp_path / "perturbations" / "rough_writes.yaml").write_text(pack.text)
    (tmp_path / "unavailable.py").write_text(source.text)
    install(tmp_path, {"simtrain.perturbations": {"unavailable": "unavailable:Unavailable"}})
    write(tmp_path, *blocks("yaml", page="worlds.md"), *blocks("yaml", page="scenarios.md"))
    with (tmp_path / "scenarios" / "desk" / "refund.yaml").open("a") as scenario:
        scenario.write("perturbations: [rough_writes, {use: unavailable, when: {nth: 1}}]\n")
    simtrain("run", "desk", "--out", "out", folder=tmp_path)
    for label in ("unavailable", "latency", "timeout_after"):
        exported = simtrain(
            "export", "out", "--format", "steps", "--fired", label, "--out", f"{label}.jsonl", folder=tmp_path
        )
        assert not exported.startswith("0 rows"), label


def test_the_package_of_the_page_on_plug_ins_plays(tmp_path: Path) -> None:
    found = [block for block in blocks("toml", "python", "yaml", page="plugins.md") if block.file]
    assert len(found) == 5
    write(tmp_path, *found)
    (tmp_path / "simtrain_frugal" / "__init__.py").touch()
    install(tmp_path, tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["entry-points"])
    (commands,) = [block.text.strip().splitlines() for block in blocks("sh", page="plugins.md")]
    printed = [simtrain(*words.split()[1:], folder=tmp_path) for words in commands]
    assert "frugality" in printed[0] and "frugal/count_orders" in printed[1]
    assert len((tmp_path / "prompts.jsonl").read_text().splitlines()) == 5
    assert '"label":"shorn"' in next((tmp_path / "runs" / "frugal").glob("trajectories-*.jsonl")).read_text()


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=f"{block.page.name}-{index}") for index, block in enumerate(blocks("python"))]
)
def test_every_python_block_compiles(block: Block) -> None:
    compile(block.text, block.page.name, "exec")


def test_the_curriculum_of_the_page_on_training_gets_harder(tmp_path: Path) -> None:
    (curriculum,) = blocks("yaml", page="training_data.md")
    write(tmp_path, curriculum)
    options = ("--agent", "naive", "--episodes", "10", "--curriculum", str(curriculum.file), "--out", "out")
    simtrain("run", "helpdesk/refund", *options, folder=tmp_path)
    _, *stages = map(json.loads, (tmp_path / "out" / "curriculum.jsonl").read_text().splitlines())
    severities = [stage["families"]["helpdesk/refund"]["severity"] for stage in stages]
    assert severities == sorted(severities) and (severities[0], severities[-1]) == (0, 1)


@pytest.mark.full
def test_the_worked_example_of_fiction_works_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    write(tmp_path, *blocks("yaml", page="fiction.md"))
    for block in blocks("sh", page="fiction.md"):
        for command in block.text.strip().splitlines():
            simtrain(*command.split()[1:], folder=tmp_path)
    rewards = [
        json.loads(line)["reward"]
        for file in (tmp_path / "runs" / "oracle").glob("trajectories-*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert rewards == [1.0] * 24
    assert (tmp_path / "curriculum" / "prompts" / "train.jsonl").stat().st_size
    (loop,) = blocks("python", page="fiction.md")
    assert python("-c", loop.text, folder=tmp_path).startswith("level 2 after ")


@pytest.mark.full
def test_the_curriculum_of_levels_is_climbed_and_written_out(tmp_path: Path) -> None:
    (curriculum,) = blocks("yaml", page="curricula.md")
    write(tmp_path, curriculum)
    (loop,), (stream, *_) = blocks("python", page="curricula.md"), blocks("python", page="README.md")
    printed = python("-c", loop.text.replace('"ladder"', f'"{curriculum.file}"'), folder=tmp_path).splitlines()
    assert len(printed) == 5 and printed[0].startswith("0 level 0 reward ")
    python("-c", stream.text.replace('"ladder"', f'"{curriculum.file}"'), folder=tmp_path)
    assert "scenarios/train/tables_kestrel_reach.yaml" in simtrain(
        "curriculum", str(curriculum.file), "--out", "out", folder=tmp_path
    ).replace("\n", "")


@pytest.mark.parametrize(("agent", "reward"), [("gullible", 0), ("resilient", 1)])
def test_the_security_drill_is_lost_by_one_agent_and_won_by_the_other(
    agent: str, reward: float, tmp_path: Path
) -> None:
    (drill,) = blocks("yaml", page="security.md")
    write(tmp_path, drill)
    out = simtrain("run", str(drill.file), "--agent", agent, "--out", "played", "--json", folder=tmp_path)
    assert json.loads(out)["total"]["mean_reward"] == reward


def commands_of_the_readme() -> list[str]:
    """The commands of the README as they are pasted, without their comments."""
    lines = [line for block in blocks("sh", page="README.md") for line in block.text.splitlines()]
    return [bare for line in lines if (bare := re.sub(r"\s+#.*", "", line).strip())]


# What lasts until Ctrl-C, by what it prints once it serves.
LASTING = {"simtrain serve": "Serving", "simtrain world browse": "http://127.0.0.1:", "simtrain relay": ""}
# Made elsewhere: what installs, what reaches a registry, and what takes minutes or plays whole suites in a test of its own.
ELSEWHERE = (
    "make ", "python3 -m venv", ". .venv", "simtrain verify", "simtrain curriculum", "simtrain world check",
    "simtrain world questions", "simtrain run fiction", "simtrain run helpdesk shop", "simtrain export",
)  # fmt: skip


@pytest.mark.full
def test_the_commands_of_the_readme_work_as_pasted(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "simtrain").write_text(f'#!/bin/sh\nexec {sys.executable} -m simtrain "$@"\n')
    (programs / "simtrain").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
    }
    scenario = tmp_path / "scenarios" / "mine" / "newest_invoice.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.write_text(next(blocks("yaml", page="README.md")).text)
    (tmp_path / "my_agent.py").write_text([*blocks("python", page="README.md")][-1].text)
    tried = [command for command in commands_of_the_readme() if not command.startswith(ELSEWHERE)]
    assert len(tried) >= 8
    for command in tried:
        lasting = next((word for start, word in LASTING.items() if command.startswith(start)), None)
        if lasting is None:
            shell = ["bash", "-c", command]
            done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, (command, done.stderr)
            continue
        with subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=tmp_path, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            said = ""
            while lasting and lasting not in said and (line := process.stdout.readline()):
                said += line
            process.terminate()
            said += process.stdout.read()
        assert lasting in said and "error:" not in said and "Traceback" not in said, (command, said)


@pytest.mark.full
def test_the_recipe_for_ci_passes_as_it_is_printed(tmp_path: Path) -> None:
    (recipe,) = [block for block in blocks("sh", page="drills.md") if "--fail-on" in block.text]
    printed = simtrain(*shlex.split(recipe.text)[1:], folder=tmp_path)
    assert "spared: resilient: uncertain_writes/timeout_after: no call matches in" in printed
    assert "never fired" not in printed and "FAILED" not in printed


@pytest.mark.full
def test_the_loop_around_agents_outside_plays_a_whole_drill(tmp_path: Path) -> None:
    """As it is printed, in a shell; the harness stands for somebody's own."""
    (loop,) = [block for block in blocks("sh", page="agents.md") if "my_harness" in block.text]
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {
        "simtrain": f'#!/bin/sh\nexec {sys.executable} -m simtrain "$@"\n',
        "my_harness": '#!/bin/sh\njq -r .url "$1" >> asked.txt\necho "CANNOT: I only look."\n',
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", f"{loop.text}\nwait"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "waiting for agents at http://127.0.0.1:" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "error:" not in done.stderr
    (part,) = (tmp_path / "runs" / "theirs").glob("trajectories-*.jsonl")
    played = part.read_text().splitlines()
    asked = (tmp_path / "asked.txt").read_text().split()
    assert len(played) == len({*asked}) == len(asked) > 3
    assert (tmp_path / "runs" / "theirs" / "drill.json").exists()
    assert {json.loads(line)["stop"]["reason"] for line in played} == {"abstained"}


def test_calls_in_a_file_are_those_that_the_methods_make(tmp_path: Path) -> None:
    (marked,) = blocks("python", page="verify.md")
    (written,) = blocks("yaml", page="verify.md")
    (tmp_path / "calls.yaml").write_text(written.text)
    names: dict[str, Any] = {}
    exec(marked.text, names)
    by_method = {(maker.tool, maker.kind): maker for maker in names["Notes"]().makers()}
    makers = read_makers(tmp_path / "calls.yaml")
    assert {(maker.tool, maker.kind): maker.weight for maker in makers} == {
        key: maker.weight for key, maker in by_method.items()
    }
    past = Past({"note": ["n1", "n2", "n3"]})
    past.drop("note", "n2", "n3")
    for maker, seed in itertools.product(makers, range(20)):
        other = by_method[maker.tool, maker.kind]
        assert maker.arguments(Draw(Stream(seed), past)) == other.arguments(Draw(Stream(seed), past))


def test_the_recipe_of_the_page_on_training_is_valid_with_and_without_its_two_other_lines(tmp_path: Path) -> None:
    (recipe,) = blocks("yaml", page="training.md")
    file = tmp_path / "refunds.yaml"
    file.write_text(recipe.text, "utf-8")
    assert load_recipe(file).server.use == "llama.cpp"
    (two_lines,) = [part.text for part in fenced(recipe.page) if part.info == "fragment" and part.language == "yaml"]
    kept = [line for line in recipe.text.splitlines() if not line.startswith("model:")]
    file.write_text("\n".join([*kept, two_lines]), "utf-8")
    assert load_recipe(file).server.use == "vllm"


@pytest.mark.full
def test_the_tests_of_the_page_on_testing_pass(tmp_path: Path) -> None:
    found = list(blocks("python", page="testing.md"))
    write(tmp_path, *found)
    out = python("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", folder=tmp_path)
    assert f"{len(found)} passed" in out


def test_the_workflow_of_the_page_on_testing_gives_the_action_what_it_takes() -> None:
    (workflow,) = blocks("yaml", page="testing.md")
    (job,) = yaml.safe_load(workflow.text)["jobs"].values()
    step = job["steps"][-1]
    action = ROOT / step["uses"].partition("simtrain/")[2].partition("@")[0] / "action.yml"
    inputs = yaml.safe_load(action.read_text())["inputs"]
    assert step["with"].keys() <= inputs.keys()
    assert {name for name, one in inputs.items() if one.get("required")} <= step["with"].keys()


def test_the_app_of_its_page_is_proved(tmp_path: Path) -> None:
    write(tmp_path, *blocks("yaml", page="apps.md"), *blocks("html", page="apps.md"))
    assert "lending/lend_book  yes" in simtrain("validate", "lending/lend_book", folder=tmp_path)


def test_the_machine_of_its_page_is_proved(tmp_path: Path) -> None:
    write(tmp_path, *blocks("yaml", page="machines.md"))
    assert "shed/highest  yes" in simtrain("validate", "shed/highest", folder=tmp_path)


def test_no_block_of_yaml_is_forgotten() -> None:
    """Every block is tried by a test above, or says that it is a fragment."""
    assert {block.page.name for block in blocks("yaml")} <= {
        "README.md",
        "apps.md",
        "worlds.md",
        "curricula.md",
        "fiction.md",
        "machines.md",
        "scenarios.md",
        "perturbations.md",
        "plugins.md",
        "security.md",
        "testing.md",
        "training.md",
        "training_data.md",
        "verify.md",
    }


def test_a_table_is_scored_as_the_page_says(tmp_path: Path) -> None:
    (scoring,) = blocks("python", page="widesearch.md")
    assert python("-c", scoring.text, folder=tmp_path) == "0.75 0.5 [('observatory', 0.0), ('mirror', 1.0)]\n"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_a_long_page_begins_with_its_contents(page: Path) -> None:
    text = page.read_text()
    if text.count("\n") <= 250:
        return
    head = text.partition("\n## ")[0]
    missing = [
        title for title in re.findall(r"^## (.+)$", text, re.MULTILINE) if f"[{title.replace('`', '')}](#" not in head
    ]
    assert missing == []
