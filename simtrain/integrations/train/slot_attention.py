"""Attention over slots: the keys and values of many conversations in one cache, each row of a forward pass with its own place in it.

`SlotRows` suits a CPU, where a row costs what it holds. `SlotBatch` suits a GPU, where one product over all rows costs as much as
one over a single row; what a row does not see is masked.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

ROWS = "simtrain_rows"
BATCH = "simtrain_batch"


@dataclass(frozen=True, slots=True)
class Cache:
    """Keys and values, each (layers, slots, heads, context, size of a head)."""

    keys: Any
    values: Any

    @classmethod
    def of(cls, torch: Any, model: Any, slots: int, context: int) -> "Cache":
        """Return an empty cache for a model."""
        config = model.config
        heads = int(config.num_key_value_heads)
        size = int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
        shape = (int(config.num_hidden_layers), slots, heads, context, size)
        keys, values = (torch.zeros(shape, dtype=model.dtype, device=model.device) for _ in range(2))
        return cls(keys, values)


@dataclass(frozen=True, slots=True)
class SlotRows:
    """Where the keys and values of a forward pass belong: row by row, a slot and the position at which its `length` tokens begin."""

    cache: Cache
    slots: list[int]
    begins: list[int]
    length: int


@dataclass(frozen=True, slots=True)
class SlotBatch:
    """Where they belong, as tensors: the slots (rows) and the positions (rows, tokens) of what is read.

    Rows see the first `reach` positions of their slots, each token up to its own. `every` says that the rows are all slots, in order.
    """

    cache: Cache
    slots: Any
    positions: Any
    reach: int
    every: bool


def register() -> None:
    """Make both attentions known to transformers, which hands them `place` as the model was called with it."""
    transformers: Any = import_module("transformers")
    transformers.AttentionInterface.register(ROWS, _by_rows)
    transformers.AttentionInterface.register(BATCH, _by_batch)


def _by_rows(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> tuple[Any, None]:
    torch: Any = import_module("torch")
    place: SlotRows = options["place"]
    keys, values, length = place.cache.keys[module.layer_idx], place.cache.values[module.layer_idx], place.length
    window: int | None = options.get("sliding_window")
    outputs: list[Any] = []
    for row, (slot, begin) in enumerate(zip(place.slots, place.begins, strict=True)):
        end = begin + length
        keys[slot, :, begin:end], values[slot, :, begin:end] = key[row], value[row]
        # Exactly the tokens that it sees: rows of different lengths need no mask, and wait for no longer one.
        first = max(0, begin - window + 1) if window else 0
        seen = None
        if length > 1:
            new = torch.arange(begin, end, device=query.device)
            seen = _seen(new[:, None], torch.arange(first, end, device=query.device), window)
        outputs.append(
            _attended(
                query[row : row + 1],
                keys[slot : slot + 1, :, first:end],
                values[slot : slot + 1, :, first:end],
                None if seen is None else seen[None],
                options["scaling"],
            )
        )
    return torch.cat(outputs).transpose(1, 2).contiguous(), None


def _by_batch(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> tuple[Any, None]:
    torch: Any = import_module("torch")
    place: SlotBatch = options["place"]
    keys, values = place.cache.keys[module.layer_idx], place.cache.values[module.layer_idx]
    at = (place.slots[:, None], slice(None), place.positions)
    keys[at], values[at] = key.transpose(1, 2), value.transpose(1, 2)
    keys, values = keys[:, :, : place.reach], values[:, :, : place.reach]
    if not place.every:
        keys, values = keys[place.slots], values[place.slots]
    old = torch.arange(place.reach, device=query.device)
    seen = _seen(place.positions[..., None], old, options.get("sliding_window"))
    return _attended(query, keys, values, seen, options["scaling"]).transpose(1, 2).contiguous(), None


def _attended(query: Any, keys: Any, values: Any, seen: Any, scale: float) -> Any:
    """Attend over keys and values that heads share: `seen` is (rows, tokens, positions), or None where all is seen."""
    torch: Any = import_module("torch")
    rows, heads, length, size = query.shape
    groups = keys.shape[1]
    shared = heads // groups
    # Heads that share keys and values are so many more queries to them: no copy of both for each, and on a CPU one product for all of
    # them, where bfloat16 with one query a head took ten times as long.
    output = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(rows, groups, shared * length, size),
        keys,
        values,
        attn_mask=None if seen is None else seen[:, None].repeat(1, 1, shared, 1),
        scale=scale,
    )
    return output.reshape(rows, heads, length, size)


def _seen(new: Any, old: Any, window: int | None) -> Any:
    """Return which positions each new token sees: those up to its own, within its window."""
    seen = old <= new
    return seen & (old > new - window) if window else seen
