import pytest

from rota import CycleError, Graph, JobError


@pytest.fixture
def build():
    return Graph({"test": ["compile"], "pack": ["test", "docs"], "compile": ["fetch"], "docs": []})


def test_an_order_respects_who_waits(build):
    assert build.order() == ["docs", "fetch", "compile", "test", "pack"]


def test_names_that_are_only_waited_for_belong_to_it():
    assert Graph({"a": ["b"]}).order() == ["b", "a"]
    assert Graph().order() == []


def test_all_before_and_behind_are_found(build):
    assert build.before("pack") == {"test", "docs", "compile", "fetch"}
    assert build.before("fetch") == set()
    assert build.behind("fetch") == {"compile", "test", "pack"}
    assert build.behind("pack") == set()


def test_an_order_is_not_outdated_by_later_names(build):
    assert build.order()[0] == "docs"
    build.add("audit")
    build.add("docs", ["audit"])
    assert build.order()[:2] == ["audit", "docs"]


def test_an_order_is_not_outdated_by_removals(build):
    assert "test" in build.order()
    build.remove("test")
    assert build.order() == ["docs", "fetch", "compile", "pack"]
    assert build.before("pack") == {"docs"}
    with pytest.raises(JobError, match="'test' is not in the graph"):
        build.remove("test")


def test_an_order_belongs_to_the_caller(build):
    build.order().clear()
    assert len(build.order()) == 5


def test_a_cycle_is_named():
    with pytest.raises(CycleError) as raised:
        Graph({"a": ["b"], "b": ["c"], "c": ["b"], "d": []}).order()
    assert raised.value.names == ["b", "c", "b"]
    assert str(raised.value) == "jobs wait for each other: b -> c -> b"


def test_layers_wait_only_for_earlier_ones(build):
    assert build.layers() == [["docs", "fetch"], ["compile"], ["test"], ["pack"]]
    assert Graph().layers() == []


def test_the_longest_chain_is_found(build):
    seconds = {"fetch": 5, "compile": 60, "test": 120, "docs": 150, "pack": 10}
    assert build.longest(seconds) == (195, ["fetch", "compile", "test", "pack"])
    assert build.longest(seconds | {"docs": 400}) == (410, ["docs", "pack"])
    assert Graph().longest({}) == (0, [])
