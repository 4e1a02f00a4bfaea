"""What `simtrain validate` writes as a page: everything that it found, escaped, in the look of all pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from bakery import write_files

from simtrain.cli import main
from simtrain.files.pages.templates import style
from simtrain.validation.page import families_page
from simtrain.validation.proof import Proof


def cells(html: str) -> list[list[str]]:
    """The rows of all tables, as an HTML parser finds them."""

    class Rows(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[list[str]] = []
            self.inside = False

        def handle_starttag(self, tag: str, attrs: object) -> None:
            del attrs
            if tag == "tr":
                self.rows.append([])
            self.inside = self.inside or tag == "td"
            if tag == "td":
                self.rows[-1].append("")

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag != "td"

        def handle_data(self, data: str) -> None:
            if self.inside:
                self.rows[-1][-1] += data.strip()

    found = Rows()
    found.feed(html)
    return [row for row in found.rows if row]


def validated(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["validate", *words])
    return int(ended.value.code or 0)


def test_the_page_has_each_family_with_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert validated(str(write_files(tmp_path)), "--cases", "2", "--html", "p.html") in (0, 1)
    rows = cells(Path("p.html").read_text())
    assert [row[0] for row in rows] == ["birthday"] and rows[0][2] == "2"


def test_problems_come_first_and_nothing_of_them_is_markup() -> None:
    hostile = "<script>window.pwned=1</script>"
    proofs = [Proof("b", cases=3), Proof("z", cases=2, problems=[hostile], warnings=[hostile]), Proof(hostile)]
    html = families_page(proofs)
    assert [row[0] for row in cells(html)] == ["z", hostile, "b"]
    assert "<script" not in html and html.count("&lt;script&gt;") == 3
    assert style() in html
    assert not re.search(r"(?:src|href)=", html)


def test_a_folder_that_is_not_there_is_refused_before_anything_is_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert validated("helpdesk", "--html", "nowhere/p.html") == 2
    assert capsys.readouterr().err.count("\n") == 1
