"""What a bc program becomes when it is read: steps of a machine with a stack, and functions of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from simtrain.worlds.machine.commands.bc_numbers import BcNumber


class BcStep(NamedTuple):
    """One step: what it does, with which name or text, where it goes on, and the arrays among the arguments of a call."""

    does: str
    text: str = ""
    target: int = 0
    arrays: tuple[str | None, ...] = ()

    @property
    def size(self) -> int:
        """Return how many bytes bc's own code takes for it, by which its errors count."""
        if self.does == "number":
            return 1 if self.text in ("0", "1") else len(self.text) + 2
        if self.does in ("string", "show string"):
            return len(self.text) + 2
        if self.does in ("jump", "if zero", "unless zero"):
            return 3
        if self.does == "call":
            return 3 + len(self.arrays)
        return _SIZES.get(self.does, 1)


_SIZES = {
    **dict.fromkeys(("load", "store", "step", "load item", "store item", "step item"), 2),
    **dict.fromkeys(("length", "sqrt", "scale", "read"), 2),
    "copy item": 4,
    "array": 3,
    "nothing": 0,
}


class BcLocal(NamedTuple):
    """A parameter or an auto variable: its kind is `number`, `array`, or `shared` for an array that is not copied."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class BcFunction:
    """A function: of a program, or of the library, which is reckoned by Python from numbers and the scale."""

    name: str
    parameters: tuple[BcLocal, ...] = ()
    autos: tuple[BcLocal, ...] = ()
    steps: tuple[BcStep, ...] = ()
    void: bool = False
    reckoned: Callable[[list[BcNumber], int], BcNumber] | None = None


LIMITS = (
    "BC_BASE_MAX     = 2147483647\nBC_DIM_MAX      = 16777215\nBC_SCALE_MAX    = 2147483647\n"
    "BC_STRING_MAX   = 2147483647\nMAX Exponent    = 9223372036854775807\nNumber of vars  = 32767\n"
)
"""What `limits` prints."""
