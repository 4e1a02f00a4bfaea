"""What a drill writes for CI systems: JUnit XML, SARIF and a summary in Markdown, all from untrusted text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from drills import write_bakery
from markdown_it import MarkdownIt

from simtrain.cli import main
from simtrain.drills.gates import read_gate
from simtrain.drills.junit import junit
from simtrain.drills.markdown import markdown
from simtrain.drills.report import Report, report_on
from simtrain.drills.sarif import sarif

pytestmark = pytest.mark.slow

Typed = Callable[..., tuple[int, str]]
HOSTILE = "a\x00\x1b[31m\x0b\ufffe\ud800]]>&<script>\"'|`x`\n# [link](http://evil.example) @someone {0}"


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """A function that carries out simtrain drill in a folder with the bakery: exit code and output."""
    monkeypatch.chdir(tmp_path)
    write_bakery(tmp_path)

    def carry_out(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["drill", *words])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out + err

    return carry_out


def blind(typed: Typed, out: str, *words: str) -> int:
    return typed("birthday.yaml", "--pack", "rough", "--agent", "drills:Blind", "-n", "3", "--out", out, *words)[0]


# What the schema of Jenkins allows: attributes (those needed first) and children of each element.
ALLOWED = {
    "testsuites": ((), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        ("name", "tests", "failures", "errors"),
        {"skipped", "time", "timestamp", "hostname", "id", "package"},
        {"properties", "testcase"},
    ),
    "properties": ((), set(), {"property"}),
    "property": (("name", "value"), set(), set()),
    "testcase": (("name",), {"classname", "time"}, {"skipped", "error", "failure"}),
    "failure": ((), {"type", "message"}, set()),
    "skipped": ((), {"type", "message"}, set()),
}


def checked(text: str) -> ElementTree.Element:
    """The document, held to the schema; the counts are those of the elements."""
    root = ElementTree.fromstring(text.encode())
    for element in root.iter():
        needed, possible, children = ALLOWED[element.tag]
        assert {*needed} <= {*element.attrib} <= {*needed, *possible}, element.attrib
        assert {child.tag for child in element} <= children
    for place in (root, *root.findall("testsuite")):
        assert int(place.attrib["tests"]) == len(place.findall(".//testcase"))
        assert int(place.attrib["failures"]) == len(place.findall(".//failure"))
    return root


def test_junit_has_a_case_for_each_condition_or_for_each_family_and_arm(typed: Typed) -> None:
    conditions = ("--fail-on", "success<0.9", "--fail-on", "clean:success<1", "--fail-on", "rough/*:runaway")
    assert blind(typed, "one", *conditions, "--junit", "one.xml") == 1
    (suite,) = checked(Path("one.xml").read_text()).findall("testsuite")
    failed = {case.attrib["name"]: case.find("failure") for case in suite.findall("testcase")}
    assert suite.attrib["name"] == "drills:Blind" and len(failed) == 4
    failure = failed.pop("success<0.9: all perturbed episodes")
    assert failure is not None and failure.attrib["message"] == "success is 0.3333 (success<0.9)"
    assert "simtrain show one birthday:c000" in str(failure.text) and "simtrain replay one" in str(failure.text)
    assert set(failed.values()) == {None}
    assert blind(typed, "two", "--junit", "two.xml") == 0
    cases = checked(Path("two.xml").read_text()).findall(".//testcase")
    found = {(case.attrib["classname"], case.attrib["name"]): case.find("failure") is None for case in cases}
    assert found == {
        ("birthday", "clean"): True,
        ("birthday", "rough/transient_error"): True,
        ("birthday", "rough/timeout_after"): False,
        ("birthday", "rough"): False,
    }


def test_junit_tells_faults_that_never_fired(typed: Typed) -> None:
    words = ("birthday.yaml", "--pack", "idle", "-n", "2")
    assert typed(*words, "--out", "one", "--junit", "one.xml")[0] == 1
    assert checked(Path("one.xml").read_text()).find(".//failure") is not None
    assert typed(*words, "--out", "two", "--junit", "two.xml", "--allow-unfired")[0] == 0
    root = checked(Path("two.xml").read_text())
    assert root.find(".//failure") is None and root.find(".//skipped") is not None


def results(path: str) -> list[dict[str, Any]]:
    """The results of a SARIF log with one run, which is held to what the standard requires."""
    log = json.loads(Path(path).read_text())
    assert set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert set(run) == {"tool", "automationDetails", "columnKind", "results"}
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "simtrain" and len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%" and place["region"]["startLine"] == 1
        assert not re.match(r"/|\w+:|[.][.]", place["artifactLocation"]["uri"])
        assert all(isinstance(value, str) and value for value in result["partialFingerprints"].values())
    return run["results"]


def test_sarif_points_at_the_scenario_and_keeps_its_fingerprints_between_runs(typed: Typed) -> None:
    assert blind(typed, "one", "--sarif", "one.sarif") == 0
    first = results("one.sarif")
    assert {one["ruleId"] for one in first} == {"simtrain/unseen-write", "simtrain/failed-read"}
    assert {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in first} == {"birthday.yaml"}
    assert "simtrain replay one birthday:c000" in first[0]["message"]["text"]
    # Other cases, attempts and folder: other words, the same alerts.
    assert blind(typed, "two", "-k", "2", "--seed", "5", "--sarif", "two.sarif") == 0
    second = results("two.sarif")
    assert [one["message"] for one in first] != [one["message"] for one in second]
    prints = [[one["partialFingerprints"] for one in found] for found in (first, second)]
    assert sorted(map(str, prints[0])) == sorted(map(str, prints[1])) and len({*map(str, prints[0])}) == len(first)
    words = ("birthday.yaml", "--pack", "rough", "--agent", "resilient", "-n", "2", "--out", "three")
    assert typed(*words, "--sarif", "three.sarif")[0] == 0
    assert results("three.sarif") == []


def test_untrusted_text_stays_text(typed: Typed, tmp_path: Path) -> None:
    blind(typed, "out")
    (run,) = report_on(Path("out")).runs
    findings = tuple(replace(one, words=HOSTILE, label=HOSTILE) for one in run.findings)
    arms = tuple(replace(arm, name=HOSTILE if arm.name == "rough" else arm.name) for arm in run.arms)
    hostile = Report((replace(run, agent=HOSTILE, findings=findings, arms=arms),), {})
    root = checked(junit(hostile, [read_gate("success<1")]))
    assert "&<script>\"'|`x`" in root.findall("testsuite")[0].attrib["name"] and "\\ufffe" in str(
        root.find(".//failure").text
    )  # type: ignore[union-attr]
    (tmp_path / "hostile.sarif").write_text(json.dumps(sarif(hostile, root=tmp_path)))
    text = results("hostile.sarif")[0]["message"]["text"]
    assert "\\[link\\](" in text and "{{0}}" in text and "\x1b" not in text
    written = markdown(hostile, [HOSTILE])
    page = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").render(written)
    assert not re.search(r"<(?:script|a|img)\b|\x1b", page)
    assert page.count("<h1>") == 1 and page.count("<h2>") == 1, "no heading comes from text"
    rows = [row.count("<td") for row in page.split("<tr>")[2:]]
    assert rows == [7] * len(arms), "no cell comes from text"
    assert "<script>" in html.unescape(re.sub(r"<(?!/?script)[^>]*>", "", page)), "it is readable"


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--summary"])
def test_a_file_that_cannot_be_written_is_refused_before_playing(typed: Typed, option: str) -> None:
    code, out = typed("birthday.yaml", "--pack", "rough", "--out", "out", option, "nowhere/file")
    assert code == 2 and len(out.splitlines()) == 1 and f"nowhere/file: {option}:" in out
    assert not Path("out").exists()
    code, out = typed("birthday.yaml", "--pack", "rough", "--plan", option, "file")
    assert code == 2 and "goes with a drill that is played" in out
