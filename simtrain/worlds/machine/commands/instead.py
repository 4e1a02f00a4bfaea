"""Programs of the engine that fail at some calls, for which a script is given commands of ours: a `dd` that writes a file, a `head`
of very many lines. Other calls are left to the engine, whose pipes carry bytes that are no text."""

import re

COPY = "_dd"
FIRST_LINES = "_head"
QUOTED = r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?<![^\s;&|(])\#[^\n]*|"""
"""Alternatives of an expression over scripts, which take what is quoted and comments, so that nothing in them is found."""
_CALLED = re.compile(
    QUOTED + r"""(?P<lead>(?:^|[;&|({!\n]|\b(?:if|then|do|else|elif|while|until|time)\b)[ \t]*)(?:/usr)?(?:/bin/)?"""
    r"""(?P<name>dd(?=[ \t](?:[^;&|\n'"]|'[^'\n]*'|"[^"\n]*")*?\b(?:of|conv|[io]flag|[io]seek)=)|"""
    r"""head(?=[ \t]+-(?:n[ \t]*|-lines[= ])?\d{5}))""",
    re.DOTALL,
)
_OURS = {"dd": COPY, "head": FIRST_LINES}
_TYPED = re.compile(r"\b_(dd|head)(?= )")


def with_ours(script: str) -> str:
    """Return a script in which commands of ours stand for those programs. What is quoted is left as it is, and so are heredocs."""
    if not ("dd" in script or "head" in script) or "<<" in script:
        return script
    return _CALLED.sub(lambda found: found["lead"] + _OURS[found["name"]] if found["name"] else found[0], script)


def as_called(text: str) -> str:
    """Return output, such as that of `history`, in which these programs have their own names."""
    return _TYPED.sub(r"\1", text) if f"{COPY} " in text or f"{FIRST_LINES} " in text else text
