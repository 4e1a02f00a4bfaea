"""curl and wget on a machine: what its services answer, and how they fail, as the real ones say it."""

from pathlib import Path

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld

FILE = """
kind: machine
name: shop
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {sudo: true}}
schema: |
  create table items (id integer primary key, name text not null, cents integer not null);
rows: {items: [{id: 1, name: tea, cents: 250}, {id: 2, name: milk, cents: 120}]}
files:
  - {path: /var/www/index.html, content: "<h1>Shop</h1>\\n"}
  - {path: /var/www/secret.txt, content: "x\\n", mode: "0600"}
  - {path: /var/www/data/a.csv, content: "a,b\\n"}
services:
  web:
    command: /usr/sbin/nginx
    user: www-data
    port: 80
    answers:
      - {path: /, folder: /var/www}
  api:
    command: /usr/bin/api
    port: 8080
    answers:
      - path: /items/{id}
        rows: select * from items where id = :id
        found: true
        type: application/json
        template: "{{ rows[0] | tojson }}"
      - path: /items
        rows: select * from items order by id
        template: "{% for row in rows %}{{ row.id }} {{ row.name }}\\n{% endfor %}"
      - path: /items
        methods: [POST]
        status: 201
        do: ["insert into items (name, cents) values (:name, :cents)"]
        template: "{{ method }} {{ headers['content-type'] }}"
      - {path: /old, status: 302, headers: {Location: /items}}
      - {path: /loop, status: 302, headers: {Location: /loop}}
      - {path: /down, status: 503, template: "down"}
      - {path: /slow, takes: 5s, template: "slow"}
      - {path: /who, template: "{{ headers.authorization }} {{ headers['x-a'] }} {{ query.q }}"}
machines:
  elm:
    users: {ann: {}}
    services: {status: {command: /usr/bin/status, port: 80, answers: [{path: /, template: "elm is up"}]}}
"""


def _state(text: str = FILE) -> MachineState:
    found = MachineSource.load(parse_document(text, Path("shop.yaml"))).build()
    assert isinstance(found, MachineWorld)
    return found.open()


def _run(state: MachineState, command: str) -> tuple[str, str, int]:
    told = state.answer(Request(state.world.tools[0], {"command": command}, 0, 0)).structured
    assert isinstance(told, dict)
    found: JsonObject = told
    return str(found["stdout"]), str(found["stderr"]), int(found["exit_code"])


@pytest.mark.parametrize(
    ("command", "stdout", "stderr", "code"),
    [
        ("curl -s http://localhost/", "<h1>Shop</h1>\n", "", 0),
        ("curl oak/data/a.csv", "a,b\n", "", 0),
        ("curl -s localhost/secret.txt", "403 Forbidden\n", "", 0),
        ("curl -s localhost/../etc/passwd; curl -s localhost/%2e%2e/%2e%2e/etc/passwd", "404 Not Found\n404 Not Found\n", "", 0),
        ("curl -s elm", "elm is up\n", "", 0),
        ("curl -s 127.0.0.1:8080/items/1", '{"id":1,"name":"tea","cents":250}', "", 0),
        ("curl -sf localhost:8080/items/9", "", "", 22),
        ("curl -sSf localhost:8080/items/9", "", "curl: (22) The requested URL returned error: 404\n", 22),
        ("curl -sS --fail-with-body localhost:8080/down", "down\n", "curl: (22) The requested URL returned error: 503\n", 22),
        ("curl -sI localhost:8080/old", 
            "HTTP/1.1 302 Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nLocation: /items\r\n\r\n", "", 0),
        ("curl -sL localhost:8080/old -w '%{http_code} %{num_redirects} %{url_effective}\\n'", 
            "1 tea\n2 milk\n200 1 http://localhost:8080/items\n", "", 0),
        ("curl -sSL --max-redirs 3 localhost:8080/loop", "", "curl: (47) Maximum (3) redirects followed\n", 47),
        ("curl -s -u u:p -H 'X-A: 1' -G --data-urlencode 'q=x y' localhost:8080/who", "Basic dTpw 1 x y\n", "", 0),
        ("curl -sS http://nosuch/", "", "curl: (6) Could not resolve host: nosuch\n", 6),
        ("curl http://localhost:9", "", "curl: (7) Failed to connect to localhost port 9 after 0 ms: Couldn't connect to server\n", 7),
        ("curl -s http://localhost:9", "", "", 7),
        ("curl -sS -m 2 localhost:8080/slow", "", "curl: (28) Operation timed out after 2000 milliseconds with 0 bytes received\n", 28),
        ("curl -s -X DELETE localhost:8080/items", "405 Method Not Allowed\n", "", 0),
        ("curl -s -o /tmp/x -w '%{http_code}' localhost; cat /tmp/x", "200<h1>Shop</h1>\n", "", 0),
        ("curl -sO localhost/data/a.csv; cat a.csv", "a,b\n", "", 0),
        ("curl --nosuch", "", "curl: option --nosuch: is unknown\ncurl: try 'curl --help' or 'curl --manual' for more information\n", 2),
        ("curl -s https://localhost:8080", "", "", 35),
        ("curl -sS localhost:22", "", "curl: (1) Received HTTP/0.9 when not allowed\n", 1),
        ("wget -qO- localhost:8080/items", "1 tea\n2 milk\n", "", 0),
        ("wget -q localhost/data/a.csv; ls", "a.csv\n", "", 0),
        ("wget nosuch", "", "--2031-03-03 09:00:00--  http://nosuch\nResolving nosuch (nosuch)... failed: Name or service not known.\n"
            "wget: unable to resolve host address ‘nosuch’\n", 4),
    ],
)  # fmt: skip
def test_requests_are_answered_by_the_services_of_the_world(command: str, stdout: str, stderr: str, code: int) -> None:
    assert _run(_state(), command) == (stdout, stderr, code)


def test_a_request_can_change_the_world_and_takes_the_time_that_the_service_does() -> None:
    state = _state()
    assert (
        _run(state, "curl -s -d name=jam -d cents=300 localhost:8080/items")[0]
        == "POST application/x-www-form-urlencoded\n"
    )
    assert (
        _run(state, """curl -s --json '{"name": "oil", "cents": 900}' localhost:8080/items""")[0]
        == "POST application/json\n"
    )
    assert [row["name"] for row in state.query("select name from items order by id")] == ["tea", "milk", "jam", "oil"]
    assert _run(state, "curl -s localhost:8080/slow; date +%T; curl -s --retry 2 localhost:8080/down; date +%T")[0] == (
        "slow\n09:00:05\ndown\ndown\ndown\n09:00:08\n"
    )


def test_a_service_answers_as_long_as_its_process_runs_and_by_the_hosts_file() -> None:
    state = _state()
    told = _run(
        state,
        "sudo systemctl stop api; curl -sS localhost:8080/items; sudo systemctl start api; "
        "curl -s localhost:8080/items | wc -l",
    )
    assert told[:2] == (
        "2\n",
        "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server\n",
    )
    assert (
        _run(
            state,
            "echo '10.0.0.11 status.example' | sudo tee -a /etc/hosts > /dev/null; curl -s http://status.example/",
        )[0]
        == "elm is up\n"
    )
    assert _run(state, "ssh elm 'curl -s localhost'")[0] == "elm is up\n"


def test_forks_ask_the_services_of_their_own_world() -> None:
    state = _state()
    other = state.fork()
    _run(other, "curl -s -d name=jam -d cents=1 localhost:8080/items")
    lines = "curl -s localhost:8080/items | wc -l"
    assert (_run(state, lines)[0], _run(other, lines)[0]) == ("2\n", "3\n")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('template: "down"', 'template: "{{ down"', "answers"),
        ("{path: /down,", "{path: down,", "path"),
        ('takes: 5s, template: "slow"', 'takes: 5s, template: "slow", folder: /srv', "`folder` stands alone"),
    ],
)
def test_mistakes_about_answers_are_told_with_their_place(old: str, new: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        _state(FILE.replace(old, new))
    assert told in str(error.value) and "shop.yaml:" in str(error.value)
