"""Figures of a benchmark: measured in CPU time, best of several rounds, printed as a table or as JSON."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any, Protocol

from page import record


@dataclass(frozen=True)
class Figure:
    """One measured value. `target` is the most that it may be, or the least where `more` is better; None for a floor or a part."""

    name: str
    value: float
    unit: str
    target: float | None = None
    more: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        return self.value >= self.target if self.more else self.value <= self.target


def arguments(description: str) -> argparse.Namespace:
    """The options that all benchmarks share: `json` and `rounds`."""
    return options(description).parse_args()


def options(description: str) -> argparse.ArgumentParser:
    """A parser of these options, to which a benchmark adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object a benchmark")
    parser.add_argument("--record", type=Path, help="add the figures to this file (benchmarks/page.py reads it)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the best counts")
    return parser


def cpu(work: Callable[[], object], *, rounds: int) -> float:
    """CPU seconds of this process for one call of `work`, best of several: other processes only ever add to it."""
    return min(_once(work) for _ in range(rounds))


def cpu_of_tasks(work: Callable[[], Coroutine[Any, Any, object]], *, rounds: int) -> float:
    """CPU seconds of one run of a coroutine in an event loop of its own, best of several."""
    return cpu(lambda: asyncio.run(work()), rounds=rounds)


class Closable(Protocol):
    """What is closed when nobody needs it any more."""

    def close(self) -> None: ...


def cpu_of_making(make: Callable[[], Closable], *, count: int, rounds: int) -> float:
    """CPU seconds to make one of `count` things that all stay open meanwhile, best of several; closing them is not in it."""
    return min(_making(make, count) for _ in range(rounds)) / count


def _making(make: Callable[[], Closable], count: int) -> float:
    made: list[Closable] = []
    spent = _once(lambda: made.extend(make() for _ in range(count)))
    for thing in made:
        thing.close()
    return spent


def _once(work: Callable[[], object]) -> float:
    gc.collect()
    begun = process_time()
    work()
    return process_time() - begun


def resident() -> int:
    """Bytes of memory that this process holds now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def show(title: str, figures: list[Figure], *, as_json: bool) -> None:
    """Print the figures, with a mark where a target is missed; `--record` keeps them."""
    known, _ = options("").parse_known_args()
    if known.record is not None:
        record(known.record, title, [asdict(figure) for figure in figures])
    if as_json:
        rows = [{**asdict(figure), "met": figure.met} for figure in figures]
        print(json.dumps({"benchmark": title, "figures": rows}))
        return
    print(f"\n{title}")
    for figure in figures:
        bound = "" if figure.target is None else f"  {'>=' if figure.more else '<='} {figure.target:g}"
        mark = "  MISSED" if figure.met is False else ""
        print(f"  {figure.name:<64} {figure.value:>12,.3f} {figure.unit:<10}{bound}{mark}")
