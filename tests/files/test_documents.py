"""YAML files: what is read, with which lines, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.contracts.scenario import ScenarioSpec
from simtrain.files.yaml_files import parse_document, read_document
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

HERE = Path("x.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("true", True), ("~", None), ("", None),
        ("12", 12), ("-3", -3), ("007", "007"), ("1.50", 1.5), ("0.5", 0.5), (".5", 0.5),
        ("1e3", 1000.0), ("10:30", "10:30"), ("2031-03-03", "2031-03-03"),
        ("2031-03-03T09:00:00Z", "2031-03-03T09:00:00Z"), ("'12'", "12"), ('"true"', "true"),
        ("1_000", "1_000"), ("0x10", "0x10"), ("[1, [a, {b: c}]]", [1, ["a", {"b": "c"}]]), ("inf", "inf"),
    ],
)  # fmt: skip
def test_plain_scalars_are_what_they_look_like(text: str, value: object) -> None:
    assert parse_document(f"key: {text}", HERE).data["key"] == value


def test_every_place_has_its_line() -> None:
    document = parse_document("a:\n  - b: 1\n    c:\n      d: 2\n\ne: 3\n", HERE)
    assert [document.line(place) for place in (("a", 0, "c", "d"), ("e",), ("a", 0, "nothing"))] == [4, 6, 2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a list", "top level"), ("", "top level"), ("a: [1", "not YAML"), ("a: 1\na: 2", "appears twice"), ("? [a]\n: 1", "plain text"),
        ("a: !!python/name:os.system", "tag"), ("a: !!binary aGk=", "tag"), ("a: !mine 1", "tag"),
        ("a: &x [*x]", "refers to itself"), ("\ta: 1", "not YAML"),
        ("a: *nothing", "not YAML"), ("[" * 2000, "too deeply"), ("a: " + "[" * 200 + "]" * 200, "too deeply"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        parse_document(text, HERE)
    assert "\n" not in str(refused.value) and str(refused.value).startswith("x.yaml")


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"] + [
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)
    ]
    with pytest.raises(InputError, match="expands to more"):
        parse_document("\n".join(lines), HERE)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("a: caf\xe9".encode("latin-1"))
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(100_000_000)
    for name, problem in (("latin.yaml", "UTF-8"), ("large.yaml", "larger"), ("absent.yaml", "No such file")):
        with pytest.raises(InputError, match=problem):
            read_document(tmp_path / name)


def test_a_misspelt_key_is_named_before_what_it_makes_missing() -> None:
    document = parse_document("name: x\nworld: y\npromt: hello\nrubric:\n  - {use: answer}\n", HERE)
    with pytest.raises(InputError) as refused:
        document.parse(ScenarioSpec)
    assert str(refused.value) == "x.yaml:3: promt: unknown key 'promt'; did you mean 'prompt'?"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cases: {sql: select a, b from c}", "cases.b from c: unknown key 'b from c'; put a text with a comma in quotes"),
        ("prompt: 5", "prompt: text is needed (given: 5); put it in quotes"),
    ],
)  # fmt: skip
def test_a_text_that_lacks_its_quotes_is_told_so(line: str, told: str) -> None:
    document = parse_document(f"name: x\nworld: y\n{line}\n", HERE)
    with pytest.raises(InputError) as refused:
        document.parse(ScenarioSpec)
    assert str(refused.value) == f"x.yaml:3: {told}"


LETTERS = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1)


@given(st.dictionaries(LETTERS, st.integers() | st.booleans() | st.none() | LETTERS))
def test_json_is_read_as_yaml(value: JsonObject) -> None:
    bounded = {key: item for key, item in value.items() if not isinstance(item, int) or abs(item) < 10**18}
    assert parse_document(json.dumps(bounded), HERE).data == bounded
