# ruff: noqa: E501
"""A small app for tests: a library whose books are lent, with a reader, a clerk and every way to refuse."""

from __future__ import annotations

from pathlib import Path

from simtrain.contracts.request import Request
from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import read_document
from simtrain.values.types import Observation
from simtrain.worlds.app.source import AppSource
from simtrain.worlds.app.world import AppState, AppWorld

WORLD = """\
kind: app
name: library
site: library.example
templates: library
style: library.css
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
users: {read: "select id, role, name from people where id = :id"}
schema: |
  create table people (id text primary key, role text not null, name text not null, password text not null);
  create table books (id integer primary key, title text not null unique, lent_to text references people, copies integer not null check (copies >= 0));
  create table reports (id text primary key, name text not null, body text not null);
rows:
  people:
    - {id: ann, role: reader, name: Ann, password: one}
    - {id: cle, role: clerk, name: Cleo, password: two}
  books:
    - {id: 1, title: Rivers, copies: 2}
    - {id: 2, title: "<script>alert(1)</script>", copies: 1}
    - {id: 3, title: Roads, lent_to: cle, copies: 1}
  files: [{path: Documents/report.txt, content: All is well.}]
screens:
  /: {template: home.html, title: Library, query: {q: ""}, read: {books: "select id, title, lent_to from books where title like '%' || :q || '%' order by id"}, pages: {books: 2}}
  /books/{id}: {template: book.html, title: "{{ book.title }}", read: {book: {one: "select id, title, lent_to, copies from books where id = :id", missing: No such book.}}}
  /hints: {template: hints.html, title: Hints, fragment: true, query: {q: ""}, read: {books: "select title from books where title like :q || '%' order by title"}}
  /login: {template: login.html, title: Sign in, query: {next: /}}
  /desk: {template: desk.html, title: Desk, for: [clerk], read: {reports: "select name, body from reports order by id"}}
  /list.txt: {template: list.txt, title: List, download: list.txt, read: {books: "select title from books order by id"}}
forms:
  /login:
    input: {id: {}, password: {}, next: {required: false}}
    let: {found: select id from people where id = :id and password = :password}
    refuse: [{if: "select :found is null", error: Wrong password., field: password, label: login_wrong}]
    sign_in: select :found
    then: "{{ next or '/' }}"
  /logout: {sign_out: true, done: Good bye., then: /}
  /books/{id}/lend:
    for: [reader, clerk]
    let: {lent: select lent_to from books where id = :id, known: select count(*) from books where id = :id}
    refuse:
      - {if: "select :known = 0", error: No such book., as: 404, label: lend_unknown}
      - {if: "select :lent = :user_id", error: You have it already., as: dialog, label: lend_twice}
      - {if: "select :lent is not null", error: "Lent to {{ lent }}.", label: lend_out}
    write: [update books set lent_to = :user_id where id = :id, update books set copies = copies - 1 where id = :id]
    done: Enjoy it.
  /books/{id}/title:
    for: [clerk]
    input: {title: {max_length: 30}}
    write: ["update books set title = :title where id = :id"]
    errors: {unique: There is such a book already.}
    done: Renamed.
  /desk/report:
    for: [clerk]
    input: {report: {type: file, accept: [.txt]}}
    ids: {report_id: "R{seq:03}"}
    write: ["insert into reports values (:report_id, :report_name, :report)"]
    done: Filed.
  /desk/return:
    for: [clerk]
    input: {books: {type: list, error: Choose a book.}}
    let: {idle: select value from json_each(:books) where (select lent_to from books where id = value) is null}
    refuse: [{if: "select :idle is not null", error: "Book {{ idle }} is here.", as: 409, label: return_idle}]
    each: books
    write: [update books set lent_to = null where id = :item]
    done: Returned.
    then: /
"""

LAYOUT = """\
<!DOCTYPE html><html lang="en"><head>{{ head }}</head><body>
<header><a href="/">Library</a>{% if user %}<span>{{ user.name }}</span><form action="/logout" method="post"><button>Sign out</button></form>
{% else %}<a href="/login">Sign in</a>{% endif %}</header>
<main>{% for flash in flashes %}<p role="status" data-toast>{{ flash.text }} <button type="button" data-dismiss>Dismiss</button></p>{% endfor %}
{% if dialog %}<dialog open aria-label="Note"><p>{{ dialog }}</p><button type="button" data-close>Close</button></dialog>{% endif %}
{% block content %}{% endblock %}</main></body></html>
"""

TEMPLATES = {
    "layout.html": LAYOUT,
    "error.html": '{% extends "layout.html" %}{% block content %}<h1>Error {{ status }}</h1><p>{{ text }}</p>{% endblock %}',
    "home.html": '{% extends "layout.html" %}{% block content %}<h1>Books</h1>\n'
    '<form><label for="q">Title</label><input id="q" name="q" value="{{ q }}" data-suggest="/hints?q=" data-list="hints" role="combobox" aria-expanded="false">'
    '<ul id="hints" role="listbox" hidden></ul><button>Find</button></form>\n'
    '<form action="/desk/return" method="post"><label><input type="checkbox" data-check-all="books"> All</label>'
    '{% for book in books %}<p><label><input type="checkbox" name="books" value="{{ book.id }}"> Take {{ book.id }}</label> <a href="/books/{{ book.id }}">{{ book.title }}</a></p>{% endfor %}'
    "<button>Return</button></form>\n"
    '{% if pager.next %}<a href="{{ pager.next }}">Next</a>{% endif %}<a href="/list.txt">List</a>{% endblock %}',
    "book.html": '{% extends "layout.html" %}{% block content %}<h1>{{ book.title }}</h1><p>Copies: {{ book.copies }}</p>\n'
    '<form action="/books/{{ book.id }}/lend" method="post"><button data-confirm="Really?">Lend</button></form>\n'
    '<div data-view="rename"><button type="button" data-edit="rename">Rename</button></div>'
    '<form id="rename" action="/books/{{ book.id }}/title" method="post" hidden><label for="t">New title</label>'
    '<input id="t" name="title" maxlength="30" data-counter="n" value="{{ old.title if old.title is defined else book.title }}"><span id="n">0 / 30</span>'
    '<button>Save</button><button type="button" data-cancel="rename">Cancel</button></form>\n'
    '<div data-tabs><div role="tablist"><button type="button" role="tab" aria-controls="a" aria-selected="true">A</button>'
    '<button type="button" role="tab" aria-controls="b" aria-selected="false">B</button></div>'
    '<div role="tabpanel" id="a">First</div><div role="tabpanel" id="b" hidden>Second</div></div>{% endblock %}',
    "hints.html": '{% for book in books %}<li role="option" data-value="{{ book.title }}">{{ book.title }}</li>{% endfor %}',
    "login.html": '{% extends "layout.html" %}{% block content %}<h1>Sign in</h1><form action="/login" method="post">\n'
    '<input type="hidden" name="next" value="{{ next }}"><label for="id">Name</label><input id="id" name="id" required value="{{ old.id if old.id is defined else \'\' }}">'
    '<label for="p">Password</label><input id="p" name="password" type="password">'
    "{% if flaws.password is defined %}<p>{{ flaws.password }}</p>{% endif %}<button>Go</button></form>{% endblock %}",
    "desk.html": '{% extends "layout.html" %}{% block content %}<h1>Desk</h1><form action="/desk/report" method="post" enctype="multipart/form-data">\n'
    '<label for="f">Report</label><input id="f" type="file" name="report">{% if flaws.report is defined %}<p>{{ flaws.report }}</p>{% endif %}<button>File</button></form>'
    "{% for one in reports %}<pre>{{ one.body }}</pre>{% endfor %}{% endblock %}",
    "list.txt": "{% for book in books %}{{ book.title }}\n{% endfor %}",
    "library.css": "h1 { color: green; }\n[hidden] { display: none; }\n",
}


def write_library(folder: Path, *, world: str = WORLD, **templates: str) -> Path:
    """Write the app into a folder, some templates (by name, `_` for the dot) replaced, and return its file."""
    inside = folder / "library"
    inside.mkdir(exist_ok=True)
    for name, text in {**TEMPLATES, **{key.replace("_", "."): text for key, text in templates.items()}}.items():
        (inside / name).write_text(text, encoding="utf-8")
    file = folder / "library.yaml"
    file.write_text(world, encoding="utf-8")
    return file


def library(folder: Path, *, world: str = WORLD, knobs: dict[str, object] | None = None, **templates: str) -> AppWorld:
    """Return the built app."""
    document = read_document(write_library(folder, world=world, **templates))
    source = AppSource.load(document)
    built = (source.configured(document, knobs, ()) if knobs else source).build(Variant())
    assert isinstance(built, AppWorld)
    return built


class Agent:
    """An agent at an open app: calls of tools by name."""

    def __init__(self, state: AppState) -> None:
        self.state = state
        self._tools = {tool.name: tool for tool in state.world.tools}

    def ask(self, tool: str, **arguments: object) -> Observation:
        """Make one call."""
        return self.state.answer(self.request(tool, **arguments))

    def request(self, tool: str, **arguments: object) -> Request:
        """Return the request of a call."""
        return Request(self._tools[f"browser_{tool}"], arguments, 0, 0)

    def click(self, target: str) -> str:
        """Click, and return the reply."""
        return self.ask("click", target=target).text

    def page(self) -> str:
        """Return the snapshot of the page in front."""
        return self.ask("snapshot").text

    def sign_in(self, name: str, password: str) -> None:
        """Sign in by the form."""
        self.ask("navigate", url="https://library.example/login")
        self.ask("type", target="getByLabel('Name')", text=name)
        self.ask("type", target="getByLabel('Password')", text=password)
        self.click("getByRole('button', { name: 'Go' })")
