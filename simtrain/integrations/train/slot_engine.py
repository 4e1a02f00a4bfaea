"""Continue many conversations at once with a model of transformers: each in a slot that keeps the keys and values of what it has read.

A conversation that goes on from an earlier turn reads only what is new. On a CPU with AMX or AVX-512 for bfloat16 this is faster than
llama.cpp, since PyTorch's matrix products are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from simtrain.integrations.train.models import load, quiet

ATTENTION = "simtrain_slots"


@dataclass(eq=False)
class Generation:
    """One text to continue: its token ids, how to sample, and what has been sampled so far.

    `finish` is set at the end: `stop` at an end-of-sequence token or a stop text, `length` at `max_tokens` or the end of the context.
    """

    prompt: Sequence[int]
    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: Sequence[str] = ()
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    text: str = ""
    finish: Literal["", "stop", "length"] = ""
    cached: int = 0
    random: Any = None


@dataclass(slots=True)
class _Slot:
    """A place in the cache: the tokens whose keys and values it holds, and what is generated there."""

    index: int
    held: list[int] = field(default_factory=list[int])
    work: Generation | None = None
    used: int = 0


class SlotEngine:
    """A model with `slots` places for `context` tokens each. Call it from one thread."""

    def __init__(self, source: str, *, slots: int, context: int, dtype: str, threads: int) -> None:
        """Load the model. Raises InputError where transformers cannot load it."""
        torch: Any = import_module("torch")
        torch.set_num_threads(threads)
        self._torch = torch
        model, self.tokenizer = load(source, dtype=dtype)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.to(self._device).eval()
        if self._device == "cpu" and dtype == "bfloat16":
            _pack(torch, self._model, slots)
        _register(torch)
        with quiet():
            self._model.set_attn_implementation(ATTENTION)
        config = model.config
        self.vocabulary = int(config.vocab_size)
        self.context = min(context, int(config.max_position_embeddings))
        heads = int(config.num_key_value_heads)
        size = int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
        shape = (int(config.num_hidden_layers), slots, heads, self.context, size)
        self._keys = torch.zeros(shape, dtype=model.dtype, device=self._device)
        self._values = torch.zeros(shape, dtype=model.dtype, device=self._device)
        self._slots = [_Slot(index) for index in range(slots)]
        self._clock = 0
        ends: Any = getattr(model.generation_config, "eos_token_id", None) or self.tokenizer.eos_token_id
        self._ends: frozenset[int] = frozenset((ends,) if isinstance(ends, int) else ends)

    @property
    def free(self) -> int:
        """Return how many slots generate nothing."""
        return sum(slot.work is None for slot in self._slots)

    @property
    def busy(self) -> bool:
        """Return whether any slot generates."""
        return any(slot.work is not None for slot in self._slots)

    def begin(self, work: Generation) -> None:
        """Read a prompt in the free slot that holds the longest beginning of it, and sample the first token. One has to be free."""
        self._clock += 1
        slot = max(
            (one for one in self._slots if one.work is None),
            key=lambda one: (_common(one.held, work.prompt), -one.used),
        )
        # The last token is always read: what follows it is wanted.
        work.cached = min(_common(slot.held, work.prompt), len(work.prompt) - 1)
        slot.work, slot.used = work, self._clock
        if work.temperature > 0 and work.seed is not None:
            work.random = self._torch.Generator(device=self._device).manual_seed(work.seed % 2**63)
        new = list(work.prompt[work.cached :])
        logits = self._read([slot], [new], [work.cached])
        slot.held = list(work.prompt)
        self._take(slot, logits[0])

    def step(self) -> list[Generation]:
        """Sample the next token in every slot that generates; return what has come to its end."""
        slots = [slot for slot in self._slots if slot.work is not None and not slot.work.finish]
        if slots:
            last = [[slot.work.ids[-1]] for slot in slots if slot.work is not None]
            logits = self._read(slots, last, [len(slot.held) for slot in slots])
            for number, slot in enumerate(slots):
                slot.held += last[number]
                self._take(slot, logits[number])
        return self._ended()

    def _ended(self) -> list[Generation]:
        found: list[Generation] = []
        for slot in self._slots:
            if slot.work is not None and slot.work.finish:
                found.append(slot.work)
                slot.work = None
        return found

    def _read(self, slots: Sequence[_Slot], ids: Sequence[Sequence[int]], begins: Sequence[int]) -> Any:
        """Read equally many tokens in each slot, and return the logits after the last."""
        torch = self._torch
        length = len(ids[0])
        place = _Place(self._keys, self._values, [slot.index for slot in slots], list(begins), length)
        positions = torch.tensor([[*range(begin, begin + length)] for begin in begins], device=self._device)
        with torch.inference_mode():
            found = self._model(
                input_ids=torch.tensor(ids, device=self._device),
                position_ids=positions,
                use_cache=False,
                logits_to_keep=1,
                place=place,
            )
        return found.logits[:, -1].float()

    def _take(self, slot: _Slot, logits: Any) -> None:
        work = slot.work
        assert work is not None, "only slots that generate are read"
        token, logprob = self._sampled(work, logits)
        work.ids.append(token)
        work.logprobs.append(logprob)
        if token in self._ends:
            work.finish = "stop"
            return
        work.text = self.tokenizer.decode(work.ids, skip_special_tokens=False)
        cut = [at for at in (work.text.find(stop) for stop in work.stop) if at >= 0]
        if cut:
            work.text, work.finish = work.text[: min(cut)], "stop"
        elif len(work.ids) >= work.max_tokens or len(slot.held) + 1 >= self.context:
            work.finish = "length"

    def _sampled(self, work: Generation, logits: Any) -> tuple[int, float]:
        """Return a token, and its log probability at the temperature that it was sampled with (1 where the likeliest is taken)."""
        torch = self._torch
        if work.temperature <= 0:
            token = int(logits.argmax())
            return token, float(logits.log_softmax(-1)[token])
        logprobs = (logits / work.temperature).log_softmax(-1)
        chances = logprobs.exp()
        if work.top_p < 1:
            ordered, order = chances.sort(descending=True)
            # The likeliest tokens, up to the one with which their sum reaches it.
            ordered[ordered.cumsum(-1) - ordered >= work.top_p] = 0
            chances = torch.zeros_like(chances).scatter(0, order, ordered)
        token = int(torch.multinomial(chances, 1, generator=work.random))
        return token, float(logprobs[token])


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common at their beginning."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the keys and values of a forward pass belong: row by row, a slot and the position at which its new tokens begin."""

    keys: Any
    values: Any
    slots: list[int]
    begins: list[int]
    length: int


def _pack(torch: Any, model: Any, rows: int) -> None:
    """Lay out the weights of linear layers as oneDNN multiplies them, which it otherwise does anew at each call: half of a token's time."""

    multiply = torch.ops.mkldnn._linear_pointwise

    def forward(packed: Any, bias: Any) -> Callable[[Any], Any]:
        return lambda inputs: multiply(inputs, packed, bias, "none", [], "")

    for module in model.modules():
        if type(module) is torch.nn.Linear:
            packed = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach(), rows)
            module.forward = forward(packed, module.bias)
            # The embedding keeps its own, where it is the same.
            module.weight = None


def _register(torch: Any) -> None:
    """Make the attention over slots known to transformers, which hands it `place` as the model was called with it."""
    attend = torch.nn.functional.scaled_dot_product_attention

    def attention(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> tuple[Any, None]:
        place: _Place = options["place"]
        keys, values, length = place.keys[module.layer_idx], place.values[module.layer_idx], place.length
        window: int | None = options.get("sliding_window")
        outputs: list[Any] = []
        for row, (slot, begin) in enumerate(zip(place.slots, place.begins, strict=True)):
            end = begin + length
            keys[slot, :, begin:end], values[slot, :, begin:end] = key[row], value[row]
            # Exactly the tokens that it sees: rows of different lengths need no mask, and wait for no longer one.
            first = max(0, begin - window + 1) if window else 0
            seen = _seen(torch, query, begin, end, first, window) if length > 1 else None
            outputs.append(
                attend(
                    query[row : row + 1],
                    keys[slot : slot + 1, :, first:end],
                    values[slot : slot + 1, :, first:end],
                    attn_mask=seen,
                    scale=options["scaling"],
                    enable_gqa=True,
                )
            )
        return torch.cat(outputs).transpose(1, 2).contiguous(), None

    transformers: Any = import_module("transformers")
    transformers.AttentionInterface.register(ATTENTION, attention)


def _seen(torch: Any, query: Any, begin: int, end: int, first: int, window: int | None) -> Any:
    """Return which of the tokens from `first` on each new token sees: those up to itself, within its window."""
    new = torch.arange(begin, end, device=query.device)[:, None]
    old = torch.arange(first, end, device=query.device)[None, :]
    seen = old <= new
    return seen & (old > new - window) if window else seen
