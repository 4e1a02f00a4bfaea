"""Mistakes in the files of an app: one line with file and line, before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest
from library_app import TEMPLATES, WORLD, library

from simtrain.values.errors import InputError

BOOK, HOME = TEMPLATES["book.html"], TEMPLATES["home.html"]


def problem(folder: Path, *, world: str = WORLD, **templates: str) -> str:
    with pytest.raises(InputError) as caught:
        library(folder, world=world, **templates)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_broken_template(tmp_path: Path) -> None:
    assert problem(tmp_path, home_html=HOME.replace("{% endfor %}", "", 1)).startswith("library/home.html:")


def test_a_name_that_nothing_binds(tmp_path: Path) -> None:
    told = problem(tmp_path, book_html=BOOK.replace("{{ book.copies }}", "\n{{ boook.copies }}"))
    assert (
        told
        == "library/book.html:2: the template names 'boook', which nothing binds for book.html; did you mean 'book'?"
    )


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    told = problem(tmp_path, home_html=HOME.replace('href="/list.txt"', 'href="/lists"'))
    assert told == "library/home.html:4: the link to /lists leads nowhere; did you mean '/list.txt'?"


def test_a_link_with_a_parameter_that_leads_nowhere(tmp_path: Path) -> None:
    told = problem(tmp_path, home_html=HOME.replace('href="/books/{{ book.id }}"', 'href="/book/{{ book.id }}"'))
    assert "library/home.html:3: the link to /book/{...} leads nowhere; did you mean '/books/{id}'?" in told


def test_a_form_without_a_handler(tmp_path: Path) -> None:
    told = problem(tmp_path, book_html=BOOK.replace('/lend" method', '/borrow" method'))
    assert told.startswith(
        "library/book.html:2: the form posts to /books/{...}/borrow, and `forms` has no such address"
    )


def test_a_handler_without_a_form(tmp_path: Path) -> None:
    told = problem(tmp_path, world=WORLD + "  /books/{id}/burn: {write: [delete from books where id = :id]}\n")
    assert "library.yaml:" in told and "no template has a form that posts to /books/{id}/burn" in told


def test_sql_that_does_not_compile(tmp_path: Path) -> None:
    told = problem(
        tmp_path,
        world=WORLD.replace("let: {found: select id from people where", "let: {found: select id from persons where"),
    )
    assert told.startswith("library.yaml:") and "no such table: persons" in told


def test_sql_that_would_write_in_a_screen(tmp_path: Path) -> None:
    told = problem(
        tmp_path,
        world=WORLD.replace(
            '"select name, body from reports order by id"', '"delete from reports returning name, body"'
        ),
    )
    assert "the SQL may not do this" in told


def test_a_parameter_that_nothing_binds(tmp_path: Path) -> None:
    told = problem(
        tmp_path, world=WORLD.replace('from books where id = :id", missing', 'from books where id = :ids", missing')
    )
    assert "nothing binds the parameter :ids; did you mean 'id'?" in told


def test_a_rule_of_css_outside_the_subset(tmp_path: Path) -> None:
    told = problem(tmp_path, library_css="h1 { color: green; }\n\nh1:hover { display: none; }\n")
    assert told.startswith("library/library.css:3: this rule is outside the subset of CSS")


@pytest.mark.parametrize(
    "markup",
    ["<script>x()</script>", '<p onclick="x()">', '<a href="javascript:x()">x</a>', '<p style="display: none">x</p>'],
)
def test_scripts_and_styles_of_an_author(tmp_path: Path, markup: str) -> None:
    told = problem(tmp_path, home_html=HOME + f"\n{markup}")
    assert told.startswith("library/home.html:5: templates have no scripts and no styles of their own")


def test_a_page_that_would_not_be_escaped(tmp_path: Path) -> None:
    told = problem(tmp_path, world=WORLD.replace("title: List, download: list.txt", "title: List"))
    assert "a page is a template that ends in .html" in told


def test_an_address_after_a_form_that_leads_nowhere(tmp_path: Path) -> None:
    told = problem(tmp_path, world=WORLD.replace("done: Good bye., then: /", "done: Good bye., then: /bye"))
    assert "/bye leads nowhere" in told and "library.yaml:" in told


def test_a_value_of_a_screen_with_a_name_that_every_page_has(tmp_path: Path) -> None:
    told = problem(tmp_path, world=WORLD.replace("read: {reports: ", "read: {old: "))
    assert told.startswith("library.yaml:") and "'old' means something on every page already" in told


LOOKS = WORLD.replace("style: library.css", "style: library.css\nlooks: {wording: [plain, formal]}")


def test_a_look_that_a_template_reads_and_the_app_does_not_have(tmp_path: Path) -> None:
    told = problem(tmp_path, world=LOOKS, home_html=HOME + "\n{{ look.words }}")
    assert told == "library/home.html:5: the template reads look.words, which does not exist; did you mean 'wording'?"


def test_a_look_that_the_app_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the app has no look 'word'; did you mean 'wording'"):
        library(tmp_path, world=LOOKS, knobs={"look": {"word": "formal"}})
    with pytest.raises(InputError, match="the look 'wording' cannot be 'forma'; did you mean 'formal'"):
        library(tmp_path, world=LOOKS, knobs={"look": {"wording": "forma"}})


def test_a_text_of_the_site_that_there_is_not_or_that_names_what_nothing_binds(tmp_path: Path) -> None:
    texts = WORLD.replace("style: library.css", "style: library.css\ntexts: {TEXT}")
    told = problem(tmp_path, world=texts.replace("TEXT", "no_pages: Lost."))
    assert told.startswith("library.yaml:") and "no_pages" in told and "did you mean 'no_page'?" in told
    told = problem(tmp_path, world=texts.replace("TEXT", 'minimum: "At least {{ limits }}."'))
    assert told.startswith("library.yaml:") and "the text names 'limits'" in told and "did you mean 'limit'?" in told
    told = problem(tmp_path, world=texts.replace("TEXT", 'no_page: "{{ look.tongue }}"'))
    assert told.startswith("library.yaml:") and "the app has no look 'tongue'" in told


def test_a_user_whom_a_scenario_signs_in_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no user 'bob'"):
        library(tmp_path, knobs={"signed_in": "bob"})


def test_a_template_that_writes_too_much_is_cut_off_by_its_budget(tmp_path: Path) -> None:
    endless = TEMPLATES["book.html"].replace("First", "{% for a in [1] * 100000 %}x{% endfor %}")
    told = problem(tmp_path, book_html=endless.replace("[1] * 100000", "missing"))
    assert "names 'missing'" in told
