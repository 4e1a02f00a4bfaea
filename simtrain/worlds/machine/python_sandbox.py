"""The sandbox in which Python of all machine worlds of this process runs: opened at the first run, ended with the process."""

import atexit
import os
from contextlib import ExitStack
from threading import Lock

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.values.errors import InputError
from simtrain.worlds.sandbox.naming import backend_of

_INSTALL = "pip install 'simtrain[python]'"
_open: dict[tuple[int, str], OpenSandbox] = {}
"""By process as well: a forked process has no right to what its parent opened."""
_lock = Lock()


def opened_sandbox(name: str) -> OpenSandbox:
    """Return the running sandbox of a name. Raises InputError if it does not work here, SimulatorFault if it does not start."""
    key = (os.getpid(), name)
    with _lock:
        if key not in _open:
            stack = ExitStack()
            _open[key] = stack.enter_context(backend_of(name).opened())
            atexit.register(_close, key, stack)
        return _open[key]


def require_sandbox(name: str, *, what: str = "python3 runs") -> None:
    """Raise InputError, with the remedy, unless `what` can be in a sandbox of this name here."""
    probe = backend_of(name).probe()
    if probe.ok:
        return
    problem, _, remedy = probe.found.partition("; ")
    if name == "wasm" and not remedy.startswith(_INSTALL):
        # Building needs the extra as well.
        remedy = f"{_INSTALL}, then {remedy}"
    raise InputError(f"{what} in the sandbox `{name}`, which does not work here: {problem}", remedy=remedy)


def _close(key: tuple[int, str], stack: ExitStack) -> None:
    if key[0] == os.getpid():
        _open.pop(key, None)
        stack.close()
