"""Expressions of bc, read into steps."""

from simtrain.worlds.machine.commands.bc_code import BcFunction, BcStep
from simtrain.worlds.machine.commands.bc_lexing import BcSyntaxError, BcTooDeep, BcWords

DEEPEST = 100
"""How deeply a program may be nested."""
VALUE, COMPARED, ENCLOSED, VOID = 1, 2, 4, 8
"""What is known of an expression: it is more than an assignment, it compares, it is in parentheses, it has no value."""
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _POWER = range(1, 8)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_LEVELS = {
    "||": _OR, "&&": _AND, **dict.fromkeys(_COMPARISONS, _COMPARISON), "+": _SUM, "-": _SUM,
    "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT, "^": _POWER,
}  # fmt: skip
_ASSIGNING = ("=", "+=", "-=", "*=", "/=", "%=", "^=")
_SPECIAL = ("ibase", "obase", "scale", "last", ".")


class BcExpressions:
    """Reads expressions. `steps` are those of what is being read, `functions` what has been defined so far."""

    def __init__(self, words: BcWords, functions: dict[str, BcFunction]) -> None:
        """Read nothing yet."""
        self.words = words
        self.functions = functions
        self.steps: list[BcStep] = []
        self.depth = 0

    def emit(self, does: str, text: str = "", target: int = 0) -> int:
        """Add a step, and return its place."""
        self.steps.append(BcStep(does, text, target))
        return len(self.steps) - 1

    def aim(self, place: int) -> None:
        """Let a step that goes on elsewhere go on behind all that was read."""
        self.steps[place] = self.steps[place]._replace(target=len(self.steps))

    def deepen(self) -> None:
        """Count one more level. Raises BcTooDeep."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise BcTooDeep

    def valued(self, problem: str) -> int:
        """Read an expression that must have a value, and say so where it has none."""
        traits = self.expression()
        if traits & VOID:
            self.words.report(problem)
        return traits

    def expression(self, least: int = _OR) -> int:
        """Read an expression of operators that bind at least so tightly, and return what is known of it."""
        self.deepen()
        traits = self._operand()
        while self.words.peek().kind == "sign":
            sign = self.words.peek().text
            level = _LEVELS.get(sign, 0)
            if not level or level < least:
                break
            self.words.take()
            if level <= _AND:
                traits |= self._either(sign, level)
            else:
                traits |= self.expression(level if level == _POWER else level + 1)
                self.emit(sign)
                traits |= COMPARED | VALUE if level == _COMPARISON else 0
            if traits & VOID:
                shown = "comparison" if level == _COMPARISON else "" if sign == "%" else sign
                self.words.report(f"void expression with {shown}")
            traits &= ~(ENCLOSED | VOID)
        self.depth -= 1
        return traits

    def _either(self, sign: str, level: int) -> int:
        self.words.warn(f"{sign} operator")
        # Both sides count as 0 or 1.
        self.emit("copy")
        decided = self.emit("if zero" if sign == "&&" else "unless zero")
        self.emit("pop")
        traits = self.expression(level + 1)
        self.aim(decided)
        self.emit("truth")
        return traits

    def _operand(self) -> int:
        kind, text = self.words.peek()
        if kind == "number":
            self.words.take()
            self.emit("number", text)
            return VALUE
        if kind == "name":
            return self._called() if self.words.peek(1) == ("sign", "(") else self._named()
        if kind == "sign" and text in _SPECIAL:
            measured = text == "scale" and self.words.peek(1) == ("sign", "(")
            return self._built_in() if measured else self._named()
        match text if kind == "sign" else "":
            case "(":
                self.words.take()
                traits = self.valued("void expression in parenthesis") & ~VOID
                self.words.expect(")")
                return traits | VALUE | ENCLOSED
            case "-":
                return self._negated()
            case "!":
                return self._denied()
            case "++" | "--":
                return self._stepped_before()
            case "length" | "sqrt":
                return self._built_in()
            case "read":
                self.words.take()
                self.words.warn("read function")
                self.words.expect("(")
                self.words.expect(")")
                self.emit("read")
                return VALUE
            case _:
                raise BcSyntaxError

    def _negated(self) -> int:
        self.words.take()
        self.deepen()
        traits = self._operand()
        self.depth -= 1
        if traits & VOID:
            self.words.report("void expression with unary -")
        self.emit("negate")
        return traits & ~(ENCLOSED | VOID)

    def _denied(self) -> int:
        self.words.take()
        traits = self.expression(_COMPARISON)
        self.words.warn("! operator")
        if traits & VOID:
            self.words.report("void expression with !")
        self.emit("not")
        return traits & ~(ENCLOSED | VOID)

    def _built_in(self) -> int:
        name = self.words.take().text
        self.words.expect("(")
        self.valued(f"void expression in {name}()")
        self.words.expect(")")
        self.emit(name)
        return VALUE

    def _place(self) -> tuple[str, bool]:
        """Read what can be assigned to, and return its name, and whether it is an item of an array."""
        kind, name = self.words.peek()
        if kind != "name" and not (kind == "sign" and name in _SPECIAL):
            raise BcSyntaxError
        self.words.take()
        if kind == "sign":
            name = "last" if name == "." else name
            if name == "last":
                self.words.warn("Last variable")
            return name, False
        if not self.words.accept("["):
            return name, False
        if self.valued("void expression as subscript") & COMPARED:
            self.words.warn("comparison in subscript")
        self.words.expect("]")
        return name, True

    def _stepped_before(self) -> int:
        sign = self.words.take().text
        name, item = self._place()
        if item:
            self.emit("copy")
        self._step(name, sign, item)
        self.emit("load item" if item else "load", name)
        return VALUE

    def _step(self, name: str, sign: str, item: bool) -> None:
        self.emit("step item" if item else "step", name, 1 if sign == "++" else -1)

    def _named(self) -> int:
        name, item = self._place()
        suffix = " item" if item else ""
        if self.words.sees("++", "--"):
            sign = self.words.take().text
            if item:
                # The value comes below the subscript, which the step takes away.
                self.emit("copy item", name)
            else:
                self.emit("load", name)
            self._step(name, sign, item)
            return VALUE
        if not self.words.sees(*_ASSIGNING):
            self.emit(f"load{suffix}", name)
            return VALUE
        sign = self.words.take().text
        if len(sign) > 1:
            if item:
                self.emit("copy")
            self.emit(f"load{suffix}", name)
        if self.expression(_SUM) & VOID:
            self.words.report("Assignment of a void expression")
        if len(sign) > 1:
            self.emit(sign[0])
        self.emit(f"store{suffix}", name)
        return 0

    def _called(self) -> int:
        name = self.words.take().text
        self.words.expect("(")
        arrays: list[str | None] = []
        while not self.words.sees(")"):
            arrays.append(self._argument())
            if not self.words.sees(")"):
                self.words.expect(",")
                if self.words.sees(")"):
                    raise BcSyntaxError
        self.words.expect(")")
        self.steps.append(BcStep("call", name, 0, tuple(arrays)))
        function = self.functions.get(name)
        return VALUE | VOID if function is not None and function.void else VALUE

    def _argument(self) -> str | None:
        kind, name = self.words.peek()
        if kind == "name" and self.words.peek(1) == ("sign", "[") and self.words.peek(2) == ("sign", "]"):
            for _ in range(3):
                self.words.take()
            self.emit("array", name)
            return name
        if self.valued("void argument") & COMPARED:
            self.words.warn("comparison in argument")
        return None
