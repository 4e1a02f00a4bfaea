"""The stand-in for the fetch server: a web of rows, Markdown out of HTML, what robots may not see, and the prompt."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from serving_bakery import serving

from simtrain.contracts.request import Request
from simtrain.contracts.world import World
from simtrain.mcp.serve.targets import load_target
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.argument_styles.pydantic import pydantic_strict
from simtrain.worlds.handlers import fetch as fetch_handlers
from simtrain.worlds.handlers.fetch.readability import main_part
from simtrain.worlds.handlers.fetch.tools import markdown

pytestmark = pytest.mark.slow

GAZETTE, DOCS = "https://tern-gazette.example", "https://docs.kelpdb.example"
RAW = "Content type {} cannot be simplified to markdown, but here is the raw content:\n"


def world() -> World:
    return load_world(find("worlds", "fetch")).build()


STATE = world().open()


def fetch(url: str, **arguments: Any) -> Observation:
    tool = world().tools[0]
    checked = pydantic_strict(tool.name, tool.input_schema)({"url": url, **arguments})
    assert checked.problem is None, checked.problem
    return STATE.answer(Request(tool, checked.arguments, 0, 0))


def says(url: str, **arguments: Any) -> str:
    said = fetch(url, **arguments)
    assert not said.is_error, said.text
    return said.text


def refuses(url: str) -> str:
    said = fetch(url)
    assert said.is_error, said.text
    return said.text.removeprefix("Error executing tool fetch: ")


def pages(condition: str = "true") -> list[JsonObject]:
    return world().query(f"select * from pages where {condition} order by host, path")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_fetches_with_the_tool_and_with_the_prompt(mode: str) -> None:
    async with serving(load_target("fetch")) as served, Client(f"{served.door.url}/mcp", mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["fetch"]
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["fetch"]
        reply = await client.call_tool("fetch", {"url": f"{DOCS}/reference/limits", "max_length": 30})
        assert reply.content[0].text == (
            f"Contents of {DOCS}/reference/limits:\nA file holds at most 65,535 se\n\n"
            "<error>Content truncated. Call the fetch tool with a start_index of 30 to get more content.</error>"
        )
        closed = "https://intranet.norrby.test/"
        refused = await client.call_tool("fetch", {"url": closed})
        assert (
            refused.is_error
            and "specifies that autonomous fetching of this page is not allowed" in refused.content[0].text
        )
        prompted = await client.get_prompt("fetch", {"url": closed})
        assert prompted.messages[0].content.text == "The code of the shed is 4711."
        gone = await client.get_prompt("fetch", {"url": f"{GAZETTE}/nothing"})
        assert gone.messages[0].content.text == f"Failed to fetch {GAZETTE}/nothing - status code 404"
        with pytest.raises(MCPError):
            await client.get_prompt("fetch", {})
        strict = await client.call_tool("fetch", {"url": closed, "max_length": "50"})
        assert (
            "Input should be a valid integer [type=int_type, input_value='50', input_type=str]"
            in strict.content[0].text
        )


def test_the_web_is_large_enough_and_lies_under_names_that_nobody_owns() -> None:
    hosts = {page["host"] for page in pages()}
    assert len(pages()) >= 60 and len(hosts) >= 6
    assert all(host.endswith((".example", ".test")) for host in hosts)


def test_links_lead_to_pages() -> None:
    known = {f"https://{page['host']}{page['path']}" for page in pages()}
    for page in pages("path like '/2031/%' or host = 'docs.kelpdb.example' and body like '<!doctype%'"):
        text = says(f"https://{page['host']}{page['path']}")
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert (link if link.startswith("https:") else f"https://{page['host']}{link}") in known


@pytest.mark.parametrize("page", pages("body like '%<article>%'"), ids=lambda page: f"{page['host']}{page['path']}")
def test_of_a_page_only_its_article_is_left(page: JsonObject) -> None:
    text = says(f"https://{page['host']}{page['path']}")
    site = world().query("select name, motto from sites where host = :host", {"host": page["host"]})[0]
    for beside in ("](/new)", "](/popular)", "](/about)", "window.visits", f"{site['name']}. {site['motto']}"):
        assert beside not in text
    article = page["body"].partition("</h1>")[2].partition("</article>")[0]
    words = re.findall(r"\w+", re.sub(r'<p class="byline">.*?</p>|<[^>]*>', " ", article))
    assert len(words) > 20 and set(words) <= set(re.findall(r"\w+", text.replace("\\", "")))


MARKDOWN = {
    "<h2>A  <em>b</em></h2><p>c</p>": "## A *b*\n\nc",
    "<p>a <strong>b </strong>c</p>": "a **b** c",
    "<p>one<br>two</p>": "one  \ntwo",
    "<ul><li>a<ul><li>b<ol><li>c</li></ol></li></ul></li><li>d</li></ul>": "* a\n  + b\n    1. c\n* d",
    '<ol start="4"><li>a</li><li>b</li></ol>': "4. a\n5. b",
    "<pre>  x\n  y\n</pre>": "```\n  x\n  y\n```",
    "<p>say <code>a_b*</code> and a_b*</p>": "say `a_b*` and a\\_b\\*",
    "<blockquote><p>a</p><p>b</p></blockquote>": "> a\n>\n> b",
    "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2|3</td></tr></table>": "| a | b |\n| --- | --- |\n| 1 | 2|3 |",
    "<table><tr><td>a</td></tr></table>": "|  |\n| --- |\n| a |",
    '<p><a href="/x" title="t">a</a> <a href="https://b.example">https://b.example</a> <a>c</a></p>': '[a](/x "t") <https://b.example> c',
    '<p><img src="/i.png" alt="an i"> <q>q</q></p>': '![an i](/i.png) "q"',
    "<dl><dt>a</dt><dd>b</dd></dl>": "a\n:   b",
    "<p>a<p>b<div>c</div>": "a\n\nb\n\nc",
    "<p>&lt;b&gt; &amp; &eacute;</p><hr><p>d</p>": "<b> & é\n\n---\n\nd",
}  # fmt: skip


@pytest.mark.parametrize("html", MARKDOWN)
def test_html_becomes_markdown(html: str) -> None:
    assert markdown(html) == MARKDOWN[html]


@given(st.text(alphabet="<>/ apliubrdv=\"'&;\n", max_size=200))
def test_whatever_the_html_it_is_read(html: str) -> None:
    found = main_part(html)
    assert found is None or isinstance(markdown(str(found)), str)


def test_deep_html_does_not_break_the_reader() -> None:
    found = main_part("<div>" * 2000 + "<p>the bottom, with some words, and commas</p>")
    assert found is not None and "the bottom" in markdown(str(found))


def test_without_its_extra_the_handlers_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simtrain.values.extras.find_spec", lambda name: None if name == "markdownify" else name)
    with pytest.raises(InputError) as caught:
        importlib.reload(fetch_handlers)
    assert "markdownify is needed, which is not installed" in str(caught.value)
    assert "pip install 'simtrain[fetch]'" in str(caught.value)


ROBOTS = [
    ("User-agent: *\nDisallow: /a", "/abc", False),
    ("User-agent: *\nDisallow: /a", "/b", True),
    ("User-agent: *\nDisallow: /\nAllow: /a", "/a", True),
    ("User-agent: *\nDisallow: /*.php$", "/x.php", False),
    ("User-agent: *\nDisallow: /*.php$", "/x.php?y", True),
    ("User-agent: *\nDisallow: /?q=", "/?q=1", False),
    ("User-agent: *\nAllow: /\nUser-agent: crawler\nUser-agent: ModelContextProtocol\nDisallow: /", "/a", False),
    ("User-agent: other\nDisallow: /", "/a", True),
    ("Disallow: /", "/a", True),
    ("User-agent: *\nDisallow:  # all", "/a", True),
    ("User-agent: *\nDisallow: /", "/robots.txt", True),
]


@pytest.mark.parametrize(("text", "path", "expected"), ROBOTS)
def test_the_rules_for_robots(text: str, path: str, expected: bool) -> None:
    sql = (
        "insert into pages (host, path, media_type, body) values ('norrby.example', '/robots.txt', 'text/plain', :text) "
        "on conflict do update set body = excluded.body, media_type = excluded.media_type, status = 200, location = null"
    )
    tool = world().tools[0]
    arguments = {"url": f"https://norrby.example{path}", "max_length": 5000, "start_index": 0, "raw": True}
    said = world().altered(sql, {"text": text}).open().answer(Request(tool, arguments, 0, 0))
    assert ("specifies that autonomous fetching of this page is not allowed" not in said.text) is expected


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"{GAZETTE}/nothing", f"Failed to fetch {GAZETTE}/nothing - status code 404"),
        ("https://marisol-shop.example/product/99", "Failed to fetch https://marisol-shop.example/product/99 - status code 410"),
        (f"{DOCS}/round", f"Failed to fetch {DOCS}/round: TooManyRedirects('Exceeded maximum allowed redirects.')"),
        ("https://nowhere.test/a", "Failed to fetch robots.txt https://nowhere.test/robots.txt due to a connection issue"),
        ("https://lighthouse-cam.test/", "Failed to fetch robots.txt https://lighthouse-cam.test/robots.txt due to a connection issue"),
        ("https://norrby.example:8443/", "Failed to fetch robots.txt https://norrby.example:8443/robots.txt due to a connection issue"),
        ("mailto:siv@norrby.example", "Failed to fetch robots.txt mailto:/robots.txt due to a connection issue"),
        ("http://192.168.0.1/", "Refused to fetch http://192.168.0.1/robots.txt: 192.168.0.1 resolves to 192.168.0.1, which is not "
         "a public address. Start the server with --allow-private-ips to allow private, loopback and link-local addresses."),
    ],
)  # fmt: skip
def test_what_cannot_be_fetched_is_said_in_the_servers_words(url: str, said: str) -> None:
    assert refuses(url) == said


def test_a_site_that_hides_its_rules_may_not_be_fetched() -> None:
    said = refuses("https://members.tern-gazette.example/")
    assert said.startswith(
        "When fetching robots.txt (https://members.tern-gazette.example/robots.txt), received status 401 so assuming"
    )


def test_other_content_and_raw_pages_come_as_they_are() -> None:
    assert says(f"{DOCS}/checksums.txt").startswith(
        RAW.format("text/plain; charset=utf-8") + f"Contents of {DOCS}/checksums.txt:\n9f2c"
    )
    raw = says("HTTPS://Norrby.Example/rope", raw=True)
    assert raw.startswith(
        RAW.format("text/html; charset=utf-8") + "Contents of https://norrby.example/rope:\n<!doctype html>"
    )


def test_redirects_are_followed_and_the_address_asked_for_is_named() -> None:
    there = says(f"{GAZETTE}/2031/02/ferry-line-returns")
    assert says(f"{GAZETTE}/ferry").replace("/ferry:", "/2031/02/ferry-line-returns:") == there
    assert says("http://tern-gazette.example/ferry#top").partition("\n")[2] == there.partition("\n")[2]


def test_a_page_that_only_a_browser_could_show_has_nothing_to_say() -> None:
    assert says("https://status.kelpdb.example/app").endswith("\n<error>Page failed to be simplified from HTML</error>")
    assert says(f"{DOCS}/", start_index=100_000).endswith("\n<error>No more content available.</error>")


@pytest.mark.full
@given(length=st.integers(40, 900))
def test_the_parts_of_a_page_make_the_whole(length: int) -> None:
    url = f"{GAZETTE}/2031/01/storm-in-figures"
    whole, parts, start = says(url), "", 0
    while True:
        part = says(url, max_length=length, start_index=start).partition("\n")[2]
        text, cut, rest = part.partition("\n\n<error>Content truncated. Call the fetch tool with a start_index of ")
        parts += text
        if not cut:
            break
        start = int(rest.partition(" ")[0])
        assert len(text) == length
    assert parts == whole.partition("\n")[2]
