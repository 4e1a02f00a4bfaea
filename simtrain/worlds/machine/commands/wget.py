"""wget: fetches files from the services of the world's machines, as GNU Wget 1.21 words it."""

import re
from posixpath import basename
from urllib.parse import urljoin, urlsplit

from simtrain.values.clock import stamp
from simtrain.worlds.machine.binary import as_text
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import listener, machine_at, resolved
from simtrain.worlds.machine.sites import HttpRequest, HttpResponse

_LONG = {
    "quiet": "q", "output-document=": "O", "spider": "spider", "no-verbose": "nv", "tries=": "t", "timeout=": "T", "header=": "header",
    "post-data=": "post-data", "server-response": "S", "directory-prefix=": "P", "no-clobber": "nc", "user-agent=": "U",
    "method=": "method", "body-data=": "post-data", "max-redirect=": "max-redirect", "no-check-certificate": "no-check-certificate",
    "content-on-error": "content-on-error",
}  # fmt: skip
_USAGE = "Usage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options."
_TIMEOUT = 900.0


def wget(call: Invocation) -> Result:
    """Fetch what is at each address into a file."""
    words = ["--no-verbose" if word == "-nv" else "--no-clobber" if word == "-nc" else word for word in call.arguments]
    options = parsed(_renamed(call, words), "qO:t:T:SP:U:c", _LONG, code=2, hint=_USAGE)
    if isinstance(options, Result):
        return options
    if not options.operands:
        return Result(stderr=f"wget: missing URL\n{_USAGE}\n", exit_code=1)
    limit = options.value("T")
    if limit is not None and not re.fullmatch(r"\d{1,9}(\.\d*)?", limit):
        return Result(stderr=f"wget: --timeout: Invalid time period ‘{limit}’\n", exit_code=2)
    output, errors, code = "", "", 0
    for url in options.operands:
        done = _Fetch(call, options, url if "://" in url else f"http://{url}").done()
        output, errors, code = output + done.stdout, errors + done.stderr, done.exit_code or code
    return Result(output, "" if options.has("q") else errors, code)


def _renamed(call: Invocation, words: list[str]) -> Invocation:
    from dataclasses import replace

    return replace(call, arguments=tuple(words))


class _Fetch:
    def __init__(self, call: Invocation, options: Options, url: str) -> None:
        self.call, self.options, self.url = call, options, url
        self.log: list[str] = []
        self.connected = ""
        self.brief = options.has("nv")

    def done(self) -> Result:
        """Fetch, and return what is printed."""
        if self.options.has("spider") and not self.brief:
            self.log.append("Spider mode enabled. Check if remote file exists.\n")
        first = self.url
        most = self.options.value("max-redirect") or "20"
        for _ in range(int(most[:4]) + 1 if most.isdecimal() else 1):
            response = self._asked()
            if isinstance(response, int):
                return Result(stderr="".join(self.log), exit_code=response)
            where = response.headers.get("Location")
            if where is None or not 300 <= response.status < 400:
                return self._ended(response, first)
            self.log.append(f"Location: {where} [following]\n" if not self.brief else "")
            self.url = urljoin(self.url, where)
            if self.options.has("spider"):
                self._say("Spider mode enabled. Check if remote file exists.\n")
        self.log.append("20 redirections exceeded.\n")
        return Result(stderr="".join(self.log), exit_code=8)

    def _moment(self) -> str:
        return stamp(self.call.now).replace("T", " ").removesuffix("Z")

    def _say(self, text: str) -> None:
        if not self.brief:
            self.log.append(text)

    def _asked(self) -> HttpResponse | int:
        """Return the answer to one request, or the exit code of what went wrong."""
        call, options = self.call, self.options
        try:
            parts = urlsplit(self.url)
            host = parts.hostname or ""
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            wrong = "Bad port number" if "ort " in str(error) else "Invalid IPv6 numeric address"
            self.log.append(f"{self.url}: {wrong}.\n")
            return 1
        if parts.scheme not in ("http", "https"):
            self.log.append(f"{self.url}: Unsupported scheme ‘{parts.scheme}’.\n")
            return 1
        self._say(f"--{self._moment()}--  {self.url}\n")
        address = resolved(call, host)
        numeric = address == host
        if address is None:
            self._say(f"Resolving {host} ({host})... failed: Name or service not known.\n")
            self.log.append(f"wget: unable to resolve host address ‘{host}’\n")
            return 4
        known = self.connected == f"{host}:{port}"
        self._say("" if numeric or known else f"Resolving {host} ({host})... {address}\n")
        to = f"{host}:{port}" if numeric else f"{host} ({host})|{address}|:{port}"
        machine = machine_at(call, address)
        limit = float(options.value("T") or _TIMEOUT)
        if machine is None:
            call.sleep(limit)
            self.log.append(f"Connecting to {to}... failed: Connection timed out.\n")
            return 4
        there = listener(call, machine, port)
        if there is None:
            self.log.append(f"Connecting to {to}... failed: Connection refused.\n")
            return 4
        self._say(
            f"Reusing existing connection to {host}:{port}.\n" if known else f"Connecting to {to}... connected.\n"
        )
        self.connected = f"{host}:{port}"
        if parts.scheme == "https":
            self.log.append("Unable to establish SSL connection.\n")
            return 4
        data = options.value("post-data")
        method = options.value("method") or ("POST" if data is not None else "HEAD" if options.has("spider") else "GET")
        headers = {"Host": host if port == 80 else f"{host}:{port}", "User-Agent": options.value("U") or "Wget/1.21.3"}
        if data is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        for line in options.values("header"):
            name, _, text = line.partition(":")
            headers[name.strip()] = text.strip()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        response = there.answered(HttpRequest(method, target, headers, data or ""))
        self._say("HTTP request sent, awaiting response... ")
        if response is None:
            self.log.append("No data received.\nGiving up.\n\n")
            return 4
        if response.takes > limit:
            call.sleep(limit)
            self.log.append("Read error (Connection timed out) in headers.\nGiving up.\n\n")
            return 4
        call.sleep(response.takes)
        if options.has("S"):
            self._say("\n" + "".join(f"  {line}\n" for line in response.head.split("\r\n") if line))
        else:
            self._say(f"{response.status} {response.reason}\n")
        return response

    def _ended(self, response: HttpResponse, first: str) -> Result:
        call, options = self.call, self.options
        size = response.headers.get("Content-Length", "0")
        if response.status >= 400:
            if options.has("spider"):
                self._say("Remote file does not exist -- broken link!!!\n\n")
            else:
                head = f"{self.url}:\n" if self.brief else ""
                self.log.append(
                    f"{head}{self._moment()} ERROR {response.status}: {response.reason}.\n"
                    + ("" if self.brief else "\n")
                )
            return Result(stderr="".join(self.log), exit_code=8)
        self._say(f"Length: {size} [{response.headers.get('Content-Type', '')}]\n")
        if options.has("spider"):
            self._say("Remote file exists.\n\n")
            return Result(stderr="".join(self.log))
        name = options.value("O") or self._free(basename(urlsplit(first).path) or "index.html")
        count, shown = len(response.body), "STDOUT" if name == "-" else name
        self._say(f"Saving to: ‘{shown}’\n\n     0K {' ' * 54}100% 1.00M=0s\n\n")
        if name != "-":
            path = call.path(name)
            try:
                call.files.write(path, response.body)
            except OSError as error:
                return Result(stderr=f"{name}: {error.strerror}\n", exit_code=3 if options.value("O") is None else 1)
        verb = "written to stdout" if name == "-" else f"‘{name}’ saved"
        self._say(f"{self._moment()} (1.00 MB/s) - {verb} [{count}/{count}]\n\n")
        if self.brief:
            self.log.append(f'{self._moment()} URL:{self.url} [{count}/{count}] -> "{name}" [1]\n')
        return Result(as_text(response.body) if name == "-" else "", "".join(self.log))

    def _free(self, name: str) -> str:
        folder = self.options.value("P")
        name = f"{folder.rstrip('/')}/{name}" if folder else name
        taken, number = name, 0
        while self.call.files.exists(self.call.path(taken)):
            number += 1
            taken = f"{name}.{number}"
        return taken
