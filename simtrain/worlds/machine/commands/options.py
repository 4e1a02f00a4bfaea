"""Options on a command line, read as GNU's getopt_long reads them, with its refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simtrain.worlds.machine.commands.usages import help_text
from simtrain.worlds.machine.invocation import Invocation, Result


@dataclass(slots=True)
class Options:
    """The options that were given, in order, and the operands. A flag has the value ``."""

    given: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    operands: list[str] = field(default_factory=list[str])

    def has(self, *names: str) -> bool:
        """Return whether one of the options was given."""
        for name, _ in self.given:  # noqa: SIM110  a generator takes three times as long, and `ls` asks hundreds of times
            if name in names:
                return True
        return False

    def value(self, name: str) -> str | None:
        """Return the last value of an option; None if it was not given."""
        return next((value for found, value in reversed(self.given) if found == name), None)

    def values(self, name: str) -> list[str]:
        """Return all values of an option."""
        return [value for found, value in self.given if found == name]

    def last(self, *names: str) -> str | None:
        """Return which of some options that overrule one another was given last."""
        return next((name for name, _ in reversed(self.given) if name in names), None)


def parsed(
    call: Invocation,
    short: str,
    long: Mapping[str, str] | None = None,
    *,
    permuted: bool = True,
    code: int = 1,
    hint: str | None = None,
) -> Options | Result:
    """Return the options of a call, or the refusal that the command prints.

    `short` is a string as for getopt: `ab:` is a flag and an option with a value. `long` maps each long name to its short option,
    or to a name of its own; a name that ends in `=` takes a value, in `=?` may take one. Unless `permuted`, the first operand ends
    the options. `code` is the exit code of a refusal, `hint` the line below it.
    """
    shape = _Shape(call.name, short, long or {}, code, hint)
    found = Options()
    rest = list(call.arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            found.operands += rest
            break
        if word.startswith("--"):
            refusal = shape.long_option(word[2:], rest, found)
        elif word.startswith("-") and word != "-":
            refusal = shape.cluster(word[1:], rest, found)
        else:
            found.operands.append(word)
            if not permuted:
                found.operands += rest
                break
            continue
        if refusal is not None:
            return refusal
    return found


def usage(call: Invocation, problem: str, *, code: int = 1) -> Result:
    """Return a refusal with GNU's hint below it."""
    return Result(stderr=f"{call.name}: {problem}\nTry '{call.name} --help' for more information.\n", exit_code=code)


@dataclass(frozen=True, slots=True)
class _Shape:
    command: str
    short: str
    long: Mapping[str, str]
    code: int
    hint: str | None

    def refused(self, problem: str) -> Result:
        hint = f"Try '{self.command} --help' for more information." if self.hint is None else self.hint
        return Result(stderr=f"{self.command}: {problem}\n" + (f"{hint}\n" if hint else ""), exit_code=self.code)

    def cluster(self, letters: str, rest: list[str], found: Options) -> Result | None:
        for place, letter in enumerate(letters):
            at = self.short.find(letter)
            if at < 0 or letter == ":":
                return self.refused(f"invalid option -- '{letter}'")
            if not self.short[at + 1 :].startswith(":"):
                found.given.append((letter, ""))
                continue
            value = letters[place + 1 :]
            if not value and self.short[at + 1 :].startswith("::"):
                found.given.append((letter, ""))
                return None
            if not value and not rest:
                return self.refused(f"option requires an argument -- '{letter}'")
            found.given.append((letter, value or rest.pop(0)))
            return None
        return None

    def long_option(self, text: str, rest: list[str], found: Options) -> Result | None:
        name, equals, value = text.partition("=")
        names = {written.rstrip("=?"): written for written in self.long}
        fitting = [name] if name in names else [one for one in names if one.startswith(name)]
        if not fitting:
            told = help_text(self.command, self.short, self.long) if name == "help" else None
            if told is not None:
                return Result(told)
            return self.refused(f"unrecognized option '--{name}'")
        targets = {self.long[names[one]] for one in fitting}
        if len(fitting) > 1 and len(targets) > 1:
            listed = " ".join(f"'--{one}'" for one in fitting)
            return self.refused(f"option '--{text}' is ambiguous; possibilities: {listed}")
        written, target = names[fitting[0]], self.long[names[fitting[0]]]
        if written.endswith("=") and not equals:
            if not rest:
                return self.refused(f"option '--{fitting[0]}' requires an argument")
            value = rest.pop(0)
        elif equals and not written.endswith(("=", "=?")):
            return self.refused(f"option '--{fitting[0]}' doesn't allow an argument")
        found.given.append((target, value))
        return None
