"""A search world as a web site: read by a real HTTP client and by a real browser, safely, under paths and under names."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from browsers import need_chromium
from small_web import small_world, write_small_web

from simtrain.values.errors import InputError
from simtrain.view.search_site.html import article
from simtrain.view.search_site.site import browsing
from simtrain.worlds.search.built import built_world
from simtrain.worlds.search.engine.web import Site
from simtrain.worlds.search.world import SearchWorld

pytestmark = pytest.mark.slow


class Read(HTMLParser):
    """What a browser would find in a document: its text, links and elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.links, self.tags = "", list[str](), set[str]()
        self._skip = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._skip = tag in ("style", "title")
        self.links += [value for name, value in attrs if name == "href" and value and tag == "a"]

    def handle_data(self, data: str) -> None:
        self.text += "" if self._skip else data


@pytest.fixture
def world(tmp_path: Path) -> SearchWorld:
    return small_world(tmp_path)


@pytest.fixture
async def client(world: SearchWorld) -> AsyncGenerator[httpx.AsyncClient]:
    async with browsing(world) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_the_front_page_leads_to_every_page_by_links(client: httpx.AsyncClient, world: SearchWorld) -> None:
    request_handler = Read((await client.get("/")).text)
    assert request_handler.links[1:] == [f"/{site.domain}/" for site in world.web.sites]
    listed = await client.get("/ports.isles.example/ports")
    assert listed.status_code == 200
    read = Read(listed.text)
    assert "Velmora Quay" in read.text
    assert "/ports.isles.example/ports/velmora-quay" in read.links
    page = Read((await client.get("/wiki.isles.example/brine-heron")).text)
    assert {"h1", "table", "td"} <= page.tags
    assert "21.5 knots" in page.text
    assert "/wiki.isles.example/velmora-quay" in page.links


async def test_a_site_lies_under_its_own_name_by_the_host_header(client: httpx.AsyncClient) -> None:
    port = str(client.base_url).rstrip("/").rpartition(":")[2]
    for host, other in (
        ("ports.isles.example", f"http://gazette.isles.test:{port}"),
        ("ports.isles.example.localhost", f"http://gazette.isles.test.localhost:{port}"),
    ):
        page = await client.get("/ports", headers={"host": f"{host}:{port}"})
        assert "/ports/velmora-quay" in Read(page.text).links
        found = await client.get("/-/search?q=harbour", headers={"host": f"{host}:{port}"})
        links = [link for link in Read(found.text).links if link != "/"]
        assert links
        assert all(link.startswith("/ports") for link in links)
        assert other not in found.text
    assert (await client.get("/", headers={"host": "evil.example"})).status_code == 421


async def test_the_search_page_finds_pages_as_the_agents_tool_does(
    client: httpx.AsyncClient, world: SearchWorld
) -> None:
    due = world.open().search("harbourmaster Dranhollow", count=10)
    page = Read((await client.get("/-/search", params={"q": "harbourmaster Dranhollow"})).text)
    assert due[0].title in page.text
    assert due[0].url in page.text
    answer = (await client.get("/-/search", params={"q": "harbourmaster Dranhollow", "format": "json"})).json()
    assert [row["url"] for row in answer["results"]] == [one.url for one in due]
    assert "Nothing was found" in (await client.get("/-/search", params={"q": "xyzzy"})).text
    assert (await client.get("/-/search")).status_code == 200


async def test_the_words_of_a_search_are_marked_in_what_it_finds(client: httpx.AsyncClient) -> None:
    page = await client.get("/-/search", params={"q": "DRANHOLLOW <b>"})
    assert "<mark>Dranhollow</mark>" in page.text
    assert "Results 1 to " in page.text
    assert "<b>The Isles Gazette</b> https://gazette.isles.test/" in page.text


async def test_every_site_has_the_look_of_its_kind_and_a_colour_of_its_own(
    client: httpx.AsyncClient, world: SearchWorld
) -> None:
    looks = {
        site.name: re.findall(r'<body class="(\w+) (c\d)">', (await client.get(f"/{site.domain}/x")).text, re.ASCII)[0]
        for site in world.web.sites
    }
    assert {name: look for name, (look, _) in looks.items()} == {
        "authority": "office",
        "gazette": "news",
        "wiki": "wiki",
    }
    assert len({colour for _, colour in looks.values()}) == 3
    sheet = await client.get("/-/style.css", headers={"host": "wiki.isles.example"})
    assert sheet.headers["content-type"].startswith("text/css")
    assert all(f".{name}" in sheet.text for look in looks.values() for name in look)


async def test_a_site_without_a_front_page_says_where_its_pages_are(client: httpx.AsyncClient) -> None:
    root = await client.get("/gazette.isles.test/")
    assert root.status_code == 404
    assert "/gazette.isles.test/season/dranhollow" in Read(root.text).links


def test_columns_of_amounts_are_aligned_and_labelled_lists_are_facts() -> None:
    table = "| a | b | c |\n|---|---|---|\n| x | ₮3,550 | 2031-05-20 |\n| 4 y z 5 | – | 2031-05-21 |\n\n"
    markdown = f"{table}- **Seats:** 12\n- **Hall:** [x](/x)\n\n- **Seats:** 1\n- one\n"
    html = article("t", markdown, url="https://a.example/", local=lambda url: url)
    assert html.count('class="number"') == 3
    assert '<td class="number">₮3,550</td>' in html
    assert html.count('class="facts"') == 0
    labelled = article("t", markdown.rpartition("- **Seats:** 1")[0], url="https://a.example/", local=lambda url: url)
    assert labelled.count('<ul class="facts">') == 1


def test_a_thread_is_shown_post_by_post() -> None:
    forum = Site(4, "lounge", "lounge.test", "The Lounge", "forum")
    markdown = "Before.\n\n**anna:** One.\n\n- of it\n\n**<b>:** Two."
    html = article("t", markdown, url="https://lounge.test/", local=lambda url: url, site=forum, date="2131-04-09")
    assert html.count('<section class="post">') == 2
    assert html.index("Before.") < html.index("<section")
    assert html.index("of it") < html.rindex("<section")
    assert "<b>" not in html
    assert "9 April 2131" in html
    office = Site(4, "office", "office.test", "The Office", "official")
    assert "section" not in article("t", markdown, url="https://lounge.test/", local=lambda url: url, site=office)


async def test_what_is_not_there_is_404_and_says_so(client: httpx.AsyncClient) -> None:
    for path in (
        "/ports.isles.example/nowhere",
        "/elsewhere.example/",
        "/x",
        "/%00",
        "/ports.isles.example/%ff",
        "/..%2f",
    ):
        answer = await client.get(path)
        assert answer.status_code == 404
        assert "404 Not Found" in answer.text
    assert (await client.post("/")).status_code == 405


async def test_dead_moved_and_paid_pages_are_what_a_browser_gets(tmp_path: Path) -> None:
    upkeep = {"authority": {"dead": 1}, "gazette": {"moved": 1}, "wiki": {"paywall": 1}}
    async with browsing(small_world(tmp_path, sites=upkeep)) as url, httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/ports.isles.example/ports")).status_code == 410
        moved = await client.get("/gazette.isles.test/season/dranhollow")
        assert (moved.status_code, moved.headers["location"]) == (301, "/gazette.isles.test/archive/season/dranhollow")
        followed = await client.get(moved.headers["location"])
        assert (followed.status_code, "Oswin Karvel" in followed.text) == (200, True)
        paid = await client.get("/wiki.isles.example/brine-heron")
        assert "Subscribe to read the whole page" in paid.text
        assert "The ferry sails from" not in paid.text


async def test_documents_allow_no_script_and_no_other_origin(client: httpx.AsyncClient) -> None:
    answer = await client.get("/ports.isles.example/ports")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    echoed = await client.get("/-/search", params={"q": '"><script>alert(1)</script>'})
    assert "script" not in Read(echoed.text).tags


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "![x](javascript:alert(1))",
        "<javascript:alert(1)>",
        '[x](https://a.example "onmouseover=alert(1)")',
        "`<script>`",
        "| <b>a</b> |\n|---|\n| <iframe src=x> |",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ],
)
def test_markup_in_a_page_is_text(markdown: str) -> None:
    html = article("<script>t</script>", markdown, url="https://a.example/", local=lambda url: url)
    read = Read(html)
    assert read.tags <= {"h1", "p", "a", "code", "table", "thead", "tbody", "tr", "th", "td", "img"}
    assert not any(link.lower().startswith(("javascript:", "data:", "vbscript:")) for link in read.links)
    assert "<script" not in html


def test_links_go_where_the_world_is_served_and_others_stay() -> None:
    def local(url: str) -> str:
        return url.replace("https://a.example", "/a.example")

    markdown = "[one](/x) [two](y?page=2#z) [three](https://b.example/) [four](http://[bad)"
    html = article("t", markdown, url="https://a.example/dir/", local=local)
    assert Read(html).links[:3] == ["/a.example/x", "/a.example/dir/y?page=2#z", "https://b.example/"]


@pytest.mark.full
async def test_a_real_browser_reads_it_under_the_names_of_its_sites(client: httpx.AsyncClient, tmp_path: Path) -> None:
    port = str(client.base_url).rstrip("/").rpartition(":")[2]
    command = [
        await asyncio.to_thread(need_chromium),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--host-resolver-rules=MAP *.example 127.0.0.1:{port}",
        "--dump-dom",
        "http://wiki.isles.example/brine-heron",
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    out, _ = await asyncio.wait_for(process.communicate(), timeout=60)
    read = Read(out.decode())
    assert "Isles Wiki" in read.text
    assert "21.5 knots" in read.text
    assert "/velmora-quay" in read.links


def test_the_command_tells_where_it_serves_and_ends_on_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simtrain", "world", "browse", "kestrel_reach", "--port", "0", "--json"]
    environment = {**os.environ, "SIMTRAIN_CACHE": str(tmp_path)}
    process = subprocess.Popen([*command, "--pages", "60"], stdout=subprocess.PIPE, env=environment, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        home = httpx.get(told["sites"]["registry.kestrel.example"])
        assert home.status_code == 200
        assert "Registry" in home.text
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def test_a_built_file_is_browsed_without_its_yaml(tmp_path: Path) -> None:
    world = built_world(write_small_web(tmp_path / "isles.sqlite"))
    async with browsing(world) as url, httpx.AsyncClient(base_url=url) as client:
        assert "21.5 knots" in (await client.get("/wiki.isles.example/brine-heron")).text
        assert "Port Authority of the Isles" in (await client.get("/")).text
    with pytest.raises(InputError, match="cannot be written anew without its YAML"):
        world.altered("update port set berths = 1")


def test_a_world_of_another_kind_cannot_be_browsed(capsys: pytest.CaptureFixture[str]) -> None:
    from simtrain.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["world", "browse", "helpdesk"])
    assert ended.value.code == 2
    assert "'helpdesk' is a service world" in capsys.readouterr().err


async def test_a_request_whose_headers_do_not_come_is_given_up(world: SearchWorld) -> None:
    async with browsing(world, arrival=0.3) as url:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        await writer.drain()
        async with asyncio.timeout(20):
            assert b"200 OK" not in await reader.read()
        writer.close()
