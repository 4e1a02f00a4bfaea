"""Conversations in every chat template of TRL that takes tools: the bytes of transformers, spans by turn, and the way back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conversing import ODD, TAKES_TOOLS, called, talk, template, theirs

from simtrain.contracts.trajectory import Turn
from simtrain.llm.chat_template import ChatTemplate, NotCarried
from simtrain.llm.conversation import Conversation, conversation_of
from simtrain.values.errors import InputError

REWRITE = {"qwen3", "diffusion_gemma", "diffusion_gemma_training"}
"""Templates that write a turn otherwise once another follows it, or than their generation prompt begins it."""

GPT_OSS = {"gptoss", "gptoss_training"}
LLAMA = {"llama3_1", "llama3_2"}
MUSE = {"muse_glimmer", "muse_glimmer_training"}
GEMMA = {"diffusion_gemma", "diffusion_gemma_training", "gemma4", "gemma4_v2", "gemma4_v3", "gemma4_v4", "gemma4_v5"}
GLM = {"glm4moe", "glm4moe_training"}
UNQUOTED = {name for name in TAKES_TOOLS if name.startswith(("qwen3_5", "qwen3_6", "qwen3_8", "nemotron"))}
"""Templates that write an argument between tags of its own."""
LFM = {"lfm2_2_5", "lfm2_2_5_v2"}

LOSES_WORDS = REWRITE | GPT_OSS | LLAMA | MUSE | GEMMA - {"gemma4_v2"}
ONE_CALL = GPT_OSS | LLAMA
LOSES_ARGUMENTS = {
    "arguments of Qwen": UNQUOTED,
    "a quote of Gemma": GEMMA,
    "a quote of LFM": LFM,
    "an unknown argument": UNQUOTED | GLM | MUSE,
}

KINDS = {
    "gemma4_v5",
    "glm4moe_training",
    "gptoss",
    "lfm2_2_5_v2",
    "lfm2_v2",
    "llama3_1",
    "muse_glimmer",
    "nemotron_3_nano",
}
KINDS |= {"qwen2_5_training", "qwen3", "qwen3_5_think_training"}
"""One template of each kind; the others are for `make test-full`."""

TEMPLATES = [name if name in KINDS else pytest.param(name, marks=pytest.mark.full) for name in TAKES_TOOLS]

PLAIN = talk(Turn(steps=[called(0, {"text": "a"})]), Turn(steps=[called(1, {"text": "b"})]), Turn("The answer."))
WORDS = talk(Turn("Let me look.", steps=[called(0, {"text": "a"})]), Turn("The answer."))
AT_ONCE = talk(Turn(steps=[called(0, {"text": "a"}), called(1, {"text": "b"})]), Turn("The answer."))


def carried(name: str, conversation: Conversation) -> bool:
    """Whether the template gives the conversation back; a refusal must name the template and say what to do."""
    try:
        template(name).turns(conversation)
    except InputError as error:
        assert name in str(error) and (not isinstance(error, NotCarried) or "hermes" in str(error))
        return False
    return True


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_rendering_has_the_bytes_of_transformers(name: str) -> None:
    one = template(name)
    for transcript in (PLAIN, WORDS, *(talk(Turn(steps=[called(0, odd)]), Turn("Yes.")) for odd in ODD.values())):
        for listing in ("full", "compact"):
            conversation = conversation_of(transcript, listing=listing)
            messages, tools = one.messages(conversation)
            for generate in (False, True):
                text, _ = theirs(one, messages, tools, add_generation_prompt=generate)
                assert one.render(conversation, generate=generate) == text


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_prompt_continues_the_one_before_it_or_the_template_is_refused(name: str) -> None:
    one, conversation = template(name), conversation_of(PLAIN)
    if not carried(name, conversation):
        assert name in REWRITE
        return
    assert name not in REWRITE
    spans, so_far = one.turns(conversation), ""
    assert [span.written for span in spans] == [False, True] * 3
    for place in range(len(conversation.messages)):
        if conversation.messages[place]["role"] == "assistant":
            prompt = "".join(span.text for span in one.turns(conversation.upto(place), generate=True))
            assert prompt.startswith(so_far) and prompt == one.render(conversation.upto(place), generate=True)
            so_far = prompt
    assert one.render(conversation).rstrip() == "".join(span.text for span in spans)
    assert one.prompted(conversation)[-1] == ("".join(span.text for span in spans[:-1]), spans[-1].text)


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_the_model_wrote_is_what_trainers_take_for_it_less_what_the_prompt_begins(name: str) -> None:
    one, conversation = template(name), conversation_of(PLAIN)
    if ("generation %}" not in one.source and "generation -%}" not in one.source) or name in REWRITE:
        return
    text, marks = theirs(one, *one.messages(conversation), return_assistant_tokens_mask=True)
    spans = one.turns(conversation)
    assert len(marks) == 3
    for (start, end), read, written in zip(marks, spans[::2], spans[1::2], strict=True):
        marked = text[start:end].rstrip()
        assert marked.endswith(written.text.strip())
        assert read.text.rstrip().endswith(marked.removesuffix(written.text.strip()).rstrip())


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_turn_comes_back_from_its_text_or_is_refused(name: str) -> None:
    rewrites = name in REWRITE
    assert carried(name, conversation_of(WORDS)) is (name not in LOSES_WORDS)
    assert carried(name, conversation_of(AT_ONCE)) is (name not in ONE_CALL and not rewrites)
    assert carried(name, conversation_of(AT_ONCE, apart=True)) is not rewrites
    for kind, odd in ODD.items():
        conversation = conversation_of(talk(Turn(steps=[called(0, odd)])))
        assert carried(name, conversation) is (name not in LOSES_ARGUMENTS.get(kind, ())), kind
        if not rewrites and name not in LOSES_ARGUMENTS.get(kind, ()):
            (call,) = template(name).parse(template(name).turns(conversation)[1].text, conversation.schemas).calls
            assert call.name == "shop_find"


@pytest.mark.parametrize(
    "name", ["qwen3_5_think_training", "qwen3_8", "gemma4_v5", "glm4moe", "lfm2_2_5_v2", "muse_glimmer"]
)
def test_thinking_is_carried_by_templates_that_keep_it(name: str) -> None:
    thought = talk(Turn("", "Hm <b>.", steps=[called(0, {"text": "a"})]), Turn("The answer.", "So."))
    one, conversation = template(name), conversation_of(thought, reasoning=True)
    text, _ = theirs(one, *one.messages(conversation))
    assert one.render(conversation) == text
    read = [one.parse(span.text, conversation.schemas) for span in one.turns(conversation) if span.written]
    assert [message.reasoning for message in read] == ["Hm <b>.", "So."]


def test_a_planted_defect_in_a_template_is_found() -> None:
    sound = template("qwen2_5")
    conversation = conversation_of(PLAIN)
    assert sound.turns(conversation)
    for old, new in (("tool_call.arguments | tojson", "'{}'"), ("tool_call.name", "'other'")):
        with pytest.raises(InputError, match="drops calls"):
            replace(sound, source=sound.source.replace(old, new)).turns(conversation)
    silent = replace(sound, source=sound.source.replace("{%- if tools %}", "{%- if false %}"))
    with pytest.raises(InputError, match="drops the tools; list them"):
        silent.turns(conversation)
    assert silent.turns(conversation_of(PLAIN, listing="compact"))
    shortening = replace(sound, source=sound.source.replace("message.content", "(message.content or '')[:3]"))
    with pytest.raises(NotCarried, match="cannot carry message 6: the text cannot be read back"):
        shortening.turns(conversation)


def test_templates_that_rewrite_earlier_turns_give_each_turn_its_own_prompt() -> None:
    one = template("qwen3")
    turns = one.prompted(conversation_of(PLAIN))
    assert len(turns) == 3 and turns[2][1].endswith("The answer.<|im_end|>")
    with pytest.raises(NotCarried, match="written otherwise"):
        one.turns(conversation_of(PLAIN))


def test_chat_templates_are_files_of_a_tokenizer_as_well(tmp_path: Path) -> None:
    source = template("qwen2_5").source
    config = '{"eos_token": {"content": "</s>"}, "chat_template": [{"name": "default", "template": "no"}, '
    (tmp_path / "tokenizer_config.json").write_text(config + '{"name": "tool_use", "template": "{{ eos_token }}"}]}')
    assert ChatTemplate.load(tmp_path).render(conversation_of(PLAIN, listing="none")) == "</s>"
    assert ChatTemplate.load(tmp_path / "tokenizer_config.json").source == "{{ eos_token }}"
    (tmp_path / "chat_template.jinja").write_text(source)
    assert ChatTemplate.load(tmp_path).source == source
