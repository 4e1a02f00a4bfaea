"""sleep: time passes in the world, and costs none."""

import re

from simtrain.worlds.machine.invocation import Invocation, Result

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_INTERVAL = re.compile(r"(\d+\.?\d*|\.\d+)([smhd]?)")
FOREVER = 1e9
STOPPED = 143


def interval(text: str) -> float | None:
    """Return the seconds of an interval such as `2.5m`; None if it is none."""
    if text in ("inf", "infinity"):
        return FOREVER
    found = _INTERVAL.fullmatch(text)
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def sleep(call: Invocation) -> Result:
    """Let the sum of the intervals pass."""
    if not call.arguments:
        return Result(stderr="sleep: missing operand\nTry 'sleep --help' for more information.\n", exit_code=1)
    amounts = [interval(text) for text in call.arguments]
    wrong = [text for text, amount in zip(call.arguments, amounts, strict=True) if amount is None]
    if wrong:
        lines = "".join(f"sleep: invalid time interval '{text}'\n" for text in wrong)
        return Result(stderr=f"{lines}Try 'sleep --help' for more information.\n", exit_code=1)
    call.sleep(sum(amount for amount in amounts if amount is not None))
    # A job that is looked no further ahead; `background.py` ends it here.
    return Result(exit_code=STOPPED if call.machine.jobs.cut else 0)
