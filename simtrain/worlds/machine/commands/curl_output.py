"""What curl prints beside what it transfers: `--write-out`, the progress meter, and the lines of `-v`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin

from simtrain.worlds.machine.sites import HttpResponse

_VARIABLE = re.compile(r"%(?:%|\{([^}]*)\})|\\([nrt])")
_SIGNS = {"n": "\n", "r": "\r", "t": "\t"}
_HEAD = """\
  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current
                                 Dload  Upload   Total   Spent    Left  Speed
"""


@dataclass(slots=True)
class Transfer:
    """What came of one address: the last answer, all heads, and what went wrong."""

    url: str
    method: str
    response: HttpResponse | None = None
    output: list[str] = field(default_factory=list[str])
    trace: list[str] = field(default_factory=list[str])
    code: int = 0
    problem: str = ""
    redirects: int = 0
    seconds: float = 0.0
    address: str = ""
    port: int = 0

    def failed(self, code: int, problem: str) -> Transfer:
        """Note what went wrong."""
        self.code, self.problem = code, problem
        return self


def written_out(form: str, done: Transfer) -> tuple[str, str]:
    """Return the text of `--write-out`, and what is printed about variables that curl does not have."""
    response = done.response
    size = sum(map(len, done.output)) if done.method != "HEAD" else 0
    if response is not None and done.method != "HEAD" and done.code != 22:
        size = len(response.body)
    where = response.headers.get("Location", "") if response is not None and not done.code else ""
    status = f"{response.status:03}" if response is not None else "000"
    took = f"{done.seconds:.6f}"
    variables = {
        "http_code": status, "response_code": status, "size_download": str(size), "url_effective": done.url, "url": done.url,
        "content_type": response.headers.get("Content-Type", "") if response is not None else "", "method": done.method,
        "num_redirects": str(done.redirects), "redirect_url": _absolute(done.url, where), "scheme": "HTTP" if response else "",
        "remote_ip": done.address if response is not None else "", "remote_port": str(done.port if response is not None else 0),
        "exitcode": str(done.code), "errormsg": done.problem, "http_version": "1.1" if response is not None else "0",
        "num_connects": "1" if response is not None else "0", "time_total": took, "time_starttransfer": took,
        "time_connect": "0.000000", "time_namelookup": "0.000000", "time_pretransfer": "0.000000", "time_redirect": "0.000000",
        "time_appconnect": "0.000000", "size_upload": "0", "speed_download": "0", "speed_upload": "0", "onerror": "",
        "size_header": str(len(response.head) if response is not None else 0), "filename_effective": "",
        "num_headers": str(len(response.headers) if response is not None else 0),
    }  # fmt: skip
    unknown = ""

    def put(found: re.Match[str]) -> str:
        nonlocal unknown
        if found[2] is not None:
            return _SIGNS[found[2]]
        if found[1] is None:
            return "%"
        if found[1] not in variables:
            unknown += f"curl: unknown --write-out variable: '{found[1]}'\n"
            return ""
        return variables[found[1]]

    return _VARIABLE.sub(put, form), unknown


def _absolute(url: str, where: str) -> str:
    return urljoin(url, where) if where else ""


def meter(size: int) -> str:
    """Return the progress meter of a transfer of so many bytes, which took no time."""
    none = "\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
    if not size:
        return f"{_HEAD}{none}\n"
    speed = min(size * 1000, 99_999)
    return (
        f"{_HEAD}{none}\r100 {size:5}  100 {size:5}    0     0  {speed:5}      0 --:--:-- --:--:-- --:--:-- {speed:5}\n"
    )


def verbose_lines(
    host: str, address: str, port: int, line: str, sent: Mapping[str, str], response: HttpResponse
) -> str:
    """Return what `-v` tells about one request."""
    asked = "".join(f"> {name}: {text}\r\n" for name, text in sent.items())
    answered = "".join(f"< {one}\n" for one in response.head.split("\n")[:-1])
    return (
        f"*   Trying {address}:{port}...\n* Connected to {host} ({address}) port {port} (#0)\n> {line} HTTP/1.1\r\n{asked}> \r\n"
        f"{answered}{{ [{len(response.body)} bytes data]\n* Connection #0 to host {host} left intact\n"
    )
