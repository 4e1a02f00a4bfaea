"""Carries out the steps of bc: a stack of numbers, variables, and the functions that are being called."""

import re
from dataclasses import dataclass, field

from simtrain.worlds.machine.commands import bc_numbers as numbers
from simtrain.worlds.machine.commands.bc_code import LIMITS, BcFunction, BcLocal, BcStep
from simtrain.worlds.machine.commands.bc_numbers import ONE, ZERO, BcFault, BcNumber
from simtrain.worlds.machine.commands.bc_output import BcOutput

MOST_STEPS = 500_000
"""Most steps of a program; those with long numbers count as several."""
_MOST_ITEM = 16_777_215
_MOST_BASE = 2_147_483_647
_FRAME = 5
_SAID = 50
_ONCE = 1_000
_EACH_BY_EACH = 500_000
_OTHER_BASE = 50_000
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "q": '"', "r": "\r", "t": "\t", "\\": "\\"}
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_READ = re.compile(r"[^-+.0-9A-Za-z]*([-+]?)((?:[0-9A-Fa-f]|\\\n)*\.?(?:[0-9A-Fa-f]|\\\n)*).?", re.DOTALL)


_HOLDS: dict[str, tuple[int, ...]] = {
    "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1),
}  # fmt: skip
"""What a comparison returns where it holds."""


class BcHalt(Exception):
    """Says that the program has ended itself."""


class BcEndless(Exception):
    """Says that a program takes so many steps that it is taken to have no end."""


@dataclass(slots=True)
class BcFrame:
    """A function that is being called: where it goes on, and what its local variables hide."""

    function: BcFunction
    place: int = 0
    base: int = 10
    numbers: list[tuple[str, BcNumber]] = field(default_factory=list[tuple[str, BcNumber]])
    arrays: list[tuple[str, dict[int, BcNumber]]] = field(default_factory=list[tuple[str, dict[int, BcNumber]]])


class BcMachine:
    """Carries out what was read. `stdin` is what `read()` reads."""

    def __init__(self, output: BcOutput, stdin: str, notice: str, functions: dict[str, BcFunction]) -> None:
        """Begin with no variables."""
        self.output = output
        self.stdin = stdin
        self.notice = notice
        self.functions = functions
        self.errors: list[str] = []
        self.scale, self.input_base, self.output_base = 0, 10, 10
        self.last = ZERO
        self._variables: dict[str, BcNumber] = {}
        self._arrays: dict[str, dict[int, BcNumber]] = {}
        self._stack: list[BcNumber] = []
        self._frames: list[BcFrame] = []
        self._left = MOST_STEPS

    def run(self, steps: tuple[BcStep, ...]) -> None:
        """Carry out steps to their end, or to an error. Raises BcHalt, BcEndless and BcTooLarge."""
        self._stack.clear()
        self._frames = [BcFrame(BcFunction("(main)", steps=steps))]
        try:
            while self._frames:
                frame = self._frames[-1]
                if frame.place >= len(frame.function.steps):
                    self._frames.pop()
                    continue
                step = frame.function.steps[frame.place]
                frame.place += 1
                self._charge(1)
                self._carry_out(step, frame)
        except BcFault as fault:
            self._say("error", fault.text, fault.at)
            while self._frames:
                self._leave(self._frames.pop())

    def _charge(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise BcEndless

    def _charge_size(self, *values: BcNumber) -> None:
        """Count what as many bits take that are gone through once."""
        bits = 0
        for value in values:
            bits += value.digits.bit_length()
        if bits > _ONCE:
            self._charge(bits // _ONCE)

    def _charge_product(self, *values: BcNumber, divisor: int = _EACH_BY_EACH) -> None:
        """Count what it takes where each bit meets each other."""
        self._charge_size(*values)
        bits = 1
        for value in values:
            bits *= value.digits.bit_length() + 3 * (self.scale + 1)
        if bits > divisor:
            self._charge(bits // divisor)

    def _say(self, kind: str, text: str, at: int | None = None) -> None:
        frame = self._frames[-1]
        done = frame.function.steps[: frame.place]
        address = sum(step.size for step in done)
        if at is not None:
            address += at - done[-1].size
        self._left -= _SAID
        self.errors.append(f"Runtime {kind} (func={frame.function.name}, adr={address}): {text}\n")

    def _carry_out(self, step: BcStep, frame: BcFrame) -> None:
        stack = self._stack
        match step.does:
            case "number":
                base = frame.base if len(self._frames) > 1 else self.input_base
                value = numbers.number_of(step.text, base)
                if len(step.text) > 100:
                    self._charge_product(value, value)
                stack.append(value)
            case "load":
                stack.append(self._load(step.text))
            case "load item":
                stack.append(self._array(step.text).get(self._item(step.text), ZERO))
            case "store":
                self._store(step.text, stack[-1])
            case "store item":
                value = stack.pop()
                self._array(step.text)[self._item(step.text)] = value
                stack.append(value)
            case "step":
                value = numbers.added(self._load(step.text), BcNumber(step.target))
                self._charge_size(value)
                self._store(step.text, value)
            case "step item":
                self._step_item(step)
            case "copy":
                stack.append(stack[-1])
            case "copy item":
                item = stack[-1]
                value = self._array(step.text).get(self._item(step.text), ZERO)
                stack += [value, item]
            case "pop":
                stack.pop()
            case "truth":
                stack.append(ONE if stack.pop().digits else ZERO)
            case "not":
                stack.append(ZERO if stack.pop().digits else ONE)
            case "negate":
                self._charge_size(stack[-1])
                stack.append(numbers.negated(stack.pop()))
            case "jump":
                frame.place = step.target
            case "if zero":
                self._branch(frame, step, stack.pop().digits == 0)
            case "unless zero":
                self._branch(frame, step, stack.pop().digits != 0)
            case "call":
                self._call(step)
            case "return":
                self._leave(self._frames.pop())
            case "array":
                pass
            case "length" | "sqrt" | "scale" | "read":
                self._built_in(step.does)
            case "print" | "show" | "string" | "show string" | "limits" | "warranty":
                self._print(step)
            case "halt":
                raise BcHalt
            case _:
                right, left = stack.pop(), stack.pop()
                stack.append(self._reckoned(step.does, left, right))

    def _branch(self, frame: BcFrame, step: BcStep, taken: bool) -> None:
        if taken:
            frame.place = step.target

    def _reckoned(self, sign: str, left: BcNumber, right: BcNumber) -> BcNumber:
        if sign in ("*", "/", "%"):
            self._charge_product(left, right)
        else:
            self._charge_size(left, right)
        match sign:
            case "+":
                return numbers.added(left, right)
            case "-":
                return numbers.added(left, numbers.negated(right))
            case "*":
                return numbers.multiplied(left, right, self.scale)
            case "/":
                return numbers.divided(left, right, self.scale)
            case "%":
                return numbers.remainder(left, right, self.scale)
            case "^":
                if right.scale:
                    self._say("warning", "non-zero scale in exponent")
                times = abs(numbers.whole(right))
                bits = min(left.digits.bit_length() * times, 10 * numbers.MOST_BITS)
                self._charge(bits // 50)
                return numbers.raised(left, right, self.scale)
            case _:
                return ONE if numbers.compared(left, right) in _HOLDS[sign] else ZERO

    def _built_in(self, name: str) -> None:
        if name == "read":
            self._stack.append(self._read())
            return
        value = self._stack.pop()
        if name == "length":
            self._charge_product(value, value)
            self._stack.append(BcNumber(numbers.length(value)))
        elif name == "scale":
            self._stack.append(BcNumber(value.scale))
        else:
            self._charge_product(value, value)
            self._stack.append(numbers.rooted(value, self.scale))

    def _read(self) -> BcNumber:
        found = _READ.match(self.stdin)
        if found is None or not found[2].strip("."):
            self.stdin = ""
            return ZERO
        self.stdin = self.stdin[found.end() :]
        value = numbers.number_of(found[2].replace("\\\n", "").upper(), self.input_base)
        return numbers.negated(value) if found[1] == "-" else value

    def _print(self, step: BcStep) -> None:
        match step.does:
            case "string":
                self.output.write(step.text)
            case "show string":
                self.output.write(_ESCAPE.sub(lambda found: _ESCAPES.get(found[1], ""), step.text))
            case "limits":
                self.output.write(LIMITS)
            case "warranty":
                self.output.write(self.notice)
            case _:
                self.last = self._stack.pop()
                self._charge_product(
                    self.last, self.last, divisor=_EACH_BY_EACH if self.output_base == 10 else _OTHER_BASE
                )
                end = "\n" if step.does == "print" else ""
                self.output.write(numbers.written(self.last, self.output_base) + end)

    def _load(self, name: str) -> BcNumber:
        match name:
            case "scale":
                return BcNumber(self.scale)
            case "ibase":
                return BcNumber(self.input_base)
            case "obase":
                return BcNumber(self.output_base)
            case "last":
                return self.last
            case _:
                return self._variables.get(name, ZERO)

    def _store(self, name: str, value: BcNumber) -> None:
        match name:
            case "scale":
                if value.digits < 0:
                    self._say("warning", "negative scale, set to 0")
                self.scale = min(max(numbers.whole(value), 0), _MOST_BASE)
            case "ibase":
                self.input_base = self._base(name, value, 36)
            case "obase":
                self.output_base = self._base(name, value, _MOST_BASE)
            case "last":
                self.last = value
            case _:
                self._variables[name] = value

    def _base(self, name: str, value: BcNumber, most: int) -> int:
        base = numbers.whole(value)
        if base < 2:
            self._say("warning", f"{name} too small, set to 2")
        elif base > most:
            self._say("warning", f"{name} too large, set to {most}")
        return min(max(base, 2), most)

    def _array(self, name: str) -> dict[int, BcNumber]:
        return self._arrays.setdefault(name, {})

    def _item(self, name: str) -> int:
        place = numbers.whole(self._stack.pop())
        if not 0 <= place <= _MOST_ITEM:
            raise BcFault(f"Array {name} subscript out of bounds.")
        return place

    def _step_item(self, step: BcStep) -> None:
        array, place = self._array(step.text), self._item(step.text)
        self._charge_size(array.get(place, ZERO))
        array[place] = numbers.added(array.get(place, ZERO), BcNumber(step.target))

    def _call(self, step: BcStep) -> None:
        function = self.functions.get(step.text)
        if function is None or not (function.steps or function.reckoned):
            raise BcFault(f"Function {step.text} not defined.", 2)
        if len(function.parameters) != len(step.arrays):
            raise BcFault("Parameter number mismatch", 3 + min(len(function.parameters), len(step.arrays)))
        given = [ZERO if name is not None else self._stack.pop() for name in reversed(step.arrays)][::-1]
        for place, (local, array) in enumerate(zip(function.parameters, step.arrays, strict=True)):
            if (local.kind == "number") != (array is None):
                raise BcFault(f"Parameter type mismatch parameter {function.parameters[-1 - place].name}.", 3 + place)
        if function.reckoned is not None:
            self._charge_library(function.name, given)
            self._stack.append(function.reckoned(given, self.scale))
            return
        inner = len(self._frames) > 1
        frame = BcFrame(function, base=self._frames[-1].base if inner else self.input_base)
        passed = [None if array is None else self._array(array) for array in step.arrays]
        for local, value, array in zip(function.parameters, given, passed, strict=True):
            self._bind(frame, local, value, array)
        for local in function.autos:
            self._bind(frame, local, ZERO, None)
        self._frames.append(frame)
        self._charge(_FRAME)

    def _charge_library(self, name: str, given: list[BcNumber]) -> None:
        size = self.scale + sum(value.digits.bit_length() for value in given) // 3 + 10
        if name in ("e", "j"):
            # What they return, or go through on the way, is as long as the number is large.
            size += sum(min(abs(numbers.whole(value)), numbers.MOST_BITS) for value in given) // 2
        self._charge(size * size // (8 if name == "j" else 40))

    def _bind(self, frame: BcFrame, local: BcLocal, value: BcNumber, array: dict[int, BcNumber] | None) -> None:
        if local.kind == "number":
            frame.numbers.append((local.name, self._variables.get(local.name, ZERO)))
            self._variables[local.name] = value
            return
        frame.arrays.append((local.name, self._array(local.name)))
        if array is None:
            self._arrays[local.name] = {}
        elif local.kind == "shared":
            self._arrays[local.name] = array
        else:
            self._charge(len(array))
            self._arrays[local.name] = array.copy()

    def _leave(self, frame: BcFrame) -> None:
        for name, value in reversed(frame.numbers):
            self._variables[name] = value
        for name, array in reversed(frame.arrays):
            self._arrays[name] = array
