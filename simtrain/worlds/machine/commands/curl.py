"""curl: requests to the services of the world's machines, as curl 7.88 makes and words them."""

import re
from base64 import b64encode
from posixpath import basename
from urllib.parse import quote_plus, urljoin, urlsplit

from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.commands.curl_options import HELP, CurlOptions, curl_options
from simtrain.worlds.machine.commands.curl_output import Transfer, meter, verbose_lines, written_out
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import listener, machine_at, resolved
from simtrain.worlds.machine.sites import HttpRequest

VERSION = "7.88.1"
_MOST_REDIRECTS = 50
_TRANSIENT = (408, 429, 500, 502, 503, 504)
_CONNECT = 300.0
"""Seconds that curl waits for a machine that does not answer, if it is not told otherwise."""
_BODIES = ("data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json")


def curl(call: Invocation) -> Result:
    """Transfer what is at each address."""
    options = curl_options(call.arguments)
    if isinstance(options, Result):
        return options
    if "version" in options.flags:
        return Result(
            f"curl {VERSION} (x86_64-pc-linux-gnu) libcurl/{VERSION}\nRelease-Date: 2023-02-20\nProtocols: http\n"
        )
    if not options.urls:
        return Result(stderr=HELP if not call.arguments else f"curl: no URL specified!\n{HELP}", exit_code=2)
    output, errors, code = "", "", 0
    targets = [value for _, value in options.all("output")]
    for number, url in enumerate(options.urls):
        target = targets[number] if number < len(targets) else None
        done = _one(call, options, url, target)
        output, errors, code = output + done.stdout, errors + done.stderr, done.exit_code
    return Result(output, errors, code)


def _one(call: Invocation, options: CurlOptions, url: str, target: str | None) -> Result:
    quiet = "silent" in options.flags
    told = not quiet or "show-error" in options.flags
    errors = ""
    left = int(options.number("retry") or 0)
    wait = 1.0
    output = ""
    while True:
        done = _transferred(call, options, url)
        if left <= 0 or not _transient(done, options):
            break
        if told and done.problem:
            errors += f"curl: ({done.code}) {done.problem}\n"
        if not quiet:
            errors += _retrying(done, wait, left)
        output += "" if target or "remote-name" in options.flags else _content(done)
        given = options.number("retry-delay")
        call.sleep(given or wait)
        left, wait = left - 1, wait * 2
    if "remote-name" in options.flags and target is None:
        target = basename(urlsplit(url if "://" in url else f"http://{url}").path)
        if not target:
            done.failed(23, "Failed writing received data to disk/application")
    content = _content(done)
    if "verbose" in options.flags:
        errors += "".join(done.trace)
    if target == "":
        content = ""
    elif target is not None and target != "-" and done.response is not None and content + done.problem:
        errors += _saved(call, target, done, content, quiet=quiet)
    elif done.response is not None or content:
        output += content
    if told and done.code:
        errors += f"curl: ({done.code}) {done.problem}\n"
    form = options.value("write-out")
    if form is not None:
        form = call.stdin or "" if form == "@-" else form
        text, unknown = written_out(form, done)
        output, errors = output + text, errors + unknown
    return Result(output, errors, done.code)


def _content(done: Transfer) -> str:
    return "".join(done.output)


def _saved(call: Invocation, target: str, done: Transfer, content: str, *, quiet: bool) -> str:
    """Write what came into a file, and return what is printed about it."""
    if done.code in (22, 23) and not content:
        return ""
    errors = "" if quiet else meter(len(content))
    try:
        call.files.write(call.path(target), as_bytes(content))
    except OSError as error:
        if not quiet:
            errors = f"Warning: Failed to open the file {target}: {error.strerror}\n{errors}"
        done.failed(23, "Failure writing output to destination")
    return errors


def _transient(done: Transfer, options: CurlOptions) -> bool:
    if done.code == 7:
        return "retry-connrefused" in options.flags or "retry-all-errors" in options.flags
    if done.code and "retry-all-errors" in options.flags:
        return True
    return done.code in (6, 28) or (done.response is not None and done.response.status in _TRANSIENT)


def _retrying(done: Transfer, wait: float, left: int) -> str:
    why = "HTTP error" if done.response is not None else "connection refused" if done.code == 7 else "timeout"
    return f"Warning: Problem : {why}. Will retry in {wait:g} seconds. {left} retries left.\n"


def _transferred(call: Invocation, options: CurlOptions, url: str) -> Transfer:
    """Make the requests that lead from an address to its content."""
    method, body, headers = _asked(call, options)
    done = Transfer(url if "://" in url else f"http://{url}", method)
    if body is not None and "get" in options.flags:
        done.url += ("&" if urlsplit(done.url).query else "?") + body
        done.method, body = ("HEAD" if "head" in options.flags else options.value("request") or "GET"), None
        headers.pop("Content-Type", None)
    given = options.number("max-redirs")
    most = _MOST_REDIRECTS if given is None else int(given)
    while True:
        _exchange(call, options, done, headers, body)
        response = done.response
        if done.code or response is None:
            return done
        where = response.headers.get("Location")
        follows = "location" in options.flags and where is not None and 300 <= response.status < 400
        failing = response.status >= 400 and bool({"fail", "fail-with-body"} & options.flags)
        shown = "fail" not in options.flags or not failing
        if "include" in options.flags or "head" in options.flags:
            done.output.append(response.head if shown else "")
        if not follows:
            if shown and done.method != "HEAD" and "head" not in options.flags:
                done.output.append(as_text(response.body))
            if failing:
                done.failed(22, f"The requested URL returned error: {response.status}")
            return done
        if 0 <= most <= done.redirects:
            return done.failed(47, f"Maximum ({most}) redirects followed")
        done.redirects += 1
        done.url = urljoin(done.url, where)
        if done.method == "POST" and response.status in (301, 302, 303) and options.value("request") is None:
            done.method, body = "GET", None
            headers.pop("Content-Type", None)


def _asked(call: Invocation, options: CurlOptions) -> tuple[str, str | None, dict[str, str]]:
    """Return method, body and headers as the options have them."""
    parts: list[str] = []
    kind = "application/x-www-form-urlencoded"
    for name, value in options.all(*_BODIES):
        kind = "application/json" if name == "json" else kind
        parts.append(_data(call, name, value))
    body = None
    if parts:
        body = "".join(parts) if kind == "application/json" else "&".join(parts)
    headers = {"User-Agent": options.value("user-agent") or f"curl/{VERSION}", "Accept": "*/*"}
    if body is not None:
        headers["Content-Type"] = kind
        if kind == "application/json":
            headers["Accept"] = kind
    if (user := options.value("user")) is not None:
        text = user if ":" in user else f"{user}:"
        headers["Authorization"] = f"Basic {b64encode(text.encode()).decode()}"
    if (token := options.value("oauth2-bearer")) is not None:
        headers["Authorization"] = f"Bearer {token}"
    if (referer := options.value("referer")) is not None:
        headers["Referer"] = referer
    for _, line in options.all("header"):
        name, colon, text = line.partition(":")
        known = next((one for one in headers if one.lower() == name.strip().lower()), name.strip())
        if text.strip():
            headers[known] = text.strip()
        elif colon:
            headers.pop(known, None)
    method = "HEAD" if "head" in options.flags else "POST" if body is not None else "GET"
    return options.value("request") or method, body, headers


def _data(call: Invocation, name: str, value: str) -> str:
    if name == "data-urlencode":
        key, equals, text = value.partition("=")
        if not equals:
            return quote_plus(value)
        return f"{key}={quote_plus(text)}" if key else quote_plus(text)
    if not value.startswith("@") or name == "data-raw":
        return value
    if value == "@-":
        text = call.stdin or ""
    else:
        try:
            text = call.files.read(call.path(value[1:])).decode(errors="replace")
        except OSError:
            text = ""
    return text if name in ("data-binary", "json") else text.replace("\r", "").replace("\n", "")


def _exchange(
    call: Invocation, options: CurlOptions, done: Transfer, headers: dict[str, str], body: str | None
) -> Transfer:
    """Make one request."""
    try:
        parts = urlsplit(done.url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return done.failed(3, "URL using bad/illegal format or missing URL")
    if parts.scheme not in ("http", "https"):
        return done.failed(1, f'Protocol "{parts.scheme}" not supported or disabled in libcurl')
    if not host or re.search(r"[\s\x00-\x1f]", done.url):
        return done.failed(3, "URL using bad/illegal format or missing URL")
    port = port or (443 if parts.scheme == "https" else 80)
    address = resolved(call, host)
    if address is None:
        return done.failed(6, f"Could not resolve host: {host}")
    done.address, done.port = address, port
    limit = min(one for one in (options.number("max-time"), options.number("connect-timeout"), _CONNECT) if one)
    machine = machine_at(call, address)
    if machine is None:
        call.sleep(limit)
        done.seconds += limit
        return done.failed(
            28, f"Failed to connect to {host} port {port} after {int(limit * 1000)} ms: Timeout was reached"
        )
    there = listener(call, machine, port)
    if there is None:
        return done.failed(7, f"Failed to connect to {host} port {port} after 0 ms: Couldn't connect to server")
    if parts.scheme == "https":
        return done.failed(35, "OpenSSL/3.0.15: error:0A00010B:SSL routines::wrong version number")
    named = host if port == 80 else f"{host}:{port}"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"Host": named, **headers, **({} if body is None else {"Content-Length": str(len(body.encode()))})}
    response = there.answered(HttpRequest(done.method, target, sent, body or ""))
    if response is None:
        if there.service == "sshd":
            return done.failed(1, "Received HTTP/0.9 when not allowed")
        return done.failed(52, "Empty reply from server")
    most = options.number("max-time")
    waits = response.takes
    if most and done.seconds + waits > most:
        call.sleep(most - done.seconds)
        done.seconds = most
        return done.failed(28, f"Operation timed out after {int(most * 1000)} milliseconds with 0 bytes received")
    if waits:
        call.sleep(waits)
        done.seconds += waits
    done.response = response
    done.trace.append(verbose_lines(host, address, port, f"{done.method} {target}", sent, response))
    return done
