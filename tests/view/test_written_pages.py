"""The pages that commands write to be mailed: a checker of accessibility finds nothing serious in them, and no payload does anything."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from browsers import accessibility_faults, chromium, need_chromium
from payloads import PAYLOADS

from simtrain.integrations.train.comparison import CaseOutcome
from simtrain.integrations.train.models import SavedModel
from simtrain.integrations.train.page import page as training_page
from simtrain.integrations.train.recipe import load_recipe
from simtrain.integrations.train.report import PlayedModel, TrainingReport
from simtrain.integrations.train.training import Trained
from simtrain.mcp.verify.report import page as verification_page
from simtrain.public import load_scenarios, run
from simtrain.runs.solvability.search import Solution
from simtrain.runs.solvability.survey import Pair, SurveyRow
from simtrain.validation.page import families_page, survey_page
from simtrain.validation.proof import Proof
from simtrain.view.report import write_report
from simtrain.view.shelf import RunShelf

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]


def validation_page(payload: str) -> str:
    return families_page([Proof(payload, cases=3, problems=[payload], warnings=[payload]), Proof("fine", cases=2)])


def solvability_page(payload: str) -> str:
    rows = [SurveyRow("pack", payload, True, 4, Counter(proved=2, unproved=1), {payload: 0.5})]
    pairs = [Pair(payload, payload, payload, True, payload, Solution("unproved", None, (payload,), payload), None)]
    return survey_page(rows, pairs, share=0.6, at_least=0.9, agents={payload: {"earned": 0.5, "declined": 0.25}})


def stand_in_page(payload: str) -> str:
    counts = {"calls": 2, "agreed": 1, "agreement": 0.5, "valid": 1.0, "stateful": 1.0}
    apart = {
        "tool": payload, "problem": payload, "sequence": 1, "index": 2, "kind": "valid", "arguments": {payload: payload},
        "real": {"text": payload}, "stand_in": {"text": payload}, "before": [{"tool": payload, "arguments": {payload: 1}}],
    }  # fmt: skip
    shown = {
        "era": payload, "parts": {payload: {"equal": 1, "of": 2}},
        "differences": [{"place": payload, "real": payload, "stand_in": {payload: payload}}],
    }  # fmt: skip
    facts: Any = {
        "name": payload, "cassette": payload, "seed": 1, "total": counts, "problems": [payload], "tools": {payload: counts},
        "surface": {"equal": 1, "of": 2, "eras": [shown]}, "divergences": [apart],
    }  # fmt: skip
    return verification_page(facts)


def recipe_page(folder: Path, payload: str) -> str:
    recipe = load_recipe(ROOT / "examples" / "training" / "controlled.yaml")
    model = folder / "model"
    model.mkdir(parents=True)
    curve = [{"step": step, "loss": 1 / step, "reward": step / 4, "cpu_seconds": 9.0 * step} for step in range(1, 5)]
    (model / "curve.jsonl").write_text("".join(json.dumps(line) + "\n" for line in curve))
    results = [
        PlayedModel(
            Trained(payload, stage, "sft", 1, model, SavedModel(model)),
            [CaseOutcome(payload, str(case), payload, 1, case % 2 <= stage) for case in range(6)],
        )
        for stage in (0, 1)
    ]
    return training_page(TrainingReport(recipe, "validation", results))


def benchmark_page(payload: str) -> str:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import figures_page
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    figure = {
        "name": payload,
        "value": 2.0,
        "unit": payload,
        "target": 1.0,
        "more": False,
        "ratio": 3.0,
        "note": payload,
    }
    return str(figures_page.page({"benchmarks": {payload: [figure]}}, {}))


def written(folder: Path, payload: str) -> dict[str, Path]:
    """All pages in files, with a payload in each text that is not the page's own."""
    pages = {
        "validation": validation_page(payload),
        "solvability": solvability_page(payload),
        "verification": stand_in_page(payload),
        "training": recipe_page(folder, payload),
        "benchmarks": benchmark_page(payload),
    }
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html)
    return {name: folder / f"{name}.html" for name in pages}


async def test_no_payload_runs_or_loads_anything(tmp_path: Path) -> None:
    program = await asyncio.to_thread(need_chromium)
    async with chromium(program) as browser:
        tab = await browser.new_page()
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
        opened: list[str] = []
        for number, payload in enumerate(PAYLOADS):
            for name, file in written(tmp_path / str(number), payload).items():
                await tab.goto(file.as_uri())
                opened.append(file.as_uri())
                assert await tab.evaluate("window.pwned") is None, (name, payload)
                # The payload is there, to be read; HTML has no null, and breaks lines where it likes.
                shown = await tab.evaluate("document.documentElement.textContent")
                assert "".join(payload.replace("\0", "").split()) in "".join(shown.split()), (name, payload)
    assert asked == opened and len(opened) == 5 * len(PAYLOADS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_checker_of_accessibility_finds_nothing_serious(tmp_path: Path, scheme: str) -> None:
    program = await asyncio.to_thread(need_chromium)
    report = tmp_path / "report.html"
    for agent in ("oracle", "wrong"):
        await asyncio.to_thread(
            run, load_scenarios("helpdesk/refund"), agent, out=tmp_path / "runs" / agent, episodes=4
        )
    assert await asyncio.to_thread(write_report, RunShelf([tmp_path / "runs"]), report) == 8
    async with chromium(program) as browser:
        tab = await browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
        for name, file in written(tmp_path / "written", "a name").items():
            await tab.goto(file.as_uri())
            for place in await tab.locator("details").all():
                await place.evaluate("place => place.open = true")
            assert await accessibility_faults(tab) == [], name
        await tab.goto(report.as_uri())
        assert await accessibility_faults(tab) == [], "the report"
        for number in (1, 8):
            await tab.evaluate(f"location.hash = '{number}'")
            await tab.locator(f"#episode[data-shown='{number}'] h1").wait_for()
            assert await accessibility_faults(tab) == [], f"episode {number} of the report"
