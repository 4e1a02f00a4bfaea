import pytest

from rota import Every, Job, JobError, Retry


def test_a_failed_run_waits_longer_each_time():
    retry = Retry(attempts=4, delay="10s")
    assert [retry.wait(attempt) for attempt in (1, 2, 3, 4)] == [10, 20, 40, None]


def test_no_wait_is_longer_than_the_longest():
    retry = Retry(attempts=6, delay="1m", factor=3, longest="5m")
    assert [retry.wait(attempt) for attempt in range(1, 6)] == [60, 180, 300, 300, 300]


def test_without_more_attempts_there_is_no_wait():
    assert Retry().wait(1) is None
    assert Retry(attempts=2).wait(1) == 30


def test_all_waiting_is_added_up():
    assert Retry().total() == 0
    assert Retry(attempts=4, delay="10s").total() == 70


def test_retries_that_make_no_sense_are_refused():
    with pytest.raises(JobError, match="0 attempts are too few"):
        Retry(attempts=0)
    with pytest.raises(JobError, match="a factor of 0.5 makes delays shorter"):
        Retry(factor=0.5)
    assert Retry(factor=1, attempts=3).wait(2) == 30


@pytest.mark.parametrize("name", ["", "Import", "2nd", "a b", "é"])
def test_a_name_is_in_small_letters(name):
    with pytest.raises(JobError, match="no name of a job"):
        Job(name, Every("1h"))


def test_a_job_cannot_wait_for_itself():
    with pytest.raises(JobError, match="load waits for itself"):
        Job("load", Every("1h"), after=("clean", "load"))


def test_a_timeout_is_in_seconds():
    assert Job("load", Every("1h")).seconds_allowed is None
    assert Job("load", Every("1h"), timeout="2m").seconds_allowed == 120
