"""Cost of starting: the interpreter, `import simtrain`, `simtrain --help`, and what they load."""

from __future__ import annotations

import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage

from report import Figure, arguments, show

HEAVY = ("langgraph", "langchain_core", "openai", "mcp")
LOADED = f"import sys; print(sum(name in sys.modules for name in {HEAVY!r}))"


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    floor = _cpu(["-c", "pass"], rounds=options.rounds)
    imported = _cpu(["-c", "import simtrain"], rounds=options.rounds)
    public = _cpu(["-c", "from simtrain import load_scenario, rollout, run"], rounds=options.rounds)
    told = _cpu(["-m", "simtrain", "--help"], rounds=options.rounds)
    figures = [
        Figure("the interpreter alone", floor, "s"),
        Figure("import simtrain", imported, "s", floor=floor),
        Figure("from simtrain import load_scenario, rollout, run", public, "s", floor=floor),
        Figure("simtrain --help", told, "s", 0.3, floor=floor),
        Figure("  as a multiple of the interpreter", told / floor, "x"),
        Figure(f"of {', '.join(HEAVY)}: loaded by import simtrain", _loaded("import simtrain"), "", 0),
        Figure("  by simtrain --help", _loaded(_HELP), "", 0),
        Figure("  by from simtrain import load_scenario, rollout, run", _loaded("from simtrain import run"), "", 0),
    ]
    show("start", figures, as_json=options.json)


_HELP = """
import contextlib, io
from simtrain.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    import sys
    sys.argv = ["simtrain", "--help"]
    main()
"""


def _cpu(given: list[str], *, rounds: int) -> float:
    """CPU seconds of a Python process, best of several; the first one fills the file cache."""
    return min(_once(given) for _ in range(rounds + 1))


def _once(given: list[str]) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *given], stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _loaded(code: str) -> int:
    """How many of the heavy packages a process has loaded after some code."""
    ran = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], stdout=subprocess.PIPE, text=True, check=True)
    return int(ran.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
