"""What is mutated, and the tests that should notice: few, and quick."""

from __future__ import annotations

SCORING = (
    "tests/questions/test_widesearch.py",
    "tests/questions/test_widesearch_compatible.py",
    "tests/grading/test_widesearch_grader.py",
    "tests/questions/test_widesearch_units.py",
    "tests/questions/test_widesearch_asking.py",
)
DRILLS = ("tests/runs/test_intervals.py", "tests/drills/test_drill_measures.py", "tests/drills/test_drill_twice.py")

TARGETS: dict[str, tuple[str, ...]] = {
    "simtrain/episodes/proxy.py": (
        "tests/episodes/test_triggers.py",
        "tests/episodes/test_proxy.py",
        "tests/episodes/test_firing.py",
        "tests/mcp/test_sessions.py",
    ),
    "simtrain/episodes/active_perturbation.py": (
        "tests/episodes/test_triggers.py",
        "tests/episodes/test_proxy.py",
        "tests/episodes/test_firing.py",
    ),
    "simtrain/episodes/firing.py": ("tests/episodes/test_firing.py", "tests/episodes/test_proxy.py"),
    "simtrain/episodes/triggers.py": ("tests/episodes/test_triggers.py", "tests/episodes/test_proxy.py"),
    "simtrain/grading/reward.py": ("tests/grading/test_grading.py",),
    "simtrain/runs/intervals.py": DRILLS,
    "simtrain/drills/statistics.py": DRILLS,
    "simtrain/drills/measures.py": DRILLS,
    "simtrain/runs/run_folder.py": ("tests/runs/test_store.py",),
    "simtrain/runs/trajectory_files.py": ("tests/runs/test_store.py",),
    "simtrain/values/seeding.py": ("tests/values/test_seeding.py",),
    "simtrain/questions/sql.py": (
        "tests/questions/test_question_gold.py",
        "tests/questions/test_second_gold.py::test_conditions_that_change_nothing_are_left_out_and_their_hops_are_none",
        "tests/questions/test_questions.py",
    ),
    "simtrain/grading/graders/widesearch.py": ("tests/grading/test_widesearch_grader.py",),
    "simtrain/questions/widesearch/arbiter.py": SCORING,
    "simtrain/questions/widesearch/cells.py": SCORING,
    "simtrain/questions/widesearch/compatible.py": SCORING,
    "simtrain/questions/widesearch/dates.py": SCORING,
    "simtrain/questions/widesearch/quantities.py": SCORING,
    "simtrain/questions/widesearch/rules.py": SCORING,
    "simtrain/questions/widesearch/scores.py": SCORING,
    "simtrain/questions/widesearch/strict.py": SCORING,
    "simtrain/questions/widesearch/tables.py": SCORING,
    "simtrain/questions/widesearch/words.py": SCORING,
}
"""By file, the tests that are run on its mutants, the sharpest first."""
