"""A tiny random model of Qwen3's kind, with a byte-level BPE learnt from a few texts: what trainers are tested with, without any hub."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

TEMPLATE = "qwen3"
"""The chat template, of those that TRL ships."""

MARKS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
]


def folder() -> Path:
    """The chat templates in the installed TRL."""
    return Path(str(import_module("trl").__file__)).parent / "chat_templates"


def tokenizer(texts: Iterable[str], *, size: int = 400) -> Any:
    """A tokenizer of at most `size` tokens learnt from texts; any text comes back from it as it was."""
    tokenizers: Any = import_module("tokenizers")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=MARKS[:3],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    bpe.add_tokens(MARKS[3:])
    made = import_module("transformers").PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>", clean_up_tokenization_spaces=False
    )
    made.chat_template = (folder() / f"{TEMPLATE}.jinja").read_text()
    return made


def model(words: Any, *, seed: int = 0, width: int = 64, layers: int = 2) -> Any:
    """A random model over a tokenizer; the same seed gives the same weights."""
    transformers: Any = import_module("transformers")
    transformers.set_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=len(words),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=width // 4,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        bos_token_id=None,
    )
    return transformers.Qwen3ForCausalLM(config)
