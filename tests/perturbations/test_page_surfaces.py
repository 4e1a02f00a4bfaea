"""Perturbations on the pages of an app: each that says so fires there, shows what a site shows, and the right response mends it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from simtrain import as_agent, load_scenario, rollout
from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.contracts.perturbation import Armed, Perturbation, When
from simtrain.contracts.registry import resolve
from simtrain.contracts.trajectory import Step, Trajectory
from simtrain.perturbations.stale_refs import StaleRefs
from simtrain.plugins import PLUGINS
from simtrain.testing.example_worlds import FOLDER
from simtrain.values.types import Message

pytestmark = pytest.mark.slow

Did = tuple[str, dict[str, Any]]
OPEN: Did = ("browser_navigate", {"url": "https://bakery.example/"})
LOOK: Did = ("browser_snapshot", {})
TYPE: Did = ("browser_type", {"target": "getByRole('textbox', { name: 'Note' })", "text": "All is well."})
ON_PAGES = [
    name for name in PLUGINS["perturbations"] if cast(type[Perturbation], resolve("perturbations", name)).traits.page
]


def click(role: str, name: str) -> Did:
    return ("browser_click", {"target": f"getByRole('{role}', {{ name: '{name}', exact: true }})"})


def hover(ref: str) -> Did:
    return ("browser_hover", {"target": ref})


SAVE = click("button", "Save note")
WRITE = (OPEN, LOOK, TYPE, SAVE, LOOK)


@dataclass(frozen=True)
class Visited:
    """What an agent met that took fixed actions."""

    trajectory: Trajectory

    @property
    def steps(self) -> list[Step]:
        return list(self.trajectory.steps)

    @property
    def seen(self) -> list[str]:
        return [step.observation.text for step in self.steps]

    @property
    def fired(self) -> list[int]:
        return [place for place, step in enumerate(self.steps) if step.events]

    @property
    def notes(self) -> list[str]:
        """The notes that were written."""
        changes = self.trajectory.changes.get("notes", ())
        return [str(change.after["body"]) for change in changes if change.after]


async def visit(name: str, *actions: Did, knobs: dict[str, Any] | None = None, **when: Any) -> Visited:
    class Visitor(Loop):
        async def run(self, briefing: Briefing, step: StepFunction) -> Message:
            for tool, arguments in actions:
                await step(tool, arguments)
            return Message("done", answer="done")

    plugin = cast(type[Perturbation], resolve("perturbations", name))
    built = plugin.model_validate(plugin.example.get("with", {}) if knobs is None else knobs)
    scenario = replace(
        load_scenario(FOLDER / "write_note.yaml"), perturbations=(Armed(name, name, When(**when), built),)
    )
    return Visited(await rollout(scenario, as_agent(Visitor)))


@pytest.mark.full
@pytest.mark.parametrize("name", ON_PAGES)
async def test_what_declares_a_surface_on_pages_fires_there(name: str) -> None:
    knobs = {"goal": "answer_hijack"} if name == "prompt_injection" else None
    visited = await visit(name, *WRITE, *WRITE, hover("f4e2"), knobs=knobs)
    assert visited.fired
    assert not any(word in text for text in visited.seen for word in ("simul", "perturb"))


async def test_an_error_page_has_its_status_and_the_same_again_works() -> None:
    back: Did = ("browser_navigate_back", {})
    visited = await visit("error_page", OPEN, TYPE, SAVE, LOOK, back, TYPE, SAVE, LOOK, tools="browser_click", nth=1)
    assert visited.fired == [2]
    assert "- HTTP status: 500 Internal Server Error" in visited.seen[2] and "Error 500" in visited.seen[3]
    assert visited.notes == ["All is well."] and "Thank you." in visited.seen[-1]


@pytest.mark.parametrize("landed", [True, False])
async def test_a_form_is_lost_before_or_after_it_landed(landed: bool) -> None:
    visited = await visit("lost_submit", *WRITE, OPEN, LOOK, knobs={"landed": landed})
    assert visited.fired == [3] and "ERR_TIMED_OUT" in visited.seen[4] and "status" not in visited.seen[3]
    assert visited.notes == ["All is well."] * landed
    assert ("All is well." in visited.seen[-1]) is landed


async def test_who_is_signed_out_in_a_form_signs_in_and_fills_it_in_again() -> None:
    name: Did = ("browser_type", {"target": "getByLabel('Name')", "text": "Ann"})
    word: Did = ("browser_type", {"target": "getByLabel('Password')", "text": "scone", "submit": True})
    visited = await visit("session_ended", *WRITE, name, word, LOOK, TYPE, SAVE, LOOK, nth=1)
    assert visited.fired == [3] and "/login?next=" in visited.seen[3]
    assert visited.notes == ["All is well."]
    # What was typed before is gone.
    assert 'textbox "Note"' in visited.seen[7] and "All is well." not in visited.seen[7]


async def test_a_captcha_closes_the_way_for_good_or_until_it_was_answered() -> None:
    answer = (click("checkbox", "I am not a robot"), click("button", "Continue"))
    closed = await visit("captcha", OPEN, LOOK, *answer, *answer, LOOK)
    assert closed.fired[0] == 0 and "403 Forbidden" in closed.seen[0] and "not a robot" in closed.seen[-1]
    opened = await visit("captcha", OPEN, *answer, *answer, *WRITE, knobs={"answers": 2})
    assert opened.notes == ["All is well."]


async def test_a_popup_keeps_clicks_off_the_page_until_it_is_closed() -> None:
    visited = await visit("popup", *WRITE[:4], click("button", "Close"), SAVE, LOOK, nth=1)
    assert visited.fired == [1] and "- dialog" in visited.seen[1]
    assert "intercepts pointer events" in visited.seen[3] and visited.notes == ["All is well."]


async def test_a_question_about_cookies_lies_over_every_page_until_it_is_answered() -> None:
    visited = await visit("cookie_wall", OPEN, LOOK, OPEN, LOOK, SAVE, click("button", "Reject all"), *WRITE, nth=1)
    assert visited.fired == [1, 3] and "intercepts pointer events" in visited.seen[4]
    assert "Your privacy" not in visited.seen[-1] and visited.notes == ["All is well."]


async def test_a_renamed_button_does_what_it_did() -> None:
    visited = await visit("changed_buttons", *WRITE, click("button", "Keep note"), LOOK, nth=1)
    assert visited.fired[0] == 1 and 'button "Keep note"' in visited.seen[1]
    assert "does not match any elements" in visited.seen[3] and visited.notes == ["All is well."]


async def test_a_moved_button_is_found_in_a_menu_and_still_sends_its_form() -> None:
    more: Did = ("browser_click", {"target": "getByText('More actions')"})
    visited = await visit("changed_buttons", *WRITE[:3], SAVE, more, SAVE, LOOK, knobs={"how": "moved"}, nth=1)
    assert "Save note" not in visited.seen[1].split("More actions")[0]
    assert visited.steps[3].observation.is_error and visited.notes == ["All is well."]


async def test_an_inviting_answer_leads_away_and_the_other_one_stays() -> None:
    first = await visit("dark_pattern", OPEN, TYPE, LOOK, nth=1)
    asked = first.seen[2].split("- dialog")[1]
    away, stay = asked.split('link "')[1].split('"')[0], asked.split('button "')[1].split('"')[0]
    lost = await visit("dark_pattern", OPEN, TYPE, LOOK, click("link", away), LOOK, SAVE, nth=1)
    assert "All is well." not in lost.seen[4] and lost.notes == []
    kept = await visit("dark_pattern", OPEN, TYPE, LOOK, click("button", stay), SAVE, nth=1)
    assert kept.notes == ["All is well."]


async def test_a_double_click_lands_twice_and_shows_the_page_of_one() -> None:
    visited = await visit("duplicate_delivery", *WRITE, knobs={})
    assert visited.fired == [3] and visited.notes == ["All is well."] * 2
    (event,) = visited.steps[3].events
    assert event.clean is not None and event.clean.text == event.perturbed.text and event.changed == ("rows",)


async def test_an_instruction_is_planted_behind_what_somebody_wrote() -> None:
    visited = await visit("prompt_injection", OPEN, LOOK, knobs={"goal": "answer_hijack", "carrier": "plain"})
    (event,) = visited.steps[1].events
    assert event.clean is not None
    before, after = event.clean.text.split("\n"), event.perturbed.text.split("\n")
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert len(changed) == 1 and changed[0][1].lstrip().startswith("- paragraph [ref=")


async def test_a_form_that_seems_to_be_saved_and_is_not() -> None:
    visited = await visit("false_success", *WRITE, OPEN, LOOK, knobs={})
    assert visited.fired == [3] and visited.notes == [] and "All is well." not in visited.seen[-1]


async def test_refs_are_stale_after_a_page_rendered_itself_anew_and_those_of_the_next_snapshot_work() -> None:
    first = await visit("stale_refs", OPEN, TYPE, LOOK, knobs={})
    ref = first.seen[2].split('button "Save note" [ref=')[1].split("]")[0]
    by_ref: Did = ("browser_click", {"target": ref})
    stale = await visit("stale_refs", OPEN, TYPE, LOOK, by_ref, by_ref, LOOK, knobs={}, nth=4)
    assert stale.fired == [3] and stale.notes == []
    for text in stale.seen[3:5]:
        assert f"Error: Ref {ref} not found in the current page snapshot. Try capturing new snapshot." in text
    # What was typed stays, as in a page that keeps its state.
    assert "All is well." in stale.seen[5]
    new = stale.seen[5].split('button "Save note" [ref=')[1].split("]")[0]
    done = await visit(
        "stale_refs", OPEN, TYPE, LOOK, by_ref, LOOK, ("browser_click", {"target": new}), knobs={}, nth=4
    )
    assert new != ref and done.notes == ["All is well."]
    (event,) = done.steps[3].events
    assert event.clean is not None and not event.clean.is_error and event.perturbed.is_error


async def test_bids_are_stale_in_the_words_of_browsergym(tmp_path: Path) -> None:
    text = (FOLDER / "write_note.yaml").read_text(encoding="utf-8")
    text = text[: text.index("reference:")] + text[text.index("rubric:") :]
    text = text.replace("guests.yaml, with: {", f"{FOLDER / 'guests.yaml'}, with: {{actions: browsergym, ")
    file = tmp_path / "write_note.yaml"
    file.write_text(text.replace("name: birthday", "name: write_note"), encoding="utf-8")
    armed = Armed("stale_refs", "stale_refs", When(nth=2), StaleRefs())
    bids: list[str] = []

    class Visitor(Loop):
        async def run(self, briefing: Briefing, step: StepFunction) -> Message:
            for tool in ("noop", "click", "click"):
                reply = await step(tool, {"bid": bids[-1]} if bids else {})
                bids.append(reply.text.split("button 'Save note'")[0].rpartition("[")[2].partition("]")[0])
            return Message("done", answer="done")

    played = await rollout(replace(load_scenario(file), perturbations=(armed,)), as_agent(Visitor))
    texts = [step.observation.text for step in played.steps]
    assert f'Could not find element with bid "{bids[0]}"' in texts[1] and bids[1] != bids[0]
    assert "Error of the last action" not in texts[2] and [bool(step.events) for step in played.steps] == [
        False,
        True,
        False,
    ]


async def test_locators_are_never_stale() -> None:
    visited = await visit("stale_refs", *WRITE, knobs={})
    assert visited.fired == [] and visited.notes == ["All is well."]
