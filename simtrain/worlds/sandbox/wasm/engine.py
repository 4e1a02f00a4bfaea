"""The one configuration of wasmtime: what the component is compiled with, and what it is loaded with."""

from pathlib import Path
from typing import Any

SETTINGS = {"consume_fuel": True, "cranelift_nan_canonicalization": True, "max_wasm_stack": 2 << 20}
"""Fuel counts instructions, so that limits do not depend on the machine; one form of NaN makes floats equal on every processor."""


def new_engine() -> Any:
    """Return an engine with these settings."""
    from wasmtime import Config, Engine

    config = Config()
    for name, value in SETTINGS.items():
        setattr(config, name, value)
    return Engine(config)


def compiled(engine: Any, component: Path) -> bytes:
    """Return a component compiled for this processor; takes about ten seconds of CPU."""
    from wasmtime.component import Component

    return bytes(Component(engine, component.read_bytes()).serialize())


def loaded(engine: Any, file: Path) -> Any:
    """Return a compiled component, mapped into memory from its file."""
    from wasmtime.component import Component

    return Component.deserialize_file(engine, str(file))
