"""The shipped chat templates, the compact listing, templates that do harm, and whatever a model may write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from conversing import ODD, TAKES_TOOLS, TOOL, called, talk, template, theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import refund

from simtrain.contracts.trajectory import Turn
from simtrain.llm.chat_template import ChatTemplate, NotCarried
from simtrain.llm.conversation import MALFORMED, conversation_of
from simtrain.llm.tool_listing import compact_listing, tool_line
from simtrain.values.errors import InputError
from simtrain.values.types import WHOLE_CALL

OWN = [ChatTemplate.load("hermes"), ChatTemplate.load("qwen")]
TAGS = [
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<|im_end|>",
    "<|im_start|>",
    "<parameter=text>",
    "</parameter>",
]
TAGS += [
    "</function>",
    "<function=shop_find>",
    "\n",
    " ",
    '"',
    "'",
    "\\",
    "{",
    "}",
    "a",
    "é",
    "3",
    "true",
    "<tool_response>",
]
TEXTS = st.lists(st.sampled_from(TAGS), max_size=8).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("one", OWN, ids=lambda one: one.name)
def test_the_shipped_templates_have_the_bytes_of_transformers_and_keep_thinking_words_and_calls(
    one: ChatTemplate,
) -> None:
    turns = [Turn("Let me look.", "Hm.", steps=[called(n, odd) for n, odd in enumerate(list(ODD.values())[:10])])]
    transcript = talk(*turns, Turn("", "So.", steps=[called(20, {"text": "x"})]), Turn("The answer."))
    for reasoning in (False, True):
        conversation = conversation_of(transcript, reasoning=reasoning)
        assert theirs(one, *one.messages(conversation))[0] == one.render(conversation)
        assert [span.written for span in one.turns(conversation)] == [False, True] * 3
        first, second, last = [one.parse(span.text, conversation.schemas) for span in one.turns(conversation)[1::2]]
        assert (first.text, first.reasoning, len(first.calls)) == ("Let me look.", "Hm." if reasoning else None, 10)
        assert [orjson.loads(call.arguments) for call in first.calls] == list(ODD.values())[:10]
        assert (second.text, second.reasoning, last.text) == ("", "So." if reasoning else None, "The answer.")


@pytest.mark.parametrize("one", OWN, ids=lambda one: one.name)
@settings(max_examples=60, deadline=None)
@given(
    words=TEXTS, thought=TEXTS, arguments=st.dictionaries(st.sampled_from(["text", "deep", "k"]), VALUES, max_size=3)
)
def test_any_turn_comes_back_as_it_was_or_is_refused(
    one: ChatTemplate, words: str, thought: str, arguments: dict[str, Any]
) -> None:
    conversation = conversation_of(talk(Turn(words, thought, steps=[called(0, arguments)])), reasoning=True)
    try:
        (_, written) = one.turns(conversation)
    except NotCarried:
        assert one.name == "qwen" or "<" in words + thought
        return
    found = one.parse(written.text, conversation.schemas)
    assert (found.text, found.reasoning or "") == (words.strip(), thought.strip())
    assert [(call.name, orjson.loads(call.arguments)) for call in found.calls] == [("shop_find", arguments)]


@pytest.mark.parametrize(
    "name", [*TAKES_TOOLS[:1], "glm4moe", "gptoss", "lfm2_v2", "llama3_1", "muse_glimmer", "qwen2_5", "qwen3_6"]
)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_a_model_writes_is_read(name: str, data: st.DataObject) -> None:
    one = READERS.setdefault(name, template(name))
    written = one.turns(conversation_of(talk(Turn(steps=[called(0, {"text": "a", "deep": {"b": [1]}})]))))[1].text
    cuts = data.draw(st.lists(st.tuples(st.integers(0, len(written)), st.integers(0, len(written))), max_size=4))
    text = "".join(written[min(cut) : max(cut)] for cut in cuts) + data.draw(TEXTS)
    for call in one.parse(text, {"shop_find": TOOL.input_schema}).calls:
        if not call.arguments.startswith(WHOLE_CALL):
            assert isinstance(call.arguments, str)


READERS: dict[str, ChatTemplate] = {}


def test_a_call_that_is_none_is_malformed_and_keeps_its_text() -> None:
    hermes = OWN[0]
    for block in (
        '{"name": "f", "arguments": {"a": }}',
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": {"a": NaN}}',
    ):
        (call,) = hermes.parse(f"Now.\n<tool_call>\n{block}\n</tool_call><|im_end|>").calls
        assert (call.name, call.arguments) == ("f", WHOLE_CALL + block)
    cut = hermes.parse('<tool_call>\n{"name": "f", "argu')
    assert cut.calls[0].arguments == WHOLE_CALL + '{"name": "f", "argu'


def test_arguments_that_were_no_object_are_shown_as_the_chat_agent_sends_them_back() -> None:
    conversation = conversation_of(refund())
    last = [message for message in conversation.messages if message.get("tool_calls")][-1]
    assert last["tool_calls"][0]["function"]["arguments"] == {MALFORMED: '{"charge_id": '}
    assert OWN[0].turns(conversation)


def test_what_the_model_wrote_itself_stands_in_place_of_what_a_template_makes_of_it() -> None:
    hermes = OWN[0]
    raw = '<tool_call>{"arguments":{"text":"a"},  "name":"shop_find"}</tool_call>'
    steps = [called(0, {"text": "a"})]
    turns = [Turn(steps=steps), Turn("Yes.")]
    plain = conversation_of(talk(*turns))
    kept = type(plain)(plain.messages, plain.tools, plain.listing, {2: raw})
    spans, known = hermes.turns(kept), hermes.turns(plain)
    assert [span.text for span in spans if span.written] == [raw, known[3].text]
    # The end that the server kept to itself was read, not written.
    assert spans[2].text == "<|im_end|>" + known[2].text
    asked = hermes.turns(type(plain)(plain.messages[:4], plain.tools, "full", {2: raw}), generate=True)
    assert asked == spans[:3]


def test_a_compact_listing_is_a_fraction_of_the_full_one_and_says_how_to_call() -> None:
    line = tool_line({"name": "find", "description": TOOL.description, "parameters": TOOL.input_schema})
    assert line == (
        "find(text: string, count?: integer, size?: number = 1.5, deep?: object, items?: (integer|string)[], flag?: boolean, "
        "maybe?: string|null) - Find things."
    )
    nested = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema = {"properties": {"x": {"enum": ["p", 2]}, "y": nested, "z": {"type": "array", "items": nested}}}
    assert tool_line({"name": "g", "parameters": schema}) == 'g(x?: "p"|2, y?: {a: string}, z?: {a: string}[])'
    assert tool_line({"name": "h"}) == "h()"
    for one in OWN:
        conversation = conversation_of(refund(), listing="compact")
        messages, tools = one.messages(conversation)
        assert tools is None
        assert (
            messages[0]["content"]
            == f"You are a support agent.\n\n{compact_listing(conversation.tools, one.call_example)}"
        )
        assert one.call_example in one.render(conversation) and "NAME" in one.call_example
        assert "properties" not in one.render(conversation)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "loop items"),
        (
            "{% set ns = namespace(x='aaaaaaaaaa') %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
            "produce",
        ),
        (
            "{% set ns = namespace(x='aaaaaaaaaa') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "produce",
        ),
        (
            "{% set ns = namespace(x='a') %}{% for a in range(99) %}{% set x %}{{ ns.x }}{{ ns.x }}{% endset %}"
            "{% set ns.x = x %}{% endfor %}",
            "produce",
        ),
        ("{{ 'a' * 10**10 }}", "produce"),
        ("{{ '%1000000000d' % 1 }}", "width"),
        ("{{ 'a'.ljust(10**10) }}", "ljust"),
        ("{{ '{:>1000000000}'.format(1) }}", "format"),
        ("{{ ('a' * 99999).replace('a', 'b' * 99999) }}", "produce"),
        ("{{ ('b' * 99999).join(['a'] * 99999) }}", "produce"),
        ("{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}", "deep"),
        ("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}", "."),
        ("{{ messages.__class__ }}{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe|no attribute"),
        ("{{ messages | tojson(indent=999999999) }}", "columns"),
        ("{% include 'x' %}", "loader"),
        ("{{ raise_exception('No such role.') }}", "chat template bad: .*No such role"),
        ("{% for x in %}", "does not parse"),
    ],
)
def test_a_template_that_does_harm_is_refused_in_one_line(source: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        ChatTemplate("bad", source).render(conversation_of(refund(), listing="none"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("hermse", None, "there is no chat template 'hermse'; did you mean 'hermes'"),
        ("t/tokenizer_config.json", '{"eos_token": "x"}', "it holds no chat_template"),
        ("t/tokenizer_config.json", "{", "not JSON"),
        ("t/tokenizer_config.json", "[]", "not a JSON object"),
        ("t/a.jinja", "{% if %}", "a.jinja: the chat template does not parse"),
    ],
)
def test_a_template_that_cannot_be_loaded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str | None, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("t").mkdir()
        Path(name).write_text(content)
    with pytest.raises(InputError, match=problem):
        ChatTemplate.load(name)
    Path("empty").mkdir()
    with pytest.raises(InputError, match="no tokenizer_config"):
        ChatTemplate.load("empty")
