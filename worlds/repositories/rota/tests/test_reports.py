from datetime import datetime, timedelta

import pytest

from rota import Report, RotaError, Run

START = datetime(2031, 3, 3, 9)


def run(job, minute, seconds, outcome="ok", *, late=0):
    started = START + timedelta(minutes=minute)
    planned = started - timedelta(seconds=late)
    return Run(job, 1, planned, started, started + timedelta(seconds=seconds), outcome)


@pytest.fixture
def report():
    return Report(
        [
            run("load", 0, 60),
            run("load", 10, 30, "failed", late=20),
            run("load", 20, 120, late=5),
            run("load", 30, 90),
            run("clean", 5, 600, "timeout"),
            Run("report", 1, START, START),
        ]
    )


def test_only_runs_that_ended_count(report):
    assert report.jobs == ["clean", "load"]


def test_figures_of_a_job(report):
    found = report.figures("load")
    assert (found.runs, found.rate) == (4, 0.75)
    assert (found.mean, found.longest, found.late) == (75, 120, 20)
    with pytest.raises(RotaError, match="'report' never ran"):
        report.figures("report")


def test_a_streak_is_counted_from_the_end(report):
    assert report.streak("load") == 2
    assert report.streak("clean") == -1
    assert report.streak("report") == 0


@pytest.mark.parametrize(("share", "seconds"), [(0.25, 30), (0.5, 60), (0.6, 90), (1, 120)])
def test_a_percentile_is_not_exceeded(report, share, seconds):
    assert report.percentile("load", share) == seconds


@pytest.mark.parametrize("share", [0, -0.5, 1.1])
def test_a_share_is_between_0_and_1(report, share):
    with pytest.raises(RotaError, match="not between 0 and 1"):
        report.percentile("load", share)


def test_a_percentile_needs_runs(report):
    with pytest.raises(RotaError, match="'other' never ran"):
        report.percentile("other", 0.5)


def test_runs_at_the_same_time_are_averaged(report):
    assert report.busy(START, START + timedelta(minutes=10)) == 0.6
    assert report.busy(START + timedelta(minutes=10), START + timedelta(minutes=15)) == 1.1
    with pytest.raises(RotaError):
        report.busy(START, START)


def test_the_table_has_a_line_for_each_job(report):
    assert report.table().splitlines() == [
        "job    runs    ok  mean",
        "clean     1    0%  10m",
        "load      4   75%  1m15s",
    ]
    assert Report([]).table() == "job  runs    ok  mean"
