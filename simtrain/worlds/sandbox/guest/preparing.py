"""What modules on the shelf need to work in one process without threads, and what they must draw anew at each start."""

import sys

import layout
import shelf


def adapt() -> None:
    """Adapt pytest, asyncio, zoneinfo; arrange for `random` and `logging` to begin afresh."""
    wrong = {name: why for name, why in shelf.failed.items() if "pytest" in name}
    if wrong:
        raise ImportError(f"pytest cannot be imported: {wrong}")
    _adapt_pytest()
    _adapt_asyncio()
    sys.modules["zoneinfo"].reset_tzpath([layout.ZONES])
    shelf.after("random", lambda module: module.seed())
    shelf.after("logging", _restart_logging)


def _restart_logging(module) -> None:
    import time

    module._startTime = time.time_ns()


def _adapt_pytest() -> None:
    """Capture at the level of `sys`, since there is no dup2; leave out the plug-in of faulthandler, which needs it too."""
    capture, config = sys.modules["_pytest.capture"], sys.modules["_pytest.config"]
    plain = capture._get_multicapture
    capture._get_multicapture = lambda method: plain("sys" if method == "fd" else method)
    config.default_plugins = tuple(name for name in config.default_plugins if name != "faulthandler")
    config.builtin_plugins.discard("faulthandler")


def _adapt_asyncio() -> None:
    """Let the event loop wait by letting virtual time pass: there are no sockets that could wake it."""
    import time

    events, selectors = sys.modules["asyncio.selector_events"], sys.modules["selectors"]

    class WaitingSelector(selectors._BaseSelectorImpl):
        """Waits for time alone."""

        def select(self, timeout=None):
            """Let the time pass."""
            if timeout is None:
                raise RuntimeError("the event loop waits for something that can never happen")
            if timeout > 0:
                time.sleep(timeout)
            return []

    selectors.DefaultSelector = WaitingSelector
    events.BaseSelectorEventLoop._make_self_pipe = lambda self: None
    events.BaseSelectorEventLoop._close_self_pipe = lambda self: None
    events.BaseSelectorEventLoop._write_to_self = lambda self: None
