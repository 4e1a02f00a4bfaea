"""The command line: what each command prints, writes and ends with."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from bakery import write_files
from typed_commands import Typed

from simtrain.cli import COMMANDS
from simtrain.files.yaml_files import read_document
from simtrain.testing import FakeOpenAI, Refuse, Say
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUN = ("run", "birthday.yaml", "--agent", "oracle", "--out", "out")


def test_help_names_every_command_and_fits_80_columns(typed: Typed) -> None:
    code, out, _ = typed("--help")
    assert code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_examples_and_json(command: str, typed: Typed) -> None:
    code, out, _ = typed(command, "--help")
    assert code == 0
    assert f"Examples:\n    simtrain {command}" in out and "--json" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_version_is_printed(typed: Typed) -> None:
    code, out, _ = typed("--version")
    assert (code, out.strip()) == (0, read_version())


def read_version() -> str:
    import simtrain

    return simtrain.__version__


def test_without_a_command_the_help_is_printed(typed: Typed) -> None:
    code, out, err = typed()
    assert (code, out) == (2, "") and "Commands:" in err


def test_run_prints_only_json_on_standard_output(typed: Typed) -> None:
    code, out, err = typed(*RUN, "--json")
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert (result["run"], result["played"], result["skipped"], result["failed"]) == ("out", 12, 0, 0)
    assert result["total"]["success"] == 1.0 and list(result["scenarios"]) == ["birthday"]


def test_a_resumed_run_plays_what_is_missing(typed: Typed, tmp_path: Path) -> None:
    assert typed(*RUN, "--episodes", "5", "--json")[0] == 0
    part = next((tmp_path / "out").glob("trajectories-*.jsonl"))
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[:2]))
    code, out, _ = typed(*RUN, "--episodes", "5", "--resume", "--json")
    assert (code, json.loads(out)["played"], json.loads(out)["skipped"]) == (0, 3, 2)


@pytest.mark.parametrize("there", ["no folder", "empty folder", "a folder that a killed run had just made"])
def test_a_resumed_run_begins_where_none_is(there: str, typed: Typed, tmp_path: Path) -> None:
    if there != "no folder":
        (tmp_path / "out").mkdir()
    if there.startswith("a folder"):
        (tmp_path / "out" / ".lock").touch()
        (tmp_path / "out" / ".run.json.tmp").write_text('{"format"')
    code, out, _ = typed(*RUN, "--episodes", "5", "--resume", "--json")
    assert (code, json.loads(out)["played"], json.loads(out)["skipped"]) == (0, 5, 0)
    code, out, _ = typed(*RUN, "--episodes", "6", "--resume", "--json")
    assert (code, json.loads(out)["played"], json.loads(out)["skipped"]) == (0, 1, 5)
    assert not (tmp_path / "out" / ".run.json.tmp").exists()


def test_a_run_whose_model_fails_ends_with_1(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(lambda _: Refuse(500)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words = ("run", "birthday.yaml", "--agent", "chat:fake", "--with", "attempts=1", "--out", "out", "--json")
        code, out, _ = typed(*words, "--episodes", "2")
    assert (code, json.loads(out)["failed"]) == (1, 2)


def test_an_agent_that_does_badly_is_no_failure_of_the_run(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(lambda _: Say("ANSWER: 0")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        code, out, _ = typed("run", "birthday.yaml", "--agent", "chat:fake", "--out", "out", "--json")
    assert (code, json.loads(out)["total"]["success"]) == (0, 0.0)


def test_a_run_without_a_folder_takes_the_next_free_name(typed: Typed) -> None:
    folders = [json.loads(typed("run", "birthday.yaml", "-n", "1", "--json")[1])["run"] for _ in range(2)]
    assert folders == ["runs/birthday", "runs/birthday-2"]


def test_the_results_fit_80_columns_and_cut_no_name(typed: Typed) -> None:
    code, out, _ = typed("run", "airline", "--agent", "abstain", "--episodes", "8", "--out", "out")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "airline/change_flight_refused " in out and " abstained" in out


def test_show_prints_figures_and_a_trajectory(typed: Typed) -> None:
    typed(*RUN)
    code, out, _ = typed("show", "out")
    assert code == 0
    assert "Results" in out and "orders.place" in out and "reward: 1.00" in out


def test_show_finds_one_episode(typed: Typed) -> None:
    typed(*RUN)
    code, out, _ = typed("show", "out", "birthday:c0003", "--json")
    assert (code, json.loads(out)["episode"]) == (0, "c0003")


def test_show_finds_what_failed(typed: Typed) -> None:
    typed("run", "birthday.yaml", "--agent", "nop", "--out", "out", "-n", "2")
    code, out, _ = typed("show", "out", "--failed", "--json")
    assert code == 0 and json.loads(out)["reward"] < 1


def test_grade_grades_by_the_present_rubric(typed: Typed, tmp_path: Path) -> None:
    typed("run", "birthday.yaml", "--agent", "nop", "--out", "out")
    text = (tmp_path / "birthday.yaml").read_text()
    kept = text[: text.index("rubric:")]
    (tmp_path / "birthday.yaml").write_text(
        kept + "rubric: {calls: optional, graders: [{use: tool_use, with: {max_calls: 3}}]}\n"
    )
    code, out, err = typed("grade", "out", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["total"]["success"] == 1.0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["total"]["success"] == 1.0
    assert "12 trajectories graded." in typed("grade", "out")[1]


@pytest.mark.parametrize("exporter", ["openai", "sharegpt", "atif", "steps"])
def test_export_writes_every_format(exporter: str, typed: Typed, tmp_path: Path) -> None:
    typed(*RUN)
    code, out, err = typed("export", "out", "--format", exporter, "-o", "rows.jsonl", "--json")
    tally = json.loads(out)
    assert (code, err) == (0, "")
    assert (tally["read"], tally["exported"], tally["unfit"]) == (12, 12, 0)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == tally["rows"] >= 12


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("--min-reward 1", 12), ("--max-reward 0.5", 0), ("--scenario birth*", 12), ("--scenario other", 0), ("--agent oracle", 12),
        ("--agent chat*", 0), ("--stop answered", 12), ("--stop budget --stop failed", 0), ("--fired slow", 12), ("--fired fast", 0),
        ("--not-fired slow", 0), ("--not-fired fast", 12), ("--min-reward 1 --fired fast", 0),
    ],
)  # fmt: skip
def test_the_filters_of_export_choose(filters: str, expected: int, typed: Typed, tmp_path: Path) -> None:
    write_files(tmp_path, more="perturbations: [{use: latency, as: slow}]\n")
    typed(*RUN)
    code, out, _ = typed("export", "out", "--format", "steps", "-o", "rows.jsonl", "--json", *filters.split())
    assert (code, json.loads(out)["exported"]) == (0, expected)


def test_a_knob_of_an_exporter_is_heard(typed: Typed, tmp_path: Path) -> None:
    write_files(tmp_path, more="perturbations: [{use: latency, as: slow}]\n")
    typed(*RUN)
    for keep in ("true", "false"):
        assert typed("export", "out", "--format", "steps", "-o", keep, "--with", f"labels={keep}")[0] == 0
    assert '"slow"' in (tmp_path / "true").read_text() and '"slow"' not in (tmp_path / "false").read_text()


PERTURBATION = {"about", "knobs", "example", "right_response", "side", "layer", "effect", "recoverable_by", "shipped"}


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("scenarios", "helpdesk/refund", {"world", "about", "tools", "graders", "perturbations", "impossible", "twin", "file"}),
        ("worlds", "helpdesk", {"kind", "about", "tools", "tables", "digest", "file"}),
        ("perturbations", "latency", PERTURBATION),
        ("perturbations", "uncertain_writes", {"about", "severity", "perturbations", "file"}),
        ("agents", "resilient", {"about", "knobs", "example", "shipped"}),
        ("graders", "forbidden", {"about", "knobs", "example", "gates", "shipped"}),
        ("exporters", "atif", {"about", "knobs", "example", "shipped"}),
        ("world_models", "embedded", {"about", "knobs", "example", "shipped"}),
    ],
)  # fmt: skip
def test_list_tells_what_there_is(kind: str, name: str, fields: set[str], typed: Typed) -> None:
    code, out, _ = typed("list", kind, "--json")
    row = next(row for row in json.loads(out) if row["name"] == name)
    assert code == 0 and row["about"] and fields | {"name"} == set(row)
    code, out, _ = typed("list", kind)
    assert code == 0 and name in out and max(map(len, out.splitlines())) <= 80


WITHOUT_PYGIT2 = """
import sys
from simtrain.values import extras
found = extras.find_spec
extras.find_spec = lambda name: None if name == "pygit2" else found(name)
from simtrain.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_world_that_needs_an_extra_is_listed_and_says_so() -> None:
    listed, served = (
        subprocess.run([sys.executable, "-c", WITHOUT_PYGIT2, *words], capture_output=True, text=True, check=False)
        for words in (("list", "worlds", "--json"), ("serve", "git"))
    )
    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert rows["git"]["about"] == "needs an extra: pip install 'simtrain[git]'" and rows["filesystem"]["tools"]
    assert served.returncode == 2 and "pip install 'simtrain[git]'" in served.stderr


def test_files_of_the_working_folder_are_listed(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "birthday.yaml").rename(tmp_path / "scenarios" / "cakes.yaml")
    names = [row["name"] for row in json.loads(typed("list", "scenarios", "--json")[1])]
    assert "cakes" in names and "helpdesk/refund" in names


def test_validate_proves_and_tells(typed: Typed) -> None:
    code, out, _ = typed("validate", "birthday.yaml", "--json")
    assert [(row["name"], row["ok"]) for row in json.loads(out)] == [("birthday", True)] and code == 0


def test_validate_ends_with_1_for_a_family_that_cannot_be_proved(typed: Typed, tmp_path: Path) -> None:
    text = (tmp_path / "birthday.yaml").read_text()
    (tmp_path / "birthday.yaml").write_text(text.replace("amount: 2}", "amount: 1}"))
    code, out, _ = typed("validate", "birthday.yaml", "--json")
    assert code == 1 and json.loads(out)[0]["ok"] is False and json.loads(out)[0]["problems"]


def test_validate_goes_on_after_a_file_that_cannot_be_used(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("name: broken\n")
    code, out, err = typed("validate", "broken.yaml", "birthday.yaml", "--json")
    assert code == 2
    assert [(row["name"], row["ok"]) for row in json.loads(out)] == [("broken", False), ("birthday", True)]
    assert err.startswith("error: broken.yaml:1: ") and err.count("\n") == 1


def schema(typed: Typed, kind: str) -> jsonschema_rs.Validator:
    code, out, _ = typed("schema", kind)
    assert code == 0
    return jsonschema_rs.validator_for(json.loads(out))


@pytest.mark.parametrize(
    ("kind", "files"),
    [("scenario", "scenarios/*/*.yaml"), ("world", "worlds/*.yaml"), ("pack", "perturbations/*.yaml")],
)
def test_every_shipped_file_fits_its_schema(kind: str, files: str, typed: Typed) -> None:
    validator = schema(typed, kind)
    paths = sorted(ROOT.glob(files))
    found = {path.stem: [error.message for error in validator.iter_errors(read_document(path).data)] for path in paths}
    assert paths and {name: errors for name, errors in found.items() if errors} == {}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("scenario", {"limit": {}}),
        ("scenario", {"rubric": [{"use": "answr"}]}),
        ("scenario", {"rubric": [{"use": "answer", "with": {"as": "words"}}]}),
        ("scenario", {"rubric": [{"use": "answer", "with": {"sql": "select 1", "form": "number"}}]}),
        ("scenario", {"perturbations": [{"use": "latency", "with": {"seconds": -1}}]}),
        ("scenario", {"rubric": [{"use": "judge"}]}),
        ("scenario", {"world_models": [{"use": "embeded"}]}),
        ("scenario", {"domain": "mpc"}),
        ("world", {"tools": [{"name": "a.b", "description": "It does.", "wrtie": []}]}),
        ("world", {"kind": "servce"}),
        ("pack", {"perturbations": [{"use": "latensy"}]}),
    ],
    ids=str,
)
def test_a_schema_finds_what_is_wrong(kind: str, change: JsonObject, typed: Typed) -> None:
    good = {
        "scenario": "scenarios/helpdesk/refund",
        "world": "worlds/helpdesk",
        "pack": "perturbations/uncertain_writes",
    }
    data = read_document(ROOT / f"{good[kind]}.yaml").data
    validator = schema(typed, kind)
    assert validator.is_valid(data) and not validator.is_valid({**data, **change})


def test_a_trajectory_fits_its_schema(typed: Typed, tmp_path: Path) -> None:
    write_files(
        tmp_path,
        more="perturbations: [timeout_after, latency]\n".replace(
            "timeout_after, latency", "{use: timeout_after, when: {writes: true}}"
        ),
    )
    typed("run", "birthday.yaml", "--out", "out")
    validator = schema(typed, "trajectory")
    lines = next((tmp_path / "out").glob("trajectories-*.jsonl")).read_text().splitlines()
    assert [error.message for line in lines for error in validator.iter_errors(json.loads(line))] == []
    assert not validator.is_valid({**json.loads(lines[0]), "stop": {"reason": "tired"}})


def test_curricula_and_their_ledgers_heads_fit_their_schema(typed: Typed, tmp_path: Path) -> None:
    validator = schema(typed, "curriculum")
    good = {"name": "rising", "packs": ["flaky_network"], "severity": {"start": 0, "end": 1, "curve": "exponential"}}
    adaptive = {"name": "banded", "adaptive": {"levels": 4, "low": 0.5, "high": 0.8}}
    assert validator.is_valid(good) and validator.is_valid(adaptive)
    for wrong in ({"stages": 0}, {"severity": {"start": 0}}, {"severity": {"start": 0, "end": 1, "curve": "log"}}):
        assert not validator.is_valid({**good, **wrong})


def test_a_drill_s_report_fits_its_schema(typed: Typed, tmp_path: Path) -> None:
    more = "perturbations: [{use: transient_error, when: {nth: 1}}]\n"
    write_files(tmp_path, more=more)
    validator = schema(typed, "drill")
    for agents in (["--agent", "resilient"], ["--agent", "naive", "--agent", "resilient"]):
        code, _, _ = typed("drill", "birthday.yaml", *agents, "-n", "2", "--out", f"out-{len(agents)}", "--json")
        assert code == 0
        report = json.loads((tmp_path / f"out-{len(agents)}" / "drill.json").read_text())
        assert [error.message for error in validator.iter_errors(report)] == []
        assert not validator.is_valid({**report, "runs": [{"agent": "nobody"}]})


def test_schemas_are_written_to_a_folder(typed: Typed, tmp_path: Path) -> None:
    code, out, _ = typed("schema", "-o", "schemas")
    names = ["scenario", "world", "pack", "curriculum", "recipe", "drill", "trajectory"]
    assert code == 0 and out.split() == [f"schemas/{name}.schema.json" for name in names]
    assert all(json.loads((tmp_path / line).read_text())["$schema"] for line in out.split())
    assert set(json.loads(typed("schema")[1])) == set(names)


def test_a_starter_is_proved_and_runs(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = typed("init", "mine")
    assert code == 0 and "Now: cd mine" in out
    monkeypatch.chdir(tmp_path / "mine")
    code, out, _ = typed("validate", "library", "--json")
    proof = json.loads(out)[0]
    assert (code, proof["ok"], proof["problems"]) == (0, True, []) and proof["cases"] >= 10 and len(proof["rules"]) >= 2
    code, out, _ = typed("run", "library", "--json")
    assert (code, json.loads(out)["total"]["success"]) == (0, 1.0)
    for kind, file in (("world", "worlds/library.yaml"), ("scenario", "scenarios/library/renew_loan.yaml")):
        first = Path(file).read_text().splitlines()[0]
        named = Path(file).parent / first.partition("$schema=")[2]
        assert first.startswith("# yaml-language-server: $schema=")
        assert named.resolve() == (tmp_path / "mine" / "schemas" / f"{kind}.schema.json")
        assert jsonschema_rs.validator_for(json.loads(named.read_text())).is_valid(read_document(Path(file)).data)


@pytest.mark.parametrize(("kind", "page"), [("machine", "machines.md"), ("app", "apps.md")])
def test_a_starter_of_another_kind_is_what_its_page_of_the_docs_proves(
    kind: str, page: str, typed: Typed, tmp_path: Path
) -> None:
    code, out, _ = typed("init", "mine", "--kind", kind, "--json")
    assert code == 0
    shown = re.findall(r"```\w+ file=(\S+)\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    written = {str(Path(line).relative_to("mine")) for line in json.loads(out) if "schemas" not in line}
    assert len(shown) > 1 and {name for name, _ in shown} == written
    for name, text in shown:
        head, _, rest = (tmp_path / "mine" / name).read_text().partition("\n")
        if name.endswith(".yaml"):
            schema = (tmp_path / "mine" / name).parent / head.partition("$schema=")[2]
            known = jsonschema_rs.validator_for(json.loads(schema.read_text()))
            assert rest == text and known.is_valid(read_document(tmp_path / "mine" / name).data)
        else:
            assert f"{head}\n{rest}" == text


@pytest.mark.parametrize(
    "there", ["worlds/library.yaml", "scenarios/library/renew_loan.yaml", "schemas/pack.schema.json"]
)
def test_a_starter_overwrites_nothing(there: str, typed: Typed, tmp_path: Path) -> None:
    (tmp_path / there).parent.mkdir(parents=True)
    (tmp_path / there).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    code, _, err = typed("init")
    assert code == 2 and f"{there}: the file is already there" in err
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / there).read_text() == "mine"


def test_the_starter_travels_in_the_wheel() -> None:
    from importlib.resources import files

    assert files("simtrain.cli").joinpath("starter/worlds/library.yaml").is_file()


def checks(typed: Typed) -> tuple[int, bool, dict[str, JsonObject]]:
    code, out, _ = typed("doctor", "--json")
    report = json.loads(out)
    return code, report["ok"], {check["name"]: check for check in report["checks"]}


def test_doctor_finds_all_that_is_needed(typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://secret-2.example/v1")
    monkeypatch.setenv("SIMTRAIN_PATH", str(tmp_path / "elsewhere"))
    code, ok, found = checks(typed)
    assert (code, ok) == (0, True)
    assert {"python", "openai", "langgraph", "pydantic", "sqlite", "world helpdesk", "disk", "shipped files"} <= set(
        found
    )
    assert found["OPENAI_API_KEY"] == {"name": "OPENAI_API_KEY", "ok": True, "needed": False, "found": "set"}
    assert "secret" not in json.dumps(found)
    code, out, _ = typed("doctor")
    assert code == 0 and "elsewhere" in out.replace("\n", "").replace(" ", "") and "secret" not in out


@pytest.mark.parametrize(("version", "found"), [("0.27.2", "0.27.2"), ("14.9", "14.9"), (None, "not installed")])
def test_doctor_ends_with_1_when_a_package_is_too_old_or_missing(
    version: str | None, found: str, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = importlib.metadata.version

    def told(name: str) -> str:
        if name != "rich":
            return true(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", told)
    code, ok, checked = checks(typed)
    assert (code, ok, checked["rich"]["ok"]) == (1, False, False) and found in str(checked["rich"]["found"])


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "simtrain", "schema"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert process.stdout and process.stderr
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1 and errors == b""
