import pytest

from rota import Pool, PoolError


@pytest.fixture
def pool():
    return Pool({"cpu": 4, "gpu": 1})


def test_what_is_taken_is_not_free(pool):
    assert pool.take("a", {"cpu": 3})
    assert pool.free("cpu") == 1
    assert not pool.take("b", {"cpu": 2})
    assert pool.take("c", {"cpu": 1, "gpu": 1})
    assert pool.free("cpu") == 0


def test_all_is_taken_or_nothing(pool):
    assert pool.take("a", {"gpu": 1})
    assert not pool.take("b", {"cpu": 2, "gpu": 1})
    assert pool.free("cpu") == 4


def test_what_is_given_back_is_free(pool):
    pool.take("a", {"cpu": 4})
    pool.give_back("a")
    assert pool.free("cpu") == 4
    with pytest.raises(PoolError, match="a holds nothing"):
        pool.give_back("a")


def test_nobody_takes_twice(pool):
    pool.take("a", {"cpu": 1})
    with pytest.raises(PoolError, match="a holds something already"):
        pool.take("a", {"cpu": 1})


def test_needs_that_can_never_be_met_are_refused(pool):
    pool.check({"cpu": 4, "gpu": 1})
    with pytest.raises(PoolError, match="5 cpu are needed, but there are 4"):
        pool.check({"cpu": 5})
    with pytest.raises(PoolError, match="there is no resource 'disk'"):
        pool.check({"disk": 1})
    with pytest.raises(PoolError, match="there is no resource 'disk'"):
        pool.free("disk")
    with pytest.raises(PoolError, match="tape has a size of 0"):
        Pool({"tape": 0})


def test_usage_is_a_share(pool):
    assert pool.usage() == {"cpu": 0, "gpu": 0}
    pool.take("a", {"cpu": 3})
    assert pool.usage() == {"cpu": 0.75, "gpu": 0}


def test_what_was_given_stays_as_it_was():
    sizes, needs = {"cpu": 2}, {"cpu": 1}
    pool = Pool(sizes)
    pool.take("a", needs)
    sizes["cpu"], needs["cpu"] = 9, 2
    assert pool.free("cpu") == 1
