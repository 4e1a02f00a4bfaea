"""`export -f`, which does nothing in the engine: functions travel in an exported variable, and a `bash -c` begins with it."""

import re
from collections.abc import Mapping

from simtrain.worlds.machine.commands.instead import QUOTED

_VARIABLE = "_FUNCTIONS"
BEGINNING = (
    'bash() { if [ "$1" = -c ]; then command bash -c "eval \\"\\${' + _VARIABLE + '}\\"; $2" "${@:3}"; '
    'else command bash "$@"; fi; }; '
)
"""For the beginning of the first line of a script whose `bash -c` knows functions that were exported."""
_EXPORT = re.compile(
    QUOTED
    + r"""(?<![\w$./-])(?:export[ \t]+-f|(?:declare|typeset)[ \t]+-(?:fx|xf))(?P<names>(?:[ \t]+[A-Za-z_]\w*)+)""",
    re.DOTALL,
)


def with_exported(script: str) -> str:
    """Return a script in which functions are exported as a variable. What is quoted is left as it is, and so are heredocs."""
    if not ("-f" in script or "-xf" in script) or "<<" in script:
        return script
    return _EXPORT.sub(lambda found: _exporting(found["names"].split()) if found["names"] else found[0], script)


def _exporting(names: list[str]) -> str:
    # No `&`, which would look like a job.
    return "; ".join(
        f'if declare -F {name} > /dev/null; then export {_VARIABLE}="${_VARIABLE}$(declare -f {name}); "; '
        f"else echo 'bash: line 1: export: {name}: not a function' >&2; false; fi"
        for name in names
    )


def exports(script: str) -> bool:
    """True if a script that was changed so exports functions."""
    return f"export {_VARIABLE}=" in script


def has_exported(environment: Mapping[str, str]) -> bool:
    """True if an environment holds functions that were exported."""
    return _VARIABLE in environment
