"""curl and wget of a machine, held against the real ones and a real server: output, words and exit codes."""

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineWorld

pytestmark = [pytest.mark.slow, pytest.mark.full]

WORLD = """
kind: machine
name: real
clock: {{start: 2031-03-03T09:00:00Z, per_step: 0s}}
hostname: oak
user: ann
users: {{ann: {{}}}}
services:
  api:
    command: /usr/bin/api
    port: {port}
    answers:
      - {{path: /ok, template: "hello"}}
      - {{path: /missing, status: 404, template: "not here"}}
      - {{path: /down, status: 503, template: "down"}}
      - {{path: /moved, methods: [GET, POST], status: 302, headers: {{Location: /ok}}}}
      - {{path: /loop, status: 302, headers: {{Location: /loop}}}}
      - path: /echo
        methods: [GET, POST, PUT, DELETE]
        template: >-
          {{{{ method }}}} {{{{ body }}}} {{{{ headers['content-type'] | default('-') }}}} {{{{ headers.authorization | default('-') }}}}
          {{{{ headers['x-a'] | default('-') }}}} {{{{ headers['user-agent'] }}}}
      - {{path: /slow, takes: 3s, template: "slow"}}
"""

COMMANDS = [
    "curl -s U/ok", "curl -sS U/missing", "curl -sSf U/missing", "curl -sS --fail U/down", "curl -sS --fail-with-body U/down",
    "curl -sI U/ok", "curl -si U/moved", "curl -sLi U/moved", "curl -sL U/moved -w '%{http_code} %{num_redirects} %{url_effective}\\n'",
    "curl -s U/ok -w '%{size_download} %{content_type} %{method} %{scheme} %{remote_port} %{exitcode}%{errormsg}|%{redirect_url}|%%\\n'",
    "curl -s U/moved -w '%{redirect_url} %{response_code}\\n'", "curl -s -d a=1 -d b=2 U/echo", "curl -s -X PUT -H 'X-A: 1' -u u:p U/echo",
    "curl -s -X DELETE U/echo", "curl -s -A me -H 'Content-Type: text/x' -d @in U/echo", "curl -s --data-binary @in U/echo",
    "curl -s --json '{\"a\":1}' U/echo", "curl -s --data-urlencode 'q=x y' U/echo", "curl -s -L -d a=1 U/moved", "curl -sS -I -X GET U/ok",
    "curl -sSL --max-redirs 3 U/loop", "curl -sSL U/loop", "curl -sS http://nosuch.invalid/", "curl -sS http://localhost:9/",
    "curl http://localhost:9", "curl -s http://localhost:9", "curl", "curl -s", "curl --nosuch", "curl -Z9", "curl -d", "curl -m abc U/ok",
    "curl -sS foo://x", "curl -sS http://", "curl -sS 'http://localhost/a b'", "curl -sS -m 1 U/slow", "curl -sS --retry 1 U/down",
    "curl --retry 1 -f U/down", "curl -sS --retry 1 --retry-connrefused http://localhost:9", "curl -sSO U/ok; cat ok",
    "curl -sSO U/", "curl -s -o out U/ok; cat out", "curl -s -f -o out U/missing; ls", "curl -s -o out U/missing; cat out",
    "curl -sS -o /nosuch/x U/ok", "curl -s -o /dev/null -w '%{http_code}\\n' U/missing", "curl -sS U/ok U/missing",
    "curl -sS -w '%{nosuch} %{exitcode} %{errormsg}\\n' http://localhost:9", "curl -sS https://localhost:PORT/", "curl -s U/ok | wc -c",
    "curl -sv U/ok 2>&1 >/dev/null | grep -c '^[<>*]'", "wget -qO- U/ok", "wget -q U/missing; echo $?", "wget http://localhost:9/",
    "wget http://nosuch.invalid/", "wget U/missing", "wget --spider U/ok", "wget -nv -O x U/ok; cat x",
    "wget U/ok; ls", "wget -S -O x U/ok",
    "wget", "wget --nosuch", "wget -q U/ok; wget -q U/ok; ls", "wget -qO- --post-data=a=1 --user-agent=me U/echo",
]  # fmt: skip
# Times, speeds and the release of the library.
_LOOSE = [
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE"), (r"\([\d.]+ [KMGB]+/s\)", "(SPEED)"), (r"100%\s+[\d.,]+[KMG]?\s*=[\d.]+m?s", "100% SPEED"),
    (r"after \d+ m", "after N m"), (r"OpenSSL/[\w.]+", "OpenSSL"), (r"out after \d+", "out after N"), (r"::1, ", ""),
    (r"Connecting to localhost \(localhost\)\|::1\|.*\n", ""),
]  # fmt: skip


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        told = " ".join(
            self.headers.get(name) or "-" for name in ("content-type", "authorization", "x-a", "user-agent")
        )
        status, text = {
            "/ok": (200, "hello\n"), "/missing": (404, "not here\n"), "/down": (503, "down\n"), "/moved": (302, ""), "/loop": (302, ""),
            "/echo": (200, f"{self.command} {body} {told}\n"), "/slow": (200, "slow\n"),
        }.get(self.path, (404, "404 Not Found\n"))  # fmt: skip
        if self.path == "/slow":
            threading.Event().wait(3)
        self.send_response_only(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        if status == 302:
            self.send_header("Location", "/ok" if self.path == "/moved" else "/loop")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def _ours(command: str, port: int) -> tuple[str, str, int]:
    world = MachineSource.load(parse_document(WORLD.format(port=port), Path("real.yaml"))).build()
    assert isinstance(world, MachineWorld)
    state = world.open()
    line = f"cd $(mktemp -d); printf 'a b\\nc' > in; {command}"
    told = state.answer(Request(world.tools[0], {"command": line}, 0, 0)).structured
    assert isinstance(told, dict)
    return str(told["stdout"]), str(told["stderr"]), int(told["exit_code"])


def _real(command: str, folder: Path) -> tuple[str, str, int]:
    (folder / "in").write_text("a b\nc")
    # No proxy and no settings of whoever runs this.
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    ran = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, timeout=60)
    return ran.stdout.decode(), ran.stderr.decode(), ran.returncode


def _loosened(told: tuple[str, str, int]) -> tuple[str, str, int]:
    out, err, code = told
    for shape, put in _LOOSE:
        out, err = re.sub(shape, put, out), re.sub(shape, put, err)
    # The meter, which curl shows where nobody silenced it and standard output is no terminal.
    return out, re.sub(r".*% Total.*\n.*Speed\n|.*--:--:--.*\n", "", err), code


@pytest.mark.parametrize("command", COMMANDS)
def test_a_request_ends_as_with_the_real_program(command: str, port: int, tmp_path: Path) -> None:
    program = command.partition(" ")[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    line = command.replace("U/", f"http://localhost:{port}/").replace("PORT", str(port))
    assert _loosened(_ours(line, port)) == _loosened(_real(line, tmp_path))
