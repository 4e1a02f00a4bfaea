"""The skills of the resilient agent, one by one: what they read out of errors, names and replies, and what they leave alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simtrain import rollout
from simtrain.agents.planned import Planned
from simtrain.agents.skills.across import is_barred, rest_of_batch
from simtrain.agents.skills.agreeing import agreed, same_subject
from simtrain.agents.skills.doubts import Doubt, doubt_about
from simtrain.agents.skills.fixing import fixed
from simtrain.agents.skills.messages import message_in, quoted_in
from simtrain.agents.skills.naming import likeness
from simtrain.agents.skills.needs import kinds_read, may_fail, names_read
from simtrain.agents.skills.reading import content_of, named
from simtrain.agents.skills.remedies import Remedies
from simtrain.agents.skills.renamed import new_names, renamed_arguments
from simtrain.agents.skills.stand_ins import stand_ins
from simtrain.agents.skills.typed import Kind, TypedReader
from simtrain.contracts.plan import CallStep, Plan
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.values.types import JsonObject, Observation, ToolSpec


def tool(name: str, description: str = "", *, writes: bool = False, **properties: Any) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key, of in properties.items() if of.pop("must", 0)],
    }
    return ToolSpec(name, description, schema, None, writes)


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "one, other", [("customer_id", "customerIdentifier"), ("query", "search_text"), ("starts_at", "start")]
)
def test_names_that_mean_the_same_are_alike(one: str, other: str) -> None:
    assert likeness(one, other) >= 0.5 > likeness(one, "colour")


def test_a_renamed_tool_is_found_by_what_it_is_about_and_its_arguments_by_what_they_mean() -> None:
    steps = [CallStep.model_validate({"call": "crm.search_people", "with": {"query": "x"}})]
    offered = [
        tool("crm.fetch_person", "One person.", person_identifier={**TEXT, "must": 1}),
        tool("crm.lookup_people", "Find people by name.", search_text=dict(TEXT), country={"enum": ["DE", "FR"]}),
        tool("crm.remove_person", "Delete a person.", writes=True, person_identifier={**TEXT, "must": 1}),
    ]
    assert new_names(steps, offered) == {"crm.search_people": "crm.lookup_people"}
    assert renamed_arguments({"query": "x"}, offered[1]) == {"search_text": "x"}
    assert renamed_arguments({"land": "FR"}, offered[1]) == {"country": "FR"}


def test_a_tool_that_is_offered_is_never_renamed() -> None:
    steps = [CallStep.model_validate({"call": "crm.search"})]
    assert new_names(steps, [tool("crm.search"), tool("crm.find")]) == {}


@pytest.mark.parametrize(
    "error, remedy",
    [
        ('{"error": {"message": "The token has expired. Renew the session with sign_in_again."}}', ("crm.sign_in_again", {})),
        ("The module 'fonts' is required and is not installed.", ("modules.install", {"module": "fonts"})),
        ("403: this account lacks the right 'crm:write'; the owner can grant it.", ("access.ask", {"right": "crm:write"})),
        ("No customer of that name.", None),
    ],
)  # fmt: skip
def test_a_tool_that_removes_the_cause_is_told_by_its_words(error: str, remedy: tuple[str, JsonObject] | None) -> None:
    spare = [
        tool("crm.sign_in_again", "Renew the session."),
        tool("modules.install", "Install a module.", writes=True, module={**TEXT, "must": 1}),
        tool(
            "access.ask", "Ask the owner for a right that this account lacks.", writes=True, right={**TEXT, "must": 1}
        ),
        tool("crm.delete", "Delete a customer of that name.", writes=True, customer_id={**TEXT, "must": 1}),
    ]
    found = next(Remedies(spare, frozenset()).against(error, Planned("crm.search", {}), {}), None)
    assert (None if found is None else (found.tool, found.arguments)) == remedy


def test_an_error_is_fixed_by_the_names_that_it_quotes() -> None:
    call = Planned("crm.search", {"query": "x", "limit": 5})
    drifted = next(fixed(call, None, "Unknown argument 'query'. Did you mean 'text'?", {}))
    assert drifted.arguments == {"text": "x", "limit": 5}
    wanting = tool("crm.search", query=dict(TEXT), limit={"type": "integer"}, kind={"enum": ["person", "firm"]})
    missing = '{"error": "validation", "message": "Missing required argument \'kind\'."}'
    assert next(fixed(call, wanting, missing, {})).arguments == {"query": "x", "limit": 5, "kind": "person"}
    assert next(fixed(call, wanting, missing, {"kind": "firm"})).arguments["kind"] == "firm"


def test_what_an_error_says_is_its_longest_text() -> None:
    text = json.dumps({"errors": [{"status": "401", "detail": "Use 'renew' or `again`, don't wait."}]})
    assert message_in(text).startswith("Use 'renew'") and quoted_in(text) == ["renew", "again"]
    assert message_in("plain words") == "plain words"


def test_only_the_items_that_failed_are_repeated() -> None:
    call = Planned("mail.tag", {"ids": ["a1", "b2", "c3"], "label": "x"})
    assert rest_of_batch(call, "1 of 3 ids failed: ids[1] b2: 503").arguments == {"ids": ["b2"], "label": "x"}
    assert rest_of_batch(call, "503 Service Unavailable") == call


@pytest.mark.parametrize(
    "error, barred",
    [("403 Forbidden", True), ("The record is locked.", True), ("503", True), ("No seats left.", False)],
)
def test_a_service_that_will_not_is_told_from_a_rule_that_speaks_against_it(error: str, barred: bool) -> None:
    assert is_barred(error) is barred


@pytest.mark.parametrize(
    "text",
    [
        "{'id': 'A1', 'open': True, 'rest': None}",
        '{"id": "A1", "open": true, "rest": null',
        '{"id": "A1", "open": true, "rest": [{"x": "y',
    ],
)
def test_broken_json_is_read_as_far_as_it_goes(text: str) -> None:
    content = content_of(Observation(text))
    assert content is not None and (content["id"], content["open"]) == ("A1", True)


@pytest.mark.parametrize("text", ["<html>{}</html>", '{"a": 1}', "{this is no JSON}", "plain"])
def test_a_text_that_is_no_broken_object_stays_a_text(text: str) -> None:
    assert content_of(Observation(text)) is None


def test_numbers_dates_and_names_take_their_usual_form_and_texts_stay_texts() -> None:
    value = {
        "sum": "1,234.50",
        "n": "12",
        "on": "true",
        "day": "3 March 2031",
        "at": "3 March 2031, 09:05 UTC",
        "who": "ADA LOVE",
        "size": "41",
        "no": "007",
    }
    read = TypedReader({"ADA LOVE": "Ada Love"}, frozenset({"41"}), {}).read(value, None)
    assert read == {
        "sum": 1234.5,
        "n": 12,
        "on": True,
        "day": "2031-03-03",
        "at": "2031-03-03T09:05:00Z",
        "who": "Ada Love",
        "size": "41",
        "no": "007",
    }


def reader(**kinds: Kind) -> TypedReader:
    return TypedReader({}, frozenset(), {name: frozenset({kind}) for name, kind in kinds.items()})


def test_values_are_read_as_the_type_that_is_documented_first() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "open": {"type": ["boolean", "string", "integer"]},
            "shut": {"type": ["boolean", "string", "integer"]},
            "seats": {"type": ["integer", "string"]},
            "zip": {"type": ["string", "integer"]},
            "merged_into": {"type": ["string", "null", "integer"]},
            "created_at": {"type": ["string", "integer"]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
            "owner": {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]},
        },
    }
    bent: JsonObject = {
        "open": "yes", "shut": 0, "seats": "12", "zip": "12345", "merged_into": "null", "created_at": 1932584940,
        "tags": "new", "owner": [{"id": "A1"}],
    }  # fmt: skip
    assert reader().read(bent, schema) == {
        "open": True, "shut": False, "seats": 12, "zip": "12345", "merged_into": None, "created_at": "2031-03-29T21:09:00Z",
        "tags": ["new"], "owner": {"id": "A1"},
    }  # fmt: skip


def test_what_is_documented_as_no_type_is_read_as_what_was_heard_under_its_name_and_else_left_alone() -> None:
    bent: JsonObject = {"active": "no", "ends": "", "tags": "new", "until": 1932584940}
    heard = reader(active=Kind.truth, ends=Kind.number, tags=Kind.list, until=Kind.instant)
    assert heard.read(bent, None) == {"active": False, "ends": None, "tags": ["new"], "until": "2031-03-29T21:09:00Z"}
    strange: JsonObject = {"answer": "no", "note": "", "tags": "new", "size": 1932584940, "seconds": 1}
    assert reader().read(strange, None) == strange


def test_what_a_plan_takes_a_field_for_says_what_it_is() -> None:
    plan = Plan.model_validate({
        "steps": [{"set": {"free": "{{ seats | selectattr('open') | selectattr('held_by', 'none') | list }}"}}],
        "answer": "{{ free[0].rows[0] }}",
    })  # fmt: skip
    assert kinds_read(plan) == {
        "open": frozenset({Kind.truth}),
        "held_by": frozenset({Kind.nothing}),
        "rows": frozenset({Kind.list}),
    }


def test_a_field_under_another_name_is_given_its_own_as_well() -> None:
    schema = {"properties": {"id": {}, "amount": {}, "total_amount": {}}, "required": ["amount"]}
    drifted = {"properties": {"id": {}, "identifier": {}, "amount": {}, "total_amount": {}}, "required": []}
    assert named({"identifier": "A1", "amount": 2}, drifted | {"required": ["amount"]}, frozenset({"id", "amount"})) == {
        "identifier": "A1", "id": "A1", "amount": 2,
    }  # fmt: skip
    whole = {"id": "A1", "amount": 2}
    assert named(whole, schema, frozenset({"id", "amount"})) == whole


def test_replies_agree_by_record_and_by_majority() -> None:
    first = {"items": [{"id": 1, "n": 5}, {"id": 3, "n": 7}], "next": None}
    second = {"items": [{"id": 1, "n": 5}, {"id": 2, "n": 6}, {"id": 3, "n": 70}], "next": None}
    third = {"items": [{"id": 2, "n": 6}, {"id": 3, "n": 7}], "next": None}
    assert agreed([first, second, third])["items"] == [{"id": 1, "n": 5}, {"id": 2, "n": 6}, {"id": 3, "n": 7}]
    assert same_subject(first, third) and not same_subject({"id": "A1", "n": 1}, {"id": "B2", "n": 1})


SCHEMA = {"properties": {"id": {}, "name": {}, "price": {}}}


@pytest.mark.parametrize(
    "reply, arguments, doubt",
    [
        ({"id": "A1", "name": "x", "price": 3}, {"item_id": "A1"}, None),
        ({"id": "A2", "name": "x", "price": 3}, {"item_id": "A1"}, Doubt.foreign),
        ({"id": "A1", "name": "x"}, {}, Doubt.lacking),
        ({"id": "A1", "price": 3}, {}, None),
        ({"items": [], "next": None}, {}, Doubt.empty),
        ({"items": [{"name": "pear"}]}, {"query": "apple"}, Doubt.foreign),
        ({"id": "A1", "price": 3, "items": [{"name": "Apple pie"}]}, {"query": "apple"}, None),
    ],
)
def test_a_reply_gives_cause_for_doubt(reply: JsonObject, arguments: JsonObject, doubt: Doubt | None) -> None:
    observation = Observation(json.dumps(reply), json=True)
    needed = frozenset({"id", "price"})
    assert doubt_about(observation, reply, arguments, expected=SCHEMA, needed=needed) is doubt


def test_a_cut_or_unreadable_text_gives_cause_too() -> None:
    def of(text: str) -> Doubt | None:
        return doubt_about(Observation(text), None, {}, expected=None, needed=frozenset())

    assert [of("abc... [truncated]"), of("<!DOCTYPE html><html>"), of("all of it")] == [
        Doubt.cut,
        Doubt.unreadable,
        None,
    ]


def test_a_stand_in_says_that_it_does_the_same() -> None:
    tools = [
        tool("crm.get", "One customer.", customer_id=dict(TEXT)),
        tool("crm_backup.get", "One customer. The same records.", customer_id=dict(TEXT)),
        tool("crm_archive.get", "One customer. Works on the archive of past years.", customer_id=dict(TEXT)),
        tool("crm.list", "All customers."),
    ]
    call = Planned("crm.get", {"customer_id": "C1"})
    assert [one.tool for one in stand_ins(call, {one.name: one for one in tools}, named=())] == ["crm_backup.get"]


def test_a_plan_tells_what_it_reads_and_which_refusals_it_provides_for() -> None:
    plan = Plan.model_validate(
        {
            "steps": [
                {"call": "crm.list", "as": "all", "pages": "people"},
                {"call": "crm.update", "as": "done"},
                {"call": "crm.note", "if": "{{ done.error is defined }}", "as": "noted"},
            ],
            "answer": "{{ all.people | selectattr('plan.name', 'equalto', 'x') | map(attribute='email') | list }}",
        }
    )
    assert {"people", "plan", "name", "email", "error"} <= names_read(plan)
    assert may_fail(plan) == {"crm.update"}


PARTIAL = """\
name: thin
description: Lists lack some of their items.
perturbations: [{use: partial_results, with: {keep: 0.75}, when: {tools: mail.search, nth: [1, 2]}}]
"""


async def test_pages_with_fewer_items_than_their_list_counts_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "thin.yaml").write_text(PARTIAL)
    name = "mailbox/unanswered"
    thinned = load_scenario_file(shipped_scenarios()[name], name, packs=[str(tmp_path / "thin.yaml")])
    played = await rollout(thinned, "resilient", case=1)
    searches = [step for step in played.steps if step.action.tool == "mail.search"]
    # Both pages were thinned, and neither shows it: their sum does, held against the count that stands beside them.
    assert [bool(step.events) for step in searches[:2]] == [True, True] and len(searches) >= 4
    assert played.reward == 1.0
    assert (await rollout(thinned, "naive", case=1)).reward == 0.0
