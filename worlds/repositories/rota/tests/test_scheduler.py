from datetime import datetime

import pytest

from rota import At, CycleError, Every, Job, JobError, Pool, PoolError, Retry, Scheduler


def at(text):
    return datetime.fromisoformat(f"2031-03-03 {text}")


def names(jobs):
    return [job.name for job in jobs]


@pytest.fixture
def scheduler():
    return Scheduler(at("09:00"), pool=Pool({"cpu": 2}))


def test_a_job_is_due_at_its_time(scheduler):
    scheduler.add(Job("load", Every("1h", delay="5m")))
    assert scheduler.due() == []
    assert scheduler.next_time() == at("09:05")
    scheduler.advance("5m")
    assert names(scheduler.due()) == ["load"]


def test_a_job_that_ran_is_due_again_later(scheduler):
    scheduler.add(Job("load", Every("10m")))
    assert names(scheduler.start_due()) == ["load"]
    assert scheduler.due() == []
    assert scheduler.running() == ["load"]
    scheduler.advance("3m")
    run = scheduler.finish("load", ok=True)
    assert (run.attempt, run.seconds, run.late, run.outcome) == (1, 180, 0, "ok")
    assert scheduler.next_of("load") == at("09:10")


def test_what_happens_once_does_not_come_again(scheduler):
    scheduler.add(Job("load", At(at("09:00"))))
    scheduler.start_due()
    scheduler.finish("load", ok=True)
    assert scheduler.next_of("load") is None
    assert scheduler.next_time() is None


def test_urgent_jobs_come_first_then_the_earliest(scheduler):
    scheduler.add(Job("late", Every("1h", delay="2m")))
    scheduler.add(Job("early", Every("1h", delay="1m")))
    scheduler.add(Job("urgent", Every("1h", delay="3m"), priority=5))
    scheduler.add(Job("also", Every("1h", delay="1m")))
    scheduler.advance("3m")
    assert names(scheduler.due()) == ["urgent", "also", "early", "late"]


def test_what_does_not_fit_waits(scheduler):
    for name in ("a", "b", "c"):
        scheduler.add(Job(name, Every("1h"), needs={"cpu": 1}))
    assert names(scheduler.start_due()) == ["a", "b"]
    assert names(scheduler.due()) == ["c"]
    assert scheduler.start_due() == []
    scheduler.finish("a", ok=True)
    assert names(scheduler.start_due()) == ["c"]


def test_no_more_start_than_allowed(scheduler):
    for name in ("a", "b", "c"):
        scheduler.add(Job(name, Every("1h")))
    assert names(scheduler.start_due(limit=2)) == ["a", "b"]
    assert scheduler.start_due(limit=0) == []


def test_a_small_job_passes_a_large_one_that_does_not_fit(scheduler):
    scheduler.add(Job("first", Every("1h"), needs={"cpu": 1}, priority=3))
    scheduler.add(Job("large", Every("1h"), needs={"cpu": 2}, priority=2))
    scheduler.add(Job("small", Every("1h"), needs={"cpu": 1}, priority=1))
    assert names(scheduler.start_due()) == ["first", "small"]


def test_a_job_waits_until_the_other_went_well(scheduler):
    scheduler.add(Job("load", Every("1h")))
    scheduler.add(Job("report", Every("1h"), after=("load",)))
    assert names(scheduler.start_due()) == ["load"]
    scheduler.finish("load", ok=False)
    assert scheduler.due() == []
    scheduler.advance("1h")
    assert names(scheduler.start_due()) == ["load"]
    scheduler.finish("load", ok=True)
    assert names(scheduler.due()) == ["report"]


def test_each_run_waits_for_a_new_run_of_the_other(scheduler):
    scheduler.add(Job("load", Every("2h")))
    scheduler.add(Job("report", Every("1h"), after=("load",)))
    scheduler.start_due()
    scheduler.finish("load", ok=True)
    scheduler.start_due()
    scheduler.finish("report", ok=True)
    scheduler.advance("1h")
    assert scheduler.due() == []
    scheduler.advance("1h")
    assert names(scheduler.due()) == ["load"]


def test_a_failed_run_is_tried_again(scheduler):
    scheduler.add(Job("load", Every("1h"), retry=Retry(attempts=3, delay="1m")))
    scheduler.start_due()
    scheduler.finish("load", ok=False)
    assert scheduler.next_of("load") == at("09:01")
    scheduler.advance("1m")
    scheduler.start_due()
    run = scheduler.finish("load", ok=False)
    assert (run.attempt, run.planned) == (2, at("09:01"))
    assert scheduler.next_of("load") == at("09:03")
    scheduler.advance("2m")
    scheduler.start_due()
    scheduler.finish("load", ok=False)
    assert scheduler.next_of("load") == at("10:00")
    scheduler.advance("1h")
    scheduler.start_due()
    assert scheduler.finish("load", ok=True).attempt == 1


def test_another_attempt_does_not_wait_again(scheduler):
    scheduler.add(Job("load", Every("1h")))
    scheduler.add(Job("report", Every("1h"), after=("load",), retry=Retry(attempts=2, delay="1m")))
    scheduler.start_due()
    scheduler.finish("load", ok=True)
    scheduler.start_due()
    scheduler.finish("report", ok=False)
    scheduler.advance("1m")
    assert names(scheduler.due()) == ["report"]


def test_a_run_that_takes_too_long_ends(scheduler):
    scheduler.add(Job("load", Every("1h"), needs={"cpu": 2}, timeout="10m"))
    scheduler.start_due()
    scheduler.advance("10m")
    assert scheduler.running() == ["load"]
    scheduler.advance("1s")
    assert scheduler.running() == []
    assert [run.outcome for run in scheduler.runs()] == ["timeout"]
    assert scheduler.pool.free("cpu") == 2


def test_a_paused_job_is_not_due(scheduler):
    scheduler.add(Job("load", Every("10m")))
    scheduler.pause("load")
    assert scheduler.due() == []
    assert scheduler.next_time() is None
    scheduler.advance("25m")
    scheduler.resume("load")
    assert scheduler.due() == []
    assert scheduler.next_of("load") == at("09:30")
    with pytest.raises(JobError, match="load is not paused"):
        scheduler.resume("load")


def test_the_next_time_is_never_past(scheduler):
    scheduler.add(Job("load", Every("1h", delay="5m")))
    scheduler.advance("20m")
    assert scheduler.next_time() == at("09:20")


def test_jobs_are_known_by_name(scheduler):
    scheduler.add(Job("load", Every("1h")))
    with pytest.raises(JobError, match="load is there already"):
        scheduler.add(Job("load", Every("2h")))
    with pytest.raises(JobError, match="there is no job 'clean'"):
        scheduler.add(Job("report", Every("1h"), after=("clean",)))
    with pytest.raises(PoolError):
        scheduler.add(Job("huge", Every("1h"), needs={"cpu": 3}))
    with pytest.raises(JobError, match="'report' does not run"):
        scheduler.finish("report", ok=True)
    assert scheduler.names == ["load"]


def test_several_jobs_are_added_in_any_order(scheduler):
    scheduler.add_all([Job("b", Every("1h"), after=("a",)), Job("a", Every("1h"))])
    assert scheduler.names == ["a", "b"]
    with pytest.raises(CycleError):
        scheduler.add_all(
            [Job("c", Every("1h"), after=("d",)), Job("d", Every("1h"), after=("c",))]
        )


def test_a_job_is_removed_when_nothing_needs_it(scheduler):
    scheduler.add_all([Job("b", Every("1h"), after=("a",)), Job("a", Every("1h"))])
    with pytest.raises(JobError, match="b waits for a"):
        scheduler.remove("a")
    scheduler.remove("b")
    scheduler.start_due()
    with pytest.raises(JobError, match="a is running"):
        scheduler.remove("a")
    scheduler.finish("a", ok=True)
    scheduler.remove("a")
    assert scheduler.names == []
    assert scheduler.next_time() is None


def test_a_removed_job_can_be_added_anew(scheduler):
    scheduler.add(Job("load", Every("1h")))
    scheduler.pause("load")
    scheduler.remove("load")
    scheduler.add(Job("load", Every("2h")))
    assert names(scheduler.start_due()) == ["load"]


def test_past_runs_are_kept_up_to_a_number():
    scheduler = Scheduler(at("09:00"), keep=2)
    scheduler.add(Job("load", Every("10m")))
    for ok in (True, False, True):
        scheduler.start_due()
        scheduler.finish("load", ok=ok)
        scheduler.advance("10m")
    assert [run.outcome for run in scheduler.runs()] == ["failed", "ok"]
    assert len(scheduler.runs("load", outcome="ok")) == 1
    assert scheduler.runs("other") == []
