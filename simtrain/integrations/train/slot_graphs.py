"""One step of all slots as a CUDA graph: a model launches hundreds of kernels for a token, which take longer to launch than to run."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from simtrain.integrations.train.slot_attention import Cache, SlotBatch

REACH = 512
"""Graphs are recorded for so many positions, twice as many, and so on: a step costs what the longest conversation reaches."""


class StepGraphs:
    """Records a graph for each reach when it is first needed, and replays it. All slots take the step; those that rest write nothing."""

    def __init__(self, model: Any, cache: Cache) -> None:
        """Make the tensors that every graph reads."""
        self._torch: Any = import_module("torch")
        self._model = model
        self._cache = cache
        self._slots, self._context = cache.keys.shape[1], cache.keys.shape[3]
        device = model.device
        self._ids = self._torch.zeros((self._slots, 1), dtype=self._torch.long, device=device)
        self._positions = self._torch.zeros((self._slots, 1), dtype=self._torch.long, device=device)
        self._rows = self._torch.arange(self._slots, device=device)
        self._graphs: dict[int, tuple[Any, Any]] = {}

    def step(self, slots: Sequence[int], ids: Sequence[int], positions: Sequence[int]) -> Any:
        """Read one token in each of some slots, at its position, and return the logits after it."""
        torch = self._torch
        # A slot that rests reads at the position that no conversation reaches.
        read, places = [0] * self._slots, [self._context - 1] * self._slots
        for slot, token, position in zip(slots, ids, positions, strict=True):
            read[slot], places[slot] = token, position
        self._ids.copy_(torch.tensor([read]).T)
        self._positions.copy_(torch.tensor([places]).T)
        graph, logits = self._graph(max(positions) + 1)
        graph.replay()
        return logits[torch.tensor(slots, device=logits.device)].float()

    def _graph(self, seen: int) -> tuple[Any, Any]:
        reach = min(-(-seen // REACH) * REACH, self._context)
        if reach not in self._graphs:
            self._graphs[reach] = self._recorded(reach)
        return self._graphs[reach]

    def _recorded(self, reach: int) -> tuple[Any, Any]:
        torch = self._torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.inference_mode():
            # Kernels are chosen and loaded at the first calls, which cannot be recorded. Reading a token twice changes nothing.
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self._forward(reach)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                logits = self._forward(reach)
        return graph, logits

    def _forward(self, reach: int) -> Any:
        place = SlotBatch(self._cache, self._rows, self._positions, reach, every=True)
        return self._model(
            input_ids=self._ids, position_ids=self._positions, use_cache=False, logits_to_keep=1, place=place
        ).logits[:, -1]
