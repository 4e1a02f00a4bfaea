import pytest

from inkwell import Buffer, Edit, Finder, InkwellError, Place, Span


def starts(finder):
    return [tuple(span.start) for span in finder.all()]


@pytest.fixture
def buffer():
    return Buffer("Cat cat\nconcat\nCAT.")


def test_small_letters_find_all(buffer):
    assert starts(Finder(buffer, "cat")) == [(0, 0), (0, 4), (1, 3), (2, 0)]


def test_capitals_find_only_themselves(buffer):
    assert starts(Finder(buffer, "Cat")) == [(0, 0)]


def test_whole_words_alone(buffer):
    assert starts(Finder(buffer, "cat", whole_words=True)) == [(0, 0), (0, 4), (2, 0)]


def test_signs_mean_themselves_unless_it_is_a_pattern(buffer):
    assert starts(Finder(buffer, "t.")) == [(2, 2)]
    assert starts(Finder(buffer, "^c.t", regex=True)) == [(0, 0), (2, 0)]
    assert starts(Finder(buffer, "x*", regex=True)) == []


def test_a_match_may_cross_lines(buffer):
    assert Finder(buffer, "cat\ncon").all() == [Span(Place(0, 4), Place(1, 3))]


def test_what_is_no_pattern_is_refused(buffer):
    with pytest.raises(InkwellError, match="is no pattern"):
        Finder(buffer, "(", regex=True)
    with pytest.raises(InkwellError, match="nothing to look for"):
        Finder(buffer, "")


def test_the_next_one_comes_round(buffer):
    finder = Finder(buffer, "cat")
    assert finder.following(Place(0, 0)).start == (0, 4)
    assert finder.following(Place(0, 5)).start == (1, 3)
    assert finder.following(Place(2, 0)).start == (0, 0)
    assert finder.before(Place(0, 4)).start == (0, 0)
    assert finder.before(Place(0, 0)).start == (2, 0)
    assert Finder(buffer, "dog").following(Place(0, 0)) is None
    assert Finder(buffer, "dog").before(Place(0, 0)) is None


def test_matches_are_numbered(buffer):
    finder = Finder(buffer, "cat")
    assert finder.number(Place(1, 5)) == (3, 4)
    assert finder.number(Place(1, 6)) == (0, 4)
    assert finder.number(Place(0, 3)) == (0, 4)


def test_what_was_found_is_not_outdated(buffer):
    finder = Finder(buffer, "cat")
    assert len(finder.all()) == 4
    buffer.apply(Edit(Span(Place(0, 0), Place(0, 4)), "a "))
    assert starts(finder) == [(0, 2), (1, 3), (2, 0)]


def test_what_was_found_belongs_to_the_caller(buffer):
    finder = Finder(buffer, "cat")
    finder.all().clear()
    assert len(finder.all()) == 4


def test_replacements_come_last_first(buffer):
    edits = Finder(buffer, "cat").edits("dog")
    for edit in edits:
        buffer.apply(edit)
    assert [edit.span.start.row for edit in edits] == [2, 1, 0, 0]
    assert buffer.text == "dog dog\ncondog\ndog."


def test_replacements_stay_within_a_span(buffer):
    within = Span(Place(0, 4), Place(1, 6))
    assert [edit.span.start for edit in Finder(buffer, "cat").edits("x", within)] == [
        *((1, 3), (0, 4))
    ]
    assert Finder(buffer, "cat").edits("x", Span(Place(0, 5), Place(1, 5))) == []


def test_groups_of_a_pattern_can_be_used(buffer):
    finder = Finder(buffer, r"(c)(at)", regex=True)
    assert [edit.text for edit in finder.edits(r"\2\1")] == ["ATC", "atc", "atc", "atC"]
    assert Finder(buffer, "cat").edits(r"\1")[0].text == r"\1"
    with pytest.raises(InkwellError, match="is no replacement"):
        finder.edits(r"\9")
