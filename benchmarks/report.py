"""Figures of a benchmark: measured in CPU time, best of several rounds, printed as a table or as JSON."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sqlite3
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any, Protocol, TypeVar

from page import record

T = TypeVar("T")

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@dataclass(frozen=True)
class Figure:
    """One measured value. `target` is the most that it may be, or the least where `more` is better; None for a floor or a part.

    `floor` is what the library below costs in the same run, in the same unit, where that is measured.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    more: bool = False
    floor: float | None = None

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


def cpu_of_children() -> float:
    """CPU seconds that all processes below this one have used so far: a browser and its driver (Linux: proc(5), fields 4, 14 and 15)."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(stat.parent.name)
        parents[number], ticks[number] = int(fields[1]), int(fields[11]) + int(fields[12])
    ours, found = {os.getpid()}, 0
    while ours:
        ours = {number for number, parent in parents.items() if parent in ours}
        found += sum(ticks[number] for number in ours)
    return found / os.sysconf("SC_CLK_TCK")


def apart(work: Callable[[], T]) -> T:
    """The result of `work` in a fresh process, whose memory holds nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work).result()


def ratio(figure: Figure, yardstick: float) -> float:
    """What of a figure can be compared across runs and machines.

    A multiple of its floor; else times and rates as multiples of the yardstick's CPU seconds; sizes, counts and ratios as they are.
    """
    if figure.floor is not None:
        return figure.value / figure.floor
    if figure.unit in _SECONDS:
        return figure.value * _SECONDS[figure.unit] / yardstick
    return figure.value * yardstick if figure.unit.endswith("/s") else figure.value


def measure_yardstick() -> float:
    """CPU seconds of a fixed piece of work: plain Python, JSON, and rows in SQLite. It says how fast this machine is just now."""
    return cpu(_fixed_work, rounds=5)


def _fixed_work() -> None:
    rows = [{"id": number, "name": f"item {number}", "price": number * 7 % 1000} for number in range(20_000)]
    again = json.loads(json.dumps(rows))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table items (id integer primary key, name text, price integer)")
        connection.executemany("insert into items values (:id, :name, :price)", again)
        found = connection.execute("select count(*) from items where name like '%9%' and price > 500").fetchone()
    assert found[0] > 0


def show(title: str, figures: list[Figure], *, as_json: bool) -> None:
    """Print the figures, with a mark where a target is missed; `--record` keeps them."""
    known, _ = options("").parse_known_args()
    if known.record is not None:
        yardstick = measure_yardstick()
        record(known.record, title, [{**asdict(figure), "ratio": ratio(figure, yardstick)} for figure in figures])
    if as_json:
        rows = [{**asdict(figure), "met": figure.met} for figure in figures]
        print(json.dumps({"benchmark": title, "figures": rows}))
        return
    print(f"\n{title}")
    for figure in figures:
        bound = "" if figure.target is None else f"  {'>=' if figure.more else '<='} {figure.target:g}"
        mark = "  MISSED" if figure.met is False else ""
        print(f"  {figure.name:<64} {figure.value:>12,.3f} {figure.unit:<10}{bound}{mark}")
