"""Continue many conversations at once with a model of transformers: each in a slot that keeps the keys and values of what it has read.

A conversation that goes on from an earlier turn reads only what is new. On a CPU with AMX or AVX-512 for bfloat16 this is faster than
llama.cpp, since PyTorch's matrix products are. On a GPU all slots take a step together, recorded as a CUDA graph.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import takewhile
from operator import eq
from typing import Any, Literal

from simtrain.integrations.train.models import computes_bf16, load, quiet
from simtrain.integrations.train.next_tokens import sampled
from simtrain.integrations.train.slot_attention import BATCH, ROWS, Cache, SlotBatch, SlotRows, register
from simtrain.integrations.train.slot_graphs import StepGraphs


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
    """A model with `slots` places for `context` tokens each. Call it from one thread.

    `batched` reads all rows in one product, as a GPU wants it; unless given, it is so on a GPU.
    """

    def __init__(self, model: Any, tokenizer: Any, *, slots: int, context: int, batched: bool | None = None) -> None:
        """Take a model where it is, and make it its own: its attention becomes the one over slots."""
        self._torch: Any = import_module("torch")
        self.tokenizer = tokenizer
        self.model = model.eval()
        self._device = model.device
        on_gpu = self._device.type == "cuda"
        self._batched = on_gpu if batched is None else batched
        register()
        with quiet():
            model.set_attn_implementation(BATCH if self._batched else ROWS)
        self.vocabulary = int(model.config.vocab_size)
        self.context = min(context, int(model.config.max_position_embeddings))
        self._cache = Cache.of(self._torch, model, slots, self.context)
        self._graphs = StepGraphs(model, self._cache) if on_gpu and self._batched else None
        self._slots = [_Slot(index) for index in range(slots)]
        self._clock = 0
        ends: Any = getattr(model.generation_config, "eos_token_id", None) or tokenizer.eos_token_id
        self.ends: frozenset[int] = frozenset((ends,) if isinstance(ends, int) else ends)

    @classmethod
    def load(
        cls, source: str, *, slots: int, context: int, dtype: str, threads: int, batched: bool | None = None
    ) -> "SlotEngine":
        """Return the engine of a model in a folder, on the GPU if there is one. Raises InputError where it cannot be loaded."""
        torch: Any = import_module("torch")
        torch.set_num_threads(threads)
        model, tokenizer = load(source, dtype=dtype)
        if torch.cuda.is_available():
            model = model.to("cuda")
        elif dtype == "bfloat16" and computes_bf16():
            _pack(torch, model, slots)
        else:
            # The weights stay rounded as they are; only the products are those of a CPU.
            model = model.float()
        return cls(model, tokenizer, slots=slots, context=context, batched=batched)

    @property
    def free(self) -> int:
        """Return how many slots generate nothing."""
        return sum(slot.work is None for slot in self._slots)

    @property
    def busy(self) -> bool:
        """Return whether any slot generates."""
        return any(slot.work is not None for slot in self._slots)

    def forget(self) -> None:
        """Hold nothing of what was read: the weights have changed. No slot may be generating."""
        for slot in self._slots:
            slot.held = []

    def begin(self, works: Sequence[Generation]) -> None:
        """Read prompts, each in the free slot that holds the longest beginning of it, and sample their first tokens.

        There have to be as many free slots.
        """
        pairs = [(self._slot_for(work), work) for work in works]
        for read in [pairs] if self._batched else [[pair] for pair in pairs]:
            slots, begins = [slot for slot, _ in read], [work.cached for _, work in read]
            self._take(slots, self._read(slots, [work.prompt[work.cached :] for _, work in read], begins))

    def _slot_for(self, work: Generation) -> _Slot:
        self._clock += 1
        slot = max(
            (one for one in self._slots if one.work is None),
            key=lambda one: (_common(one.held, work.prompt), -one.used),
        )
        # The last token is always read: what follows it is wanted.
        work.cached = min(_common(slot.held, work.prompt), len(work.prompt) - 1)
        slot.work, slot.used, slot.held = work, self._clock, list(work.prompt)
        if work.temperature > 0 and work.seed is not None:
            work.random = self._torch.Generator(device=self._device).manual_seed(work.seed % 2**63)
        return slot

    def step(self) -> list[Generation]:
        """Sample the next token in every slot that generates; return what has come to its end."""
        slots = [slot for slot in self._slots if slot.work is not None and not slot.work.finish]
        if slots:
            last = [slot.work.ids[-1] for slot in slots if slot.work is not None]
            begins = [len(slot.held) for slot in slots]
            if self._graphs:
                logits = self._graphs.step([slot.index for slot in slots], last, begins)
            else:
                logits = self._read(slots, [[token] for token in last], begins)
            for slot, token in zip(slots, last, strict=True):
                slot.held.append(token)
            self._take(slots, logits)
        return self._ended()

    def _ended(self) -> list[Generation]:
        found: list[Generation] = []
        for slot in self._slots:
            if slot.work is not None and slot.work.finish:
                found.append(slot.work)
                slot.work = None
        return found

    def _read(self, slots: Sequence[_Slot], ids: Sequence[Sequence[int]], begins: Sequence[int]) -> Any:
        """Read tokens in each slot, and return the logits after the last. Row by row, they are equally many in each."""
        torch = self._torch
        length = max(map(len, ids))
        # Before a shorter row stands the position that no conversation reaches.
        spare = self.context - 1
        lacking = [length - len(row) for row in ids]
        padded = [[0] * less + list(row) for less, row in zip(lacking, ids, strict=True)]
        places = [
            [spare] * less + [*range(begin, begin + len(row))]
            for less, row, begin in zip(lacking, ids, begins, strict=True)
        ]
        positions = torch.tensor(places, device=self._device)
        indices = [slot.index for slot in slots]
        if self._batched:
            reach = max(begin + len(row) for row, begin in zip(ids, begins, strict=True))
            place = SlotBatch(self._cache, torch.tensor(indices, device=self._device), positions, reach, every=False)
        else:
            place = SlotRows(self._cache, indices, list(begins), length)
        with torch.inference_mode():
            found = self.model(
                input_ids=torch.tensor(padded, device=self._device),
                position_ids=positions,
                use_cache=False,
                logits_to_keep=1,
                place=place,
            )
        return found.logits[:, -1].float()

    def _take(self, slots: Sequence[_Slot], logits: Any) -> None:
        works = [slot.work for slot in slots if slot.work is not None]
        for slot, work, (token, logprob) in zip(slots, works, sampled(works, logits), strict=True):
            work.ids.append(token)
            work.logprobs.append(logprob)
            if token in self.ends:
                work.finish = "stop"
                work.text = self._text(work.ids[:-1])
            elif not self._stopped(work) and (len(work.ids) >= work.max_tokens or len(slot.held) + 1 >= self.context):
                work.finish, work.text = "length", self._text(work.ids)

    def _stopped(self, work: Generation) -> bool:
        """End a text in which a stop text stands, before it."""
        if not work.stop:
            return False
        # A character is at most four tokens, one for each of its bytes.
        tail = self._text(work.ids[-4 * max(map(len, work.stop)) - 1 :])
        if not any(stop in tail for stop in work.stop):
            return False
        text = self._text(work.ids)
        work.text, work.finish = text[: min(at for at in map(text.find, work.stop) if at >= 0)], "stop"
        return True

    def _text(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common at their beginning."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


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
