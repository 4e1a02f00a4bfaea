from confit import changes, merged


def test_later_layers_win():
    first = {"a": 1, "t": {"x": 1, "y": 2}, "l": [1]}
    second = {"a": 2, "t": {"y": 3, "z": 4}, "l": [2]}
    assert merged(first, second) == {"a": 2, "t": {"x": 1, "y": 3, "z": 4}, "l": [2]}
    assert merged() == {}


def test_none_removes_a_key():
    assert merged({"a": 1, "t": {"x": 1, "y": 2}}, {"a": None, "t": {"x": None}}) == {"t": {"y": 2}}
    assert merged({"a": None}) == {}
    assert merged({"a": 1}, {"a": None}, {"a": 3}) == {"a": 3}


def test_a_table_takes_the_place_of_a_value():
    assert merged({"a": 1}, {"a": {"x": 1}}) == {"a": {"x": 1}}
    assert merged({"a": {"x": 1}}, {"a": 1}) == {"a": 1}


def test_layers_stay_as_they_were():
    first, second = {"t": {"x": 1}, "l": [1]}, {"t": {"y": 2}}
    found = merged(first, second)
    found["t"]["x"] = 9
    found["l"].append(9)
    assert (first, second) == ({"t": {"x": 1}, "l": [1]}, {"t": {"y": 2}})


def test_changes_are_sorted_by_path():
    before = {"b": 1, "a": {"x": [1, 2]}, "gone": True}
    after = {"b": 2, "a": {"x": [1, 3, 4]}, "c": {"d": "new"}}
    assert list(map(str, changes(before, after))) == [
        "~ a.x[1]: 2 -> 3",
        "+ a.x[2] = 4",
        "~ b: 1 -> 2",
        "+ c.d = 'new'",
        "- gone = True",
    ]


def test_what_is_the_same_is_no_change():
    assert changes({"a": {"b": 1}}, {"a": {"b": 1}}) == []
    assert changes({}, {}) == []


def test_true_is_not_one():
    assert [change.kind for change in changes({"a": 1}, {"a": True})] == ["changed"]


def test_none_is_a_value():
    assert [change.kind for change in changes({"a": None}, {})] == ["removed"]
    assert [change.kind for change in changes({}, {"a": None})] == ["added"]
