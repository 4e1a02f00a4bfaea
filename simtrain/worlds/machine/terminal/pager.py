"""A pager on the screen: `less`, also as git and systemd start it, and `more`.

Keys and prompts: less(1), "COMMANDS" and "PROMPTS"; more(1).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.terminal import keys
from simtrain.worlds.machine.terminal.screen import COLUMNS, ROWS, TerminalScreen

PAGE = ROWS - 1


@dataclass(frozen=True, slots=True)
class PagerStyle:
    """How a pager shows a text: `name` of the file; `short` ends at once if all fits on the screen; `stays` leaves the text on the
    screen (-X); `chops` cuts long lines (-S); `counts` is the prompt that tells line numbers (-M); `numbers` puts them before
    lines (-N); `at_end` begins there (+G); `more` is the pager of that name."""

    name: str = ""
    short: bool = False
    stays: bool = False
    chops: bool = False
    counts: bool = False
    numbers: bool = False
    at_end: bool = False
    more: bool = False


class TextPager:
    """A text in pages. `top` is the first of its rows on the screen."""

    __slots__ = (
        "_asks",
        "_count",
        "_found",
        "_message",
        "_moved",
        "_pattern",
        "_rows",
        "_starts",
        "_style",
        "_way",
        "screen",
        "top",
    )

    def __init__(self, text: str, style: PagerStyle, screen: TerminalScreen) -> None:
        self.screen = screen
        self._style = style
        lines = text.removesuffix("\n").split("\n") if text else []
        self._rows: list[str] = []
        self._starts: list[int] = []
        for number, line in enumerate(lines, start=1):
            self._starts.append(len(self._rows))
            shown = line.expandtabs()
            self._rows += _wrapped(f"{number:>7} {shown}" if style.numbers else shown, chops=style.chops)
        self.top = 0
        self._asks: str | None = None
        self._way = 1
        self._pattern = ""
        self._message = ""
        self._count = ""
        self._found = False
        self._moved = False

    @property
    def is_short(self) -> bool:
        """Return whether all of the text fits on the screen."""
        return len(self._rows) < ROWS

    def copy(self, screen: TerminalScreen) -> TextPager:
        """Return an independent copy on another screen."""
        other = copy(self)
        other.screen = screen
        return other

    def open(self) -> bool:
        """Show the first page; False if there is nothing to stay for."""
        style = self._style
        if (style.short or style.more) and self.is_short:
            self.screen.feed("".join(f"{row}\n" for row in self._rows))
            return False
        if style.more:
            self._print(PAGE)
            return True
        if not style.stays:
            self.screen.set_aside()
        if style.at_end:
            self.top = self._last_top
        self.draw()
        return True

    @property
    def _last_top(self) -> int:
        return max(0, len(self._rows) - PAGE)

    def key(self, key: str) -> bool:
        """Take a key; False if it ends the pager."""
        if self._style.more:
            return self._more_key(key)
        if self._asks is not None:
            self._ask(key)
            return True
        if self._message:
            self._message = ""
            if key in ("\r", "\n"):
                self.draw()
                return True
        if key.isdigit() and (key != "0" or self._count):
            self._count += key
            self._prompt(f":{self._count}")
            return True
        if key in ("q", "Q", keys.QUIT):
            self.close()
            return False
        if key in ("/", "?"):
            self._asks, self._way = "", 1 if key == "/" else -1
            self._prompt(key)
            return True
        self._moved = True
        move = _MOVES.get(key)
        if move is not None:
            count, self._count = int(self._count) if self._count else None, ""
            move(self, count)
        self._count = ""
        self.draw()
        return True

    def close(self) -> None:
        """Leave the screen to the shell."""
        if self._style.stays or self._style.more:
            self.screen.move(ROWS - 1, 0)
            self.screen.erase_below()
        else:
            self.screen.bring_back()

    def draw(self) -> None:
        """Draw the page and the prompt."""
        rows = self._rows[self.top : self.top + PAGE]
        if self.top:
            # Behind the end, where a search may lead.
            rows += ["~"] * (PAGE - len(rows))
        self.screen.clear()
        self.screen.feed("".join(f"{row}\n" for row in rows))
        self._prompt(self._message or self._status())

    def _status(self) -> str:
        end = self.top + PAGE >= len(self._rows)
        style = self._style
        if style.counts:
            first, last = self._line_at(self.top), self._line_at(min(len(self._rows), self.top + PAGE) - 1)
            return f"lines {first}-{last}" + (f"/{len(self._starts)} (END)" if end else "")
        name = "" if self._moved else style.name
        if end:
            return f"{name} (END)" if name else "(END)"
        return name or ":"

    def _line_at(self, row: int) -> int:
        return sum(1 for start in self._starts if start <= row)

    def _prompt(self, text: str) -> None:
        self.screen.move(PAGE if self.top else min(PAGE, len(self._rows)), 0)
        self.screen.erase_below()
        self.screen.feed(text[: COLUMNS - 1])

    def forward(self, rows: int) -> None:
        """Go forward, to the last page at most."""
        self.go(max(self.top, min(self.top + rows, self._last_top)))

    def go(self, row: int) -> None:
        """Put a row at the top."""
        self.top = max(0, row)

    def to_line(self, number: int | None) -> None:
        """Go to a line; None is the first."""
        if not self._starts:
            return
        place = self._starts[min(len(self._starts), max(1, number or 1)) - 1]
        self.go(min(place, self._last_top))

    def to_end(self, number: int | None) -> None:
        """Go to the end, or to a line."""
        if number is None:
            self.go(self._last_top)
        else:
            self.to_line(number)

    def _ask(self, key: str) -> None:
        asked = self._asks or ""
        self._moved = True
        if key in ("\r", "\n"):
            self._asks = None
            self._pattern = asked or self._pattern
            self._search(self._way, 1)
            self.draw()
            return
        if key in (keys.INTERRUPT, "\x07", keys.ESCAPE, "\x15") or (key in (keys.ERASE, "\x08") and not asked):
            self._asks = None
            self.draw()
            return
        if key in (keys.ERASE, "\x08"):
            asked = asked[:-1]
        elif key.isprintable():
            asked += key
        self._asks = asked
        self._prompt(("/" if self._way > 0 else "?") + asked)

    def again(self, way: int, count: int | None) -> None:
        """Search again, onward (1) or the other way (-1)."""
        self._search(self._way * way, count or 1)

    def _search(self, way: int, count: int) -> None:
        if not self._pattern:
            self._message = "No previous regular expression  (press RETURN)"
            return
        try:
            pattern = expression(self._pattern, syntax="extended")
        except ExpressionProblem:
            # less takes the letters for themselves where they are no expression for it either.
            pattern = expression(self._pattern, syntax="fixed")
        # The first search looks at the page itself; later ones go on behind the line that was found.
        places = range(self.top + (1 if self._found or way < 0 else 0), len(self._rows))
        if way < 0:
            places = range(self.top - 1, -1, -1)
        for place in places:
            if pattern.finds(self._rows[place]):
                count -= 1
                if count == 0:
                    self._found = True
                    self.go(place)
                    return
        self._message = "Pattern not found  (press RETURN)"

    def _more_key(self, key: str) -> bool:
        if key in ("q", "Q", keys.INTERRUPT):
            self._clear_more()
            return False
        if key in (" ", "f", "\x06"):
            self._clear_more()
            return self._print(PAGE)
        if key in ("\r", "\n", "j"):
            self._clear_more()
            return self._print(1)
        return True

    def _clear_more(self) -> None:
        self.screen.move(self.screen.cursor[0], 0)
        self.screen.erase_below()

    def _print(self, count: int) -> bool:
        self.screen.feed("".join(f"{row}\n" for row in self._rows[self.top : self.top + count]))
        self.top += count
        if self.top >= len(self._rows):
            return False
        size = sum(len(row) + 1 for row in self._rows)
        part = sum(len(row) + 1 for row in self._rows[: self.top])
        self.screen.feed(f"--More--({part * 100 // size}%)")
        return True


def _wrapped(line: str, *, chops: bool) -> list[str]:
    if len(line) <= COLUMNS:
        return [line]
    if chops:
        return [f"{line[: COLUMNS - 1]}>"]
    return [line[at : at + COLUMNS] for at in range(0, len(line), COLUMNS)]


Move = Callable[[TextPager, int | None], None]


def _keys(move: Move, *names: str) -> dict[str, Move]:
    return dict.fromkeys(names, move)


_MOVES: dict[str, Move] = {
    **_keys(lambda pager, count: pager.forward(count or PAGE), " ", "f", "\x06", "\x16", "z", keys.PAGE_DOWN),
    **_keys(lambda pager, count: pager.go(pager.top - (count or PAGE)), "b", "\x02", "\x1bv", "w", keys.PAGE_UP),
    **_keys(lambda pager, count: pager.forward(count or ROWS // 2), "d", "\x04"),
    **_keys(lambda pager, count: pager.go(pager.top - (count or ROWS // 2)), "u", "\x15"),
    **_keys(lambda pager, count: pager.forward(count or 1), "j", "e", "\r", "\n", "\x0e", "\x05", keys.DOWN, "\x1bOB"),
    **_keys(
        lambda pager, count: pager.go(pager.top - (count or 1)), "k", "y", "\x10", "\x19", "\x0b", keys.UP, "\x1bOA"
    ),
    **_keys(TextPager.to_line, "g", "<", "\x1b<", keys.HOME),
    **_keys(TextPager.to_end, "G", ">", "\x1b>", keys.END),
    **_keys(lambda pager, count: pager.again(1, count), "n"),
    **_keys(lambda pager, count: pager.again(-1, count), "N"),
}
