"""What is mutated, and the tests that should notice: few, and quick."""

from __future__ import annotations

SCORING = (
    "tests/test_widesearch.py",
    "tests/test_widesearch_compatible.py",
    "tests/test_widesearch_grader.py",
    "tests/test_widesearch_units.py",
    "tests/test_widesearch_asking.py",
)
DRILLS = ("tests/test_intervals.py", "tests/test_drill_measures.py", "tests/test_drill_twice.py")

TARGETS: dict[str, tuple[str, ...]] = {
    "simtrain/proxy.py": (
        "tests/test_triggers.py",
        "tests/test_proxy.py",
        "tests/test_firing.py",
        "tests/test_sessions.py",
    ),
    "simtrain/active.py": ("tests/test_triggers.py", "tests/test_proxy.py", "tests/test_firing.py"),
    "simtrain/firing.py": ("tests/test_firing.py", "tests/test_proxy.py"),
    "simtrain/triggers.py": ("tests/test_triggers.py", "tests/test_proxy.py"),
    "simtrain/grading.py": ("tests/test_grading.py",),
    "simtrain/intervals.py": DRILLS,
    "simtrain/drilling/statistics.py": DRILLS,
    "simtrain/drilling/measures.py": DRILLS,
    "simtrain/store.py": ("tests/test_store.py",),
    "simtrain/seeding.py": ("tests/test_seeding.py",),
    "simtrain/questions/sql.py": (
        "tests/test_question_gold.py",
        "tests/test_second_gold.py::test_conditions_that_change_nothing_are_left_out_and_their_hops_are_none",
        "tests/test_questions.py",
    ),
    "simtrain/graders/widesearch.py": ("tests/test_widesearch_grader.py",),
    "simtrain/widesearch/arbiter.py": SCORING,
    "simtrain/widesearch/cells.py": SCORING,
    "simtrain/widesearch/compatible.py": SCORING,
    "simtrain/widesearch/dates.py": SCORING,
    "simtrain/widesearch/quantities.py": SCORING,
    "simtrain/widesearch/rules.py": SCORING,
    "simtrain/widesearch/scores.py": SCORING,
    "simtrain/widesearch/strict.py": SCORING,
    "simtrain/widesearch/tables.py": SCORING,
    "simtrain/widesearch/words.py": SCORING,
}
"""By file, the tests that are run on its mutants, the sharpest first."""
