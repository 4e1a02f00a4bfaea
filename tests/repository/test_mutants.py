"""The mutants that `make mutants` draws from: what is made of code, what is left alone, and that a draw comes again."""

from __future__ import annotations

import ast

import pytest
from mutation.mutants import mutants_of, mutated
from mutation.sample import COUNT, ROOT, SEED, drawn
from mutation.targets import TARGETS

pytestmark = pytest.mark.slow

SOURCE = '''
"""Words."""
def share(part: int | None, whole: int = 4) -> float:
    """More words."""
    if part is None or whole < 1:
        raise ValueError(f"no {whole}")
    log(part, whole)
    return max(part, 0) / whole
'''


def test_every_operator_is_at_work_and_every_mutant_is_another_program() -> None:
    made = list(mutants_of("x.py", SOURCE))
    found = {(mutant.kind, mutant.before, mutant.after) for mutant in made}
    for expected in (
        ("boundary", "whole < 1", "whole <= 1"),
        ("comparison", "whole < 1", "whole >= 1"),
        ("comparison", "part is None", "part is not None"),
        ("boolean", "part is None or whole < 1", "part is None and whole < 1"),
        ("constant", "1", "0"),
        ("constant", "4", "5"),
        ("swapped arguments", "log(part, whole)", "log(whole, part)"),
        ("dropped statement", "log(part, whole)", "pass"),
        ("call", "max(part, 0)", "min(part, 0)"),
        ("arithmetic", "max(part, 0) / whole", "max(part, 0) * whole"),
        ("return", "return max(part, 0) / whole", "return None"),
    ):
        assert expected in found
    trees = [ast.dump(ast.parse(mutated(mutant, SOURCE))) for mutant in made]
    assert len({*trees, ast.dump(ast.parse(SOURCE))}) == len(made) + 1
    assert not any(
        "ords" in mutant.before or mutant.before == "int | None" for mutant in made if mutant.kind == "constant"
    )


@pytest.mark.full
def test_a_draw_comes_again_and_is_of_all_files() -> None:
    sample = drawn(SEED, COUNT)
    assert sample == drawn(SEED, COUNT) and len(sample) == COUNT == len({signature for signature, _ in sample})
    assert sample[:20] == drawn(SEED, 20) != drawn(SEED + 1, 20)
    assert {mutant.file for _, mutant in drawn(SEED, 10**6)} == set(TARGETS)
    assert all((ROOT / test.partition("::")[0]).is_file() for tests in TARGETS.values() for test in tests)
