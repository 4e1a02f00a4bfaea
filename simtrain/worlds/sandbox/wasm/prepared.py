"""The component as the warm process holds it: begun, up to what a single run decides. A forked child goes on from here, once."""

from typing import Any

from simtrain.values.errors import SimulatorFault
from simtrain.worlds.sandbox.wasm.component import Component
from simtrain.worlds.sandbox.wasm.engine import loaded, new_engine
from simtrain.worlds.sandbox.wasm.host_calls import FUEL_PER_SECOND, HostCalls, SeededBytes, VirtualClock

_FUEL = 100 * FUEL_PER_SECOND


class PreparedComponent:
    """One instance of a component, which has done what every run begins with."""

    def __init__(self, built: Component) -> None:
        """Load and begin it. Nothing here may start a thread of wasmtime's: a forked child would miss it. Raises SimulatorFault."""
        from wasmtime import Store, WasiConfig
        from wasmtime.component import Linker

        self.built = built
        engine = new_engine()
        self._store = Store(engine)
        self._store.set_fuel(_FUEL)
        self._store.set_wasi(WasiConfig())
        self._calls = HostCalls(VirtualClock(start=0, seconds=0, left=self._store.get_fuel), SeededBytes(0))
        linker = Linker(engine)
        linker.allow_shadowing = True
        linker.add_wasip2()
        self._calls.add_to(linker)
        # Kept: what they own must not be freed before the store.
        self._component, self._linker = loaded(engine, built.compiled), linker
        instance = linker.instantiate(self._store, self._component)
        prepare, run = instance.get_func(self._store, "prepare"), instance.get_func(self._store, "run")
        if prepare is None or run is None:
            raise SimulatorFault("the component has not the functions `prepare` and `run`")
        prepare(self._store)
        self._run, self._drawn = run, self._calls.drawn.taken

    def give(self, wasi: Any, *, memory: int, work: float, start: float, seconds: float, seed: int) -> VirtualClock:
        """Give the instance the files, limits, clock and seed of the one run that it plays; return the clock."""
        self._store.set_limits(memory_size=memory)
        self._store.set_fuel(int(work * FUEL_PER_SECOND))
        self._store.set_wasi(wasi)
        self._calls.clock = VirtualClock(start=start, seconds=seconds, left=self._store.get_fuel)
        # A run draws the same bytes as if it had begun by itself.
        drawn = SeededBytes(seed)
        drawn.take(self._drawn)
        self._calls.drawn = drawn
        return self._calls.clock

    def run(self, request: str) -> str:
        """Play the run. Raises what wasmtime raises, and Left."""
        return str(self._run(self._store, request))
