"""A page of figures is believed only as far as each figure was measured, with the code that is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from page import code_digest, problems, record  # noqa: E402

PAGE = """\
## Figures

| figure | measured | target | floor |
|---|---|---|---|
| a step | 0.40 ms | 0.5 ms | 0.34 ms |
| lines a second | 19,000 / 5 | 10,000 | |

### Others
| elsewhere | 7 | | |
"""


def recorded(*values: float) -> dict[str, object]:
    return {"code": "now", "benchmarks": {"loop": [{"name": "x", "value": value} for value in values]}}


def test_every_figure_has_to_be_measured_in_the_precision_in_which_it_stands() -> None:
    assert problems(PAGE, recorded(0.398, 19_321.7, 5.2), "now") == []
    assert problems(PAGE, recorded(0.41, 18_400, 5.2), "now") == [
        "a step: 0.40 was not measured",
        "lines a second: 19,000 was not measured",
    ]


def test_figures_of_other_code_and_no_figures_at_all_are_refused() -> None:
    assert "other code" in problems(PAGE, recorded(0.4, 19_000, 5), "later")[0]
    assert "no figures" in problems(PAGE, None, "now")[0]


def test_what_is_recorded_is_kept_until_the_code_is_another(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    record(file, "one", [{"name": "x", "value": 1}])
    record(file, "two", [{"name": "y", "value": 2}])
    assert code_digest() in file.read_text() and '"one"' in file.read_text()
    file.write_text(file.read_text().replace(code_digest(), "other"))
    record(file, "two", [{"name": "y", "value": 2}])
    assert '"one"' not in file.read_text()


@pytest.mark.full
def test_every_benchmark_records_its_figures() -> None:
    for file in sorted(BENCHMARKS.glob("bench_*.py")):
        told = subprocess.run([sys.executable, file, "--help"], capture_output=True, text=True, check=True, timeout=60)
        assert "--record" in told.stdout, file.name
