"""Statements and functions of bc, read into steps: one line of a program, or one function, at a time."""

from simtrain.worlds.machine.commands.bc_code import BcFunction, BcLocal, BcStep
from simtrain.worlds.machine.commands.bc_expressions import COMPARED, ENCLOSED, VALUE, VOID, BcExpressions
from simtrain.worlds.machine.commands.bc_lexing import BcSyntaxError, BcWords

_NO_STATEMENTS = (
    "}", ")", "]", ",", ";", "else", "auto", "define", "void", "+", "*", "/", "%", "^", "=", "==", "!=", "<", "<=", ">", ">=", "&&",
    "||", "+=", "-=", "*=", "/=", "%=", "^=", "[", "&",
)  # fmt: skip
_WORDS = ("{", "if", "while", "for", "print", "return", "break", "continue", "quit", "halt", "limits", "warranty")
_QUIET = 3
_NEVER = 1 << 60


class BcQuit(Exception):
    """Says that `quit` was read: bc ends at once."""


class BcReader(BcExpressions):
    """Reads a program. What is wrong is reported in `words.errors`."""

    def __init__(self, words: BcWords, functions: dict[str, BcFunction]) -> None:
        """Read nothing yet."""
        super().__init__(words, functions)
        self._within: BcFunction | None = None
        # For each loop around: the steps that leave it, and those that begin its next round.
        self._loops: list[tuple[list[int], list[int]]] = []
        self._silent_until = 0
        self._stuck = -1

    def next_steps(self) -> tuple[BcStep, ...] | None:
        """Read a line, or a function, and return what is to be carried out; None at the end. Raises BcQuit and BcTooDeep."""
        self.steps, self._loops, self._within = [], [], None
        self.depth = 0
        self.words.failed = False
        if self.words.peek().kind == "end":
            return None
        try:
            if self.words.sees("define"):
                self._function()
                return ()
        except BcSyntaxError:
            if not self._recover():
                return ()
        self._line()
        return () if self.words.failed else tuple(self.steps)

    def _complain(self) -> None:
        if self.words.taken >= self._silent_until:
            self.words.report("syntax error")
        self.words.failed = True

    def _line(self) -> None:
        while True:
            try:
                while self.words.accept(";"):
                    pass
                if self.words.accept_newline():
                    return
                self._statement()
                if not self.words.sees(";") and self.words.peek().kind != "newline":
                    raise BcSyntaxError
            except BcSyntaxError:
                if not self._recover():
                    return
                self.depth = 0

    def _recover(self, *, within: bool = False) -> bool:
        """Skip what is wrong, up to what may begin a statement, and return whether there is such; a line ends what is not in braces."""
        self._complain()
        if self._stuck == self.words.taken and self.words.peek().kind != "newline":
            self.words.take()
        before = self.words.taken
        while self.words.sees(*_NO_STATEMENTS) or (within and self.words.peek().kind == "newline"):
            self.words.take()
        if self.words.accept_newline():
            return False
        if self.words.peek().kind == "end":
            if self.words.taken > before:
                self._complain()
            # Said once, for all braces that are open.
            self._silent_until = _NEVER
            return False
        self._stuck = self.words.taken
        self._silent_until = self.words.taken + _QUIET
        return True

    def _statement(self) -> None:
        self.deepen()
        kind, text = self.words.peek()
        if kind == "string":
            self.words.take()
            self.emit("string", text)
        elif kind == "sign" and text in _WORDS:
            self.words.take()
            self._worded(text)
        else:
            self._reckoned()
        self.depth -= 1

    def _worded(self, text: str) -> None:
        match text:
            case "{":
                self._block()
            case "if":
                self._if()
            case "while":
                self._while()
            case "for":
                self._for()
            case "print":
                self._print()
            case "return":
                self._return()
            case "break":
                self._break()
            case "continue":
                self._continue()
            case "quit":
                raise BcQuit
            case _:
                self.emit(text)

    def _reckoned(self) -> None:
        traits = self.expression()
        if traits & COMPARED:
            self.words.warn("comparison in expression")
        self.emit("print" if traits & VALUE and not traits & VOID else "pop")

    def _break(self) -> None:
        if self._loops:
            self._loops[-1][0].append(self.emit("jump"))
        else:
            self.words.report("Break outside a for/while")

    def _continue(self) -> None:
        self.words.warn("Continue statement")
        if self._loops:
            self._loops[-1][1].append(self.emit("jump"))
        else:
            self.words.report("Continue outside a for")

    def _return(self) -> None:
        if self.words.peek().kind in ("newline", "end") or self.words.sees(";", "}", "else"):
            self.emit("number", "0")
        else:
            traits = self.valued("return requires non-void expression")
            if traits & COMPARED:
                self.words.warn("comparison in return expression")
            if not traits & ENCLOSED:
                self.words.warn("return expression requires parenthesis")
            if self._within is not None and self._within.void:
                self.words.report("Return expression in a void function.")
        if self._within is None:
            self.words.report("Return outside of a function.")
        self.emit("return")

    def _print(self) -> None:
        self.words.warn("print statement")
        while True:
            kind, text = self.words.peek()
            if kind == "string":
                self.words.take()
                self.emit("show string", text)
            else:
                self.valued("void expression in print")
                self.emit("show")
            if not self.words.accept(","):
                return

    def _block(self) -> None:
        """Read what stands in braces. What is wrong in it is skipped, up to what may begin a statement."""
        separated = True
        depth = self.depth
        while not self.words.accept("}"):
            try:
                if self.words.peek().kind == "newline" or self.words.sees(";"):
                    self.words.take()
                    separated = True
                    continue
                if not separated:
                    raise BcSyntaxError
                self._statement()
                separated = False
            except BcSyntaxError:
                if not self._recover(within=True):
                    raise
                separated, self.depth = True, depth

    def _body(self) -> None:
        if self.words.accept_newline():
            self.words.warn("newline not allowed")
        self._statement()

    def _condition(self) -> None:
        self.words.expect("(")
        self.valued("void expression")
        self.words.expect(")")

    def _if(self) -> None:
        self._condition()
        otherwise = self.emit("if zero")
        self._body()
        if not self.words.accept("else"):
            self.aim(otherwise)
            return
        self.words.warn("else clause in if statement")
        end = self.emit("jump")
        self.aim(otherwise)
        self._body()
        self.aim(end)

    def _while(self) -> None:
        start = len(self.steps)
        self._condition()
        self._loops.append(([self.emit("if zero")], []))
        self._body()
        self.emit("jump", target=start)
        self._end_loop(start)

    def _end_loop(self, again: int) -> None:
        leaving, going_on = self._loops.pop()
        for place in leaving:
            self.aim(place)
        for place in going_on:
            self.steps[place] = self.steps[place]._replace(target=again)

    def _for(self) -> None:
        self.words.expect("(")
        self._part(";", "first")
        start = len(self.steps)
        self._part(";", "second")
        inside = self.emit("unless zero")
        outside = self.emit("jump")
        update = len(self.steps)
        self._part(")", "third")
        self.emit("jump", target=start)
        self.aim(inside)
        self._loops.append(([outside], []))
        self._body()
        self.emit("jump", target=update)
        self._end_loop(update)

    def _part(self, end: str, which: str) -> None:
        """Read one of the three expressions of `for`."""
        if self.words.accept(end):
            self.words.warn("Missing expression in for statement")
            if which == "second":
                self.emit("number", "1")
            return
        traits = self.expression()
        if traits & VOID:
            self.words.report(f"{which} expression is void")
        if which != "second":
            if traits & COMPARED:
                self.words.warn(f"Comparison in {which} for expression")
            self.emit("pop")
        self.words.expect(end)

    def _function(self) -> None:
        self.words.take()
        void = self.words.accept("void")
        if void:
            self.words.warn("void functions")
        name = self.words.expect_name()
        self.words.expect("(")
        parameters = [] if self.words.sees(")") else self._locals()
        self.words.expect(")")
        if self.words.accept_newline():
            self.words.warn("newline not allowed")
        self.words.expect("{")
        if not self.words.accept_newline():
            self.words.warn("End of line required")
        while self.words.accept_newline():
            self.words.warn("Too many end of lines")
        names = {(local.name, local.kind == "number") for local in parameters}
        if len(names) < len(parameters):
            self.words.report("duplicate parameter names")
        autos: list[BcLocal] = []
        if self.words.accept("auto"):
            autos = self._locals()
            if any((local.name, local.kind == "number") in names for local in autos):
                self.words.report("variable in both parameter and auto lists")
            if not self.words.accept(";") and not self.words.accept_newline():
                raise BcSyntaxError
        self._within = BcFunction(name, tuple(parameters), tuple(autos), void=void)
        # A function may call itself.
        before = self.functions.get(name)
        self.functions[name] = self._within
        try:
            self._block()
        finally:
            self.functions.pop(name)
            if before is not None:
                self.functions[name] = before
        if not self.words.failed:
            self.emit("number", "0")
            self.emit("return")
            self.functions[name] = BcFunction(name, tuple(parameters), tuple(autos), tuple(self.steps), void)

    def _locals(self) -> list[BcLocal]:
        found: list[BcLocal] = []
        while True:
            shared = self.words.accept("*")
            if shared:
                self.words.warn("Call by variable arrays")
            name = self.words.expect_name()
            array = self.words.accept("[")
            if array:
                self.words.expect("]")
            elif shared:
                raise BcSyntaxError
            found.append(BcLocal(name, "shared" if shared else "array" if array else "number"))
            if not self.words.accept(","):
                return found
