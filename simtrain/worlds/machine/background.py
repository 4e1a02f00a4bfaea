"""Commands in the background, found in the text of a script: `A &` is marked, so that the machine can keep its time apart.

The engine of the shell runs A to its end at once. What `jobs.py` makes of that is told by commands around it.
"""

import re

from simtrain.worlds.machine.invocation import quoted

BEGIN, END, NAME, WAIT = "_job_begin", "_job_end", "_job_name", "_job_wait"
WAITING = f'wait() {{ {WAIT} "$@"; }}; '
"""A function for scripts that wait."""

_ENDING = 'sleep() { command sleep "$@"; [ $? != 143 ] || exit 143; }; '
"""A function for jobs that loop: with it the machine ends one that sleeps again and again."""
MARKED = re.compile(
    rf"\( {BEGIN} .*? \|\| exit; (?:{re.escape(_ENDING)})?(.*?); \) < /dev/null; {END} \$\?; : & until {NAME} \$!; do : & done;",
    re.DOTALL,
)
"""A command as it is marked; the first group is the command."""
APART = "timeout 0 "
_INNER = re.compile(r"(?<![\w./-])(?<!timeout 0 )(?:bash|sh)\s+(?:-\w*c\s)?(?=[\w./~$'\"])")
_INNER_FILE = re.compile(r"(?<![\w./-])(?<!timeout 0 )(?:bash|sh)\s+(?=[\w./~$'\"])")
"""A bash in a job. It runs in a process of its own, which can be ended where it loops: it does not know that function."""
_LOOP = re.compile(r"\b(?:while|until|for)\b.*\bsleep\b", re.DOTALL)
_WORD = re.compile(r"[^\s;&|()<>\"'`$\\#]+")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")


class _Odd(Exception):
    """The text has something in it that is not read here."""


def marked(script: str) -> str:
    """Return a script with its background commands marked; as it is, if it has none or cannot be read."""
    if "&" not in re.sub(r"&&|[<>]&|&>", "", script):
        return script
    try:
        return _Reader(script).read()
    except (_Odd, IndexError):
        return script


def last_job_begins(script: str) -> int:
    """Return where the command begins that a script ends with `&`; 0 if it has none or cannot be read."""
    reader = _Reader(script)
    try:
        reader.read()
    except (_Odd, IndexError):
        return 0
    return min((begin for begin, end in reader.cuts if end == len(script.rstrip()) - 1), default=0)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.cuts: list[tuple[int, int]] = []
        # Where the list of commands begins that is being read: one for each level of nesting.
        self.begins = [0]
        self.fresh = True
        self.heredocs: list[str] = []
        # Levels at which a `for` waits for its `do`.
        self.looping: list[int] = []

    def read(self) -> str:
        """Return the marked text."""
        while self.at < len(self.text):
            self._step()
        if len(self.begins) != 1:
            raise _Odd
        text = self.text
        # From the end, so that places stay what they are.
        outer = [one for one in self.cuts if not any(other[0] <= one[0] and one[1] < other[1] for other in self.cuts)]
        for begin, end in sorted(outer, reverse=True):
            command = text[begin:end].strip()
            lead = text[begin:end][: len(text[begin:end]) - len(text[begin:end].lstrip())]
            told = quoted([" ".join(command.split())])
            loops = _LOOP.search(command) is not None
            ends = _ENDING if loops else ""
            command = (_INNER if loops else _INNER_FILE).sub(rf"{APART}\g<0>", command)
            # Not run behind the engine's own `&`, which goes on with what follows at a `bash`, `eval` or `source`.
            # Each shell counts processes for itself, so a number may be one that the machine has given away.
            named = f": & until {NAME} $!; do : & done;"
            job = f"( {BEGIN} {told} || exit; {ends}{command}; ) < /dev/null; {END} $?; {named}"
            text = f"{text[:begin]}{lead}{job}{text[end + 1 :]}"
        return text

    def _step(self) -> None:
        text, at = self.text, self.at
        letter = text[at]
        if letter == "\\":
            self.at += 2
        elif letter in "'\"`":
            self._quote(letter)
        elif letter == "$" and text[at + 1 : at + 2] in ("(", "{", "'"):
            self._expansion()
        elif letter == "#" and (at == 0 or text[at - 1] in " \t\n;&|("):
            end = text.find("\n", at)
            self.at = len(text) if end < 0 else end
        elif letter == "\n":
            self.at += 1
            for name in self.heredocs:
                self._body(name)
            self.heredocs.clear()
            if not re.search(r"(?:&&|\|)[ \t]*\n$", text[: at + 1]):
                self._begin()
        elif letter == ";":
            if text[at + 1 : at + 2] == ";":
                raise _Odd
            self.at += 1
            self._begin()
        elif letter == "&":
            self._ampersand()
        elif letter == "|":
            self.at += 2 if text[at + 1 : at + 2] in ("|", "&") else 1
            self.fresh = True
        elif letter == "(":
            if text[at + 1 : at + 2] == "(":
                raise _Odd
            self._open()
        elif letter == ")":
            if text[at - 1] == "(":
                # The parentheses of a function's name.
                self.begins.pop()
                self.at += 1
                self.fresh = True
                return
            self._close()
        elif letter == "<" and (found := _HEREDOC.match(text, at)):
            self.heredocs.append(found[2])
            self.at = found.end()
        elif letter in "<>":
            self.at += 1
            if text[self.at : self.at + 1] == "(":
                raise _Odd
            while text[self.at : self.at + 1] in ("<", ">", "&"):
                self.at += 1
        elif found := _WORD.match(text, at):
            self._word(found[0])
        else:
            self.at += 1

    def _begin(self) -> None:
        self.fresh = True
        # What stands between the words of a `for` and its `do` ends no command.
        if not self.looping or self.looping[-1] != len(self.begins):
            self.begins[-1] = self.at

    def _open(self) -> None:
        self.at += 1
        self.begins.append(self.at)
        self.fresh = True

    def _close(self) -> None:
        if len(self.begins) < 2:
            raise _Odd
        self.begins.pop()
        self.at += 1
        self.fresh = False

    def _word(self, word: str) -> None:
        if word == "case" and self.fresh:
            raise _Odd
        if self.fresh and word in ("then", "do", "else", "elif"):
            # The same level goes on with another list.
            self.at += len(word)
            if word == "do" and self.looping and self.looping[-1] == len(self.begins):
                self.looping.pop()
                self.begins.append(self.at)
            self._begin()
            return
        if self.fresh and word in ("if", "while", "until"):
            self.at += len(word)
            self.begins.append(self.at)
            self.fresh = True
            return
        if self.fresh and word in ("for", "select"):
            self.looping.append(len(self.begins))
            # The names of the loop, and words that are no commands, until `do`.
            self.at += len(word)
            self.fresh = False
            return
        if self.fresh and word == "{":
            self.at += 1
            self.begins.append(self.at)
            return
        if self.fresh and word in ("}", "done", "fi"):
            if len(self.begins) < 2:
                raise _Odd
            self.begins.pop()
            self.at += len(word)
            self.fresh = False
            return
        self.at += len(word)
        self.fresh = word == "!" or (self.fresh and re.fullmatch(r"\w+=.*", word) is not None)

    def _ampersand(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following in ("&", ">"):
            self.at += 2
            self.fresh = following == "&"
            return
        # One whose input lies below is left as it is: the text cannot be moved.
        if not self.heredocs and self.text[self.begins[-1] : self.at].strip():
            self.cuts.append((self.begins[-1], self.at))
        self.at += 1
        self._begin()

    def _quote(self, sign: str) -> None:
        self.at += 1
        while self.text[self.at] != sign:
            if self.text[self.at] == "\\" and sign != "'":
                self.at += 1
            self.at += 1
        self.at += 1
        self.fresh = False

    def _expansion(self) -> None:
        if self.text[self.at + 1] == "'":
            self.at += 2
            while self.text[self.at] != "'":
                self.at += 2 if self.text[self.at] == "\\" else 1
            self.at += 1
            return
        opened = self.text[self.at + 1]
        closing = ")" if opened == "(" else "}"
        depth = 0
        self.at += 1
        while True:
            letter = self.text[self.at]
            if letter == "\\":
                self.at += 1
            elif letter in "'\"":
                self._quote(letter)
                continue
            elif letter == opened:
                depth += 1
            elif letter == closing:
                depth -= 1
                if not depth:
                    break
            self.at += 1
        self.at += 1
        self.fresh = False

    def _body(self, name: str) -> None:
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            line = self.text[self.at : len(self.text) if end < 0 else end]
            self.at = len(self.text) if end < 0 else end + 1
            if line.strip("\t") == name:
                return
        raise _Odd
