"""The tools of a search world: searching, opening pages, the notebook, and the toolsets in which they come."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from small_web import FERRIES, PORTS, small_world

from simtrain.contracts.request import Request
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.search.engine.concealed import Concealed
from simtrain.worlds.search.engine.snippets import snippet
from simtrain.worlds.search.spec.view import Upkeep, View
from simtrain.worlds.search.state import SearchState
from simtrain.worlds.search.world import SearchWorld

QUAY = "https://ports.isles.example/ports/velmora-quay"


def call(state: SearchState, tool: str, **arguments: object) -> Observation:
    """The reply of a tool; its structured content must fit the schema that the tool declares."""
    spec = next(spec for spec in state.world.tools if spec.name == tool)
    assert validator(spec.input_schema).is_valid(arguments), arguments
    said = state.answer(Request(spec, dict(arguments), 0, 0))
    if spec.output_schema is not None and not said.is_error:
        assert said.content is not None
        validator(spec.output_schema).validate(said.content)
    return said


def content(observation: Observation) -> JsonObject:
    assert observation.content is not None, observation.text
    return observation.content


@pytest.fixture
def state(tmp_path: Path) -> SearchState:
    return small_world(tmp_path).open()


# Searching


def test_a_search_says_url_title_snippet_and_date_in_text_and_in_structure(state: SearchState) -> None:
    said = call(state, "web_search", query="harbourmaster of Velmora Quay")
    first = content(said)["results"][0]
    assert first["url"] == QUAY and first["date"] == "2130-03-01"
    assert "The harbourmaster is Isra Tolbane" in first["snippet"]
    assert f"1. [{first['title']}]({QUAY})\nDate published: 2130-03-01\n{first['snippet']}" in said.text


def test_several_queries_are_answered_as_each_alone(state: SearchState) -> None:
    both = content(call(state, "web_search", queries=["Brine Heron speed", "Dranhollow"]))["searches"]
    alone = [content(call(state, "web_search", query=query)) for query in ("Brine Heron speed", "Dranhollow")]
    assert both == alone


def test_a_search_takes_query_or_queries(state: SearchState) -> None:
    assert call(state, "web_search").is_error
    assert call(state, "web_search", query="a", queries=["b"]).is_error


def test_a_site_can_be_asked_for(state: SearchState) -> None:
    urls = [
        item["url"]
        for item in content(call(state, "web_search", query="site:gazette.isles.test harbour berths"))["results"]
    ]
    assert urls and all(url.startswith("https://gazette.isles.test/") for url in urls)
    assert content(call(state, "web_search", query="site:nowhere.test harbour"))["results"] == []


def test_a_search_without_results_says_so(state: SearchState) -> None:
    said = call(state, "web_search", query="zyzzyva")
    assert content(said)["results"] == [] and "found no results" in said.text and not said.is_error


# Snippets

GOLD = [name for _, name, *_ in PORTS] + [master for _, _, master, *_ in PORTS] + [berths for *_, berths in PORTS]
QUERIES = [
    "harbourmaster of Velmora Quay",
    "berths Dranhollow opened",
    "Pell Harbour",
    "ferry passengers speed knots",
    "ports of the isles",
]


def snippets(state: SearchState) -> list[str]:
    return [item["snippet"] for query in QUERIES for item in content(call(state, "web_search", query=query))["results"]]


def test_a_teasing_snippet_states_no_fact_at_all(tmp_path: Path) -> None:
    """So that what is left out does not tell what the question is about, either."""
    teased = " ".join(snippets(small_world(tmp_path, snippets="tease").open()))
    told = [str(value) for row in (*PORTS, *FERRIES) for value in row[1:] if isinstance(value, str) or value > 9]
    assert len(teased.split()) > 100
    for value in told:
        assert value not in teased


def test_a_teasing_snippet_states_no_gold_cell_though_no_statement_covers_it(tmp_path: Path) -> None:
    """`season` and `register` are plain prose on these pages; as gold cells they must not be told either."""
    state = small_world(tmp_path, snippets="tease").open()
    assert any("season" in said for said in snippets(state)) and any("register" in said for said in snippets(state))
    state.conceal([*GOLD, "Season", "The register", 2130], question="q1")
    concealed = Concealed.of([*GOLD, "Season", "The register", 2130])
    assert all(concealed.stated_in(said) == [] for said in snippets(state))
    assert not any("season" in said.lower() for said in snippets(state))


def test_what_is_concealed_is_found_in_other_spellings() -> None:
    concealed = Concealed.of(["Velmora Quay", 1280, "12,500", "", None, True, "a"])
    assert concealed.stated_in("at VELMORA QUAY, 1,280.0 berths and 12500 crates, a mole") == [
        "VELMORA QUAY",
        "a",
        "1,280.0",
        "12500",
    ]
    assert concealed.stated_in("Velmora Quays had 12801 berths") == []
    assert concealed.left_out("Velmora Quay has 1,280 berths") == "… has … berths"


def test_normal_and_full_snippets_come_from_the_page(tmp_path: Path) -> None:
    for leak in ("normal", "full"):
        state = small_world(tmp_path, snippets=leak).open()
        state.conceal(GOLD, question="q1")
        found = content(call(state, "web_search", query="Brine Heron passengers speed"))["results"][0]["snippet"]
        assert "passengers · 640" in found


def test_shares_of_snippets_are_drawn_by_the_question(tmp_path: Path) -> None:
    world = small_world(tmp_path, snippets={"tease": 1, "full": 2})
    told: list[bool] = []
    for number in range(90):
        state = world.open()
        state.conceal([], question=f"q{number}")
        results = [content(call(state, "web_search", query=query))["results"][0]["snippet"] for query in QUERIES[:3]]
        stated = [any(str(cell) in said for cell in GOLD) for said in results]
        assert all(stated) or not any(stated), "one question, one leak"
        told.append(stated[0])
    assert 45 < sum(told) < 75
    again = world.open()
    again.conceal([], question="q0")
    assert any(str(cell) in snippets(again)[0] for cell in GOLD) is told[0]


# Opening pages


def test_a_page_reads_the_same_twice_and_however_its_address_is_written(state: SearchState) -> None:
    page = call(state, "web_extractor", url=QUAY)
    assert content(page)["content"].startswith("# Velmora Quay") and "(https://ports.isles.example/ports)" in page.text
    for written in (
        QUAY,
        "ports.isles.example/ports/velmora-quay/",
        f"http://www.{QUAY.removeprefix('https://')}#top",
        f" <{QUAY}> ",
    ):
        assert call(state, "web_extractor", url=written) == page


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://ports.isles.example/ports/nowhere", "404 Not Found"),
        ("https://velmora.example/", "the name velmora.example could not be resolved"),
        ("https://ports.isles.example/archive/ports/velmora-quay", "404 Not Found"),
        ("http://[::1", "this is not a URL"),
        ("velmora quay", "this is not a URL"),
        ("javascript:alert(1)", "this is not a URL"),
        ("file:///etc/passwd", "this is not a URL"),
        ("https://" + "x" * 3000 + ".example", "this is not a URL"),
        ("'; drop table _pages; --", "this is not a URL"),
        ("https://ports.isles.example/ports/\x00", "404 Not Found"),
    ],
)
def test_what_cannot_be_opened_says_why(state: SearchState, url: str, said: str) -> None:
    found = call(state, "web_extractor", url=url)
    assert found.is_error and found.text == f"Could not open {url}: {said}"


def kept(tmp_path: Path, **shares: float) -> SearchWorld:
    return small_world(tmp_path, sites={"authority": {"delay": "45s", **shares}})


def test_dead_pages_are_gone_and_only_those_of_their_site(tmp_path: Path) -> None:
    state = kept(tmp_path, dead=1).open()
    assert call(state, "web_extractor", url=QUAY).text.endswith("410 Gone")
    assert not call(state, "web_extractor", url="https://wiki.isles.example/brine-heron").is_error


def test_moved_pages_are_found_at_their_new_address_and_can_be_asked_for_there(tmp_path: Path) -> None:
    state = kept(tmp_path, moved=1).open()
    moved = content(call(state, "web_extractor", url=QUAY))
    assert moved["url"] == "https://ports.isles.example/archive/ports/velmora-quay"
    assert content(call(state, "web_extractor", url=moved["url"])) == moved


def test_behind_a_paywall_only_the_beginning_is_to_be_read(tmp_path: Path) -> None:
    text = call(kept(tmp_path, paywall=1).open(), "web_extractor", url=QUAY).text
    assert "# Velmora Quay" in text and "Subscribe" in text and "harbourmaster" not in text


def test_slow_pages_take_virtual_time(tmp_path: Path) -> None:
    state = kept(tmp_path, slow=1).open()
    before = state.clock.moment
    page = call(state, "web_extractor", url=QUAY)
    assert state.clock.moment - before == 45 and "Isra Tolbane" in page.text


def test_broken_pages_hold_nothing_of_their_content(tmp_path: Path) -> None:
    text = call(kept(tmp_path, broken=1).open(), "web_extractor", url=QUAY).text
    assert "enable JavaScript" in text and "Isra" not in text


def test_conditions_come_in_their_shares_and_stay() -> None:
    upkeep = Upkeep(dead=0.1, moved=0.2, paywall=0.1, slow=0.1, broken=0.1)
    found = [upkeep.condition(7, f"https://a.test/{number}") for number in range(5000)]
    assert found == [upkeep.condition(7, f"https://a.test/{number}") for number in range(5000)]
    assert found != [upkeep.condition(8, f"https://a.test/{number}") for number in range(5000)]
    for condition, share in (
        ("dead", 0.1),
        ("moved", 0.2),
        ("paywall", 0.1),
        ("slow", 0.1),
        ("broken", 0.1),
        ("sound", 0.4),
    ):
        assert abs(found.count(condition) / 5000 - share) < 0.02


def test_long_documents_come_in_parts_that_hold_every_line_once(tmp_path: Path) -> None:
    long = "\n".join(f"Line {number} of the register of moorings, one of very many." for number in range(400))
    world = small_world(tmp_path, page_words=500)
    state = world.open()
    world.web.page_at = lambda *_: world.web.page(1).__class__(1, 1, QUAY, "Register", None, long)  # type: ignore[method-assign]
    first = content(call(state, "web_extractor", url=QUAY))
    parts = [
        content(call(state, "web_extractor", url=QUAY, page=number))["content"]
        for number in range(1, first["pages"] + 1)
    ]
    assert first["pages"] > 5 and "\n".join(parts) == long
    assert all(len(part.split()) <= 500 for part in parts)
    beyond = call(state, "web_extractor", url=QUAY, page=first["pages"] + 1)
    assert beyond.is_error and beyond.text.endswith(f"the page has {first['pages']} parts, not {first['pages'] + 1}")
    asked = content(call(state, "web_extractor", url=QUAY, goal="line 377"))["content"]
    assert "Line 377 of" in asked and "[...]" in asked and len(asked.split()) < 520


# The notebook


def test_the_notebook_has_six_operations(state: SearchState) -> None:
    def remember(operation: str, **given: str) -> Observation:
        return call(state, "dict_memory", operation=operation, **given)

    assert remember("add", key="quay", value="Isra Tolbane").text == "Noted 'quay'."
    remember("add", key="hollow", value="?")
    assert remember("update", key="hollow", value="Oswin Karvel").text == "Noted 'hollow'."
    assert remember("retrieve", key="hollow").text == "Oswin Karvel"
    assert content(remember("retrieve_all"))["notes"] == {"quay": "Isra Tolbane", "hollow": "Oswin Karvel"}
    assert remember("remove", key="quay").text == "Removed 1."
    assert content(remember("retrieve_all"))["notes"] == {"hollow": "Oswin Karvel"}
    assert remember("remove_all").text == "Removed 1." and remember("retrieve_all").text == "The memory is empty."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"operation": "add", "key": "a"}, "'add' needs the argument 'value'."),
        ({"operation": "retrieve"}, "'retrieve' needs the argument 'key'."),
        ({"operation": "retrieve", "key": "b"}, "There is no key 'b'. Known keys: 'a'."),
        ({"operation": "update", "key": "b", "value": "x"}, "There is no key 'b'. Known keys: 'a'."),
        ({"operation": "remove", "key": "b"}, "There is no key 'b'. Known keys: 'a'."),
        (
            {"operation": "add", "key": "a", "value": "x"},
            "The key 'a' is already taken; use 'update' to change its value.",
        ),
    ],
)
def test_the_notebook_refuses_what_makes_no_sense(state: SearchState, given: JsonObject, said: str) -> None:
    call(state, "dict_memory", operation="add", key="a", value="1")
    refused = call(state, "dict_memory", **given)
    assert refused.is_error and refused.text == said and state.memory.notes == {"a": "1"}


# Toolsets


def test_every_toolset_finds_the_page_and_reads_it(tmp_path: Path) -> None:
    asked: dict[str, tuple[tuple[str, JsonObject], tuple[str, JsonObject]]] = {
        "web": (("web_search", {"query": "Velmora Quay"}), ("web_extractor", {"url": QUAY, "goal": "harbourmaster"})),
        "widesearch": (
            ("search_global", {"query": "Velmora Quay", "count": 3}),
            ("text_browser_view", {"url": QUAY, "description": "berths"}),
        ),
        "serper": (
            ("google_search", {"q": "Velmora Quay", "gl": "us"}),
            ("scrape", {"url": QUAY, "includeMarkdown": True}),
        ),
        "tavily": (
            ("tavily_search", {"query": "Velmora Quay"}),
            ("tavily_extract", {"urls": [QUAY, "https://x.test"]}),
        ),
        "brave": (("brave_web_search", {"query": "Velmora Quay"}), ("fetch", {"url": QUAY})),
        "mcp": (("search", {"query": "Velmora Quay"}), ("fetch", {"id": QUAY})),
    }
    for name, calls in asked.items():
        state = small_world(tmp_path, tools=[name]).open()
        assert [tool.name for tool in state.world.tools] == [tool for tool, _ in calls]
        found, opened = (call(state, tool, **arguments) for tool, arguments in calls)
        assert QUAY in found.text and "Isra Tolbane" in opened.text, name


def test_the_replies_have_the_shapes_of_the_services(tmp_path: Path) -> None:
    serper = small_world(tmp_path, tools=["serper"]).open()
    said = call(serper, "google_search", q="harbour", num=2, page=2)
    assert json.loads(said.text) == content(said)
    assert [item["position"] for item in content(said)["organic"]] == [3, 4] and content(said)["searchParameters"][
        "q"
    ] == "harbour"
    tavily = small_world(tmp_path, tools=["tavily"]).open()
    searched = content(
        call(tavily, "tavily_search", query="harbour", include_domains=["isles.test"], include_raw_content=True)
    )
    assert searched["results"] and all(
        "gazette.isles.test" in item["url"] and item["raw_content"] for item in searched["results"]
    )
    read = content(call(tavily, "tavily_extract", urls=[QUAY, "https://x.test"]))
    assert [item["url"] for item in read["results"]] == [QUAY] and read["failed_results"][0]["url"] == "https://x.test"
    brave = small_world(tmp_path, tools=["brave"]).open()
    blocks = call(brave, "brave_web_search", query="harbour", count=2).text.split("\n\n")
    assert [block.split("\n")[0][:7] for block in blocks] == ["Title: ", "Title: "]
    cut = call(brave, "fetch", url=QUAY, max_length=40).text
    assert "start_index of 40" in cut
    rest = call(brave, "fetch", url=QUAY, start_index=40).text
    whole = call(brave, "fetch", url=QUAY).text
    assert cut.partition("\n\n<error>")[0] + rest.partition(":\n")[2] == whole


def test_searches_are_narrowed_by_the_arguments_that_the_services_take(tmp_path: Path) -> None:
    today = small_world(tmp_path, tools=["tavily"]).open().today
    assert today == "2130-05-01"

    def urls(toolset: str, tool: str, **arguments: object) -> list[str]:
        said = call(small_world(tmp_path, tools=[toolset]).open(), tool, **arguments)
        assert not said.is_error, said.text
        return re.findall(r"https://[^\s\"]+", said.text)

    def news(found: list[str]) -> bool:
        return bool(found) and all("gazette" in url for url in found)

    assert news(urls("tavily", "tavily_search", query="harbour berths", time_range="month"))
    assert news(urls("tavily", "tavily_search", query="harbour berths", start_date="2130-03-02", topic="general"))
    assert not news(urls("tavily", "tavily_search", query="harbour berths", end_date="2130-03-02"))
    assert news(urls("serper", "google_search", q="harbour berths", gl="us", hl="en", tbs="qdr:m"))
    assert news(urls("serper", "google_search", q="harbour berths", site="isles.test"))
    assert news(urls("serper", "google_search", q="harbour berths", intitle="quiet season", exclude="nothing,at all"))
    assert news(urls("serper", "google_search", q="harbour berths", after="2130-03-02"))
    assert news(urls("serper", "google_search", q="harbour", exact="traffic stays calm", inurl="/season/"))
    assert not urls("serper", "google_search", q="harbour", exclude="harbour")
    assert news(urls("brave", "brave_web_search", query="harbour berths", freshness="pm", country="US"))
    assert news(urls("brave", "brave_web_search", query="harbour berths", freshness="2130-03-02to2130-05-01"))
    first, *_ = urls("serper", "google_search", q="harbour berths", site="isles.test", num=1)
    second, *_ = urls("serper", "google_search", q="harbour berths", site="isles.test", num=1, page=2)
    assert first != second


@pytest.mark.parametrize(
    ("toolset", "tool", "given"),
    [
        ("tavily", "tavily_search", {"query": "a", "start_date": "last week"}),
        ("serper", "google_search", {"q": "a", "before": "2130-13-01"}),
        ("brave", "brave_web_search", {"query": "a", "freshness": "todayto2130-01-01"}),
    ],
)
def test_a_day_that_is_none_is_refused(tmp_path: Path, toolset: str, tool: str, given: JsonObject) -> None:
    said = call(small_world(tmp_path, tools=[toolset]).open(), tool, **given)
    assert said.is_error and "must be a day, YYYY-MM-DD, not" in said.text


def test_the_benchmarks_own_search_tells_numbered_sections_and_longer_summaries(tmp_path: Path) -> None:
    state = small_world(tmp_path, tools=["widesearch"]).open()
    said = call(state, "search_global", query="Velmora Quay", count=2, summary_type="short", use_english=True)
    first, second = said.text.split("\n\n")
    assert [line.partition("]")[0] + "]" for line in first.split("\n")[:5]] == [
        "[index]", "[title]", "[datePublished]", "[siteName]", "[Url]",
    ]  # fmt: skip
    assert second.startswith("[index] 2\n") and "\n[snippt] " in first
    longer = call(state, "search_global", query="Velmora Quay", count=2, summary_type="long")
    assert longer.text.startswith(first.partition("[snippt]")[0])
    body = " ".join(f"Line {number} tells of the quay." for number in range(60))
    passages = [
        snippet(body, query=["quay"], leak="tease", statements=(), concealed=Concealed.of(["quay"]), long=long)
        for long in (False, True)
    ]
    assert [len(passage.split()) for passage in passages] == [31, 91] and "quay" not in passages[1]


@pytest.mark.parametrize("toolset", ["widesearch", "serper", "tavily", "brave"])
def test_arguments_that_real_servers_pass_over_are_passed_over(tmp_path: Path, toolset: str) -> None:
    for tool in small_world(tmp_path, tools=[toolset]).tools:
        assert tool.input_schema.get("additionalProperties", True) is True


def test_a_page_that_cannot_be_fetched_says_so_as_the_reference_server_does(tmp_path: Path) -> None:
    state = small_world(tmp_path, tools=["brave"]).open()
    missing = QUAY.replace("velmora", "nowhere")
    assert call(state, "fetch", url=missing).text == f"Failed to fetch {missing} - status code 404"
    assert call(state, "fetch", url="https://x.test/a").text.startswith("Failed to fetch https://x.test/a: ")
    text = call(small_world(tmp_path, tools=["tavily"]).open(), "tavily_extract", urls=[QUAY], format="text").text
    assert "\nRaw Content: Velmora Quay\n" in text


def test_tools_arguments_and_fields_are_renamed_in_yaml(tmp_path: Path) -> None:
    rename = {
        "web_search": {
            "as": "find", "description": "Find pages.", "arguments": {"query": "q"}, "results": {"snippet": "body", "url": "href"},
            "text": "{% for item in results %}{{ item.href }} {% endfor %}",
        }
    }  # fmt: skip
    state = small_world(tmp_path, tools=[{"use": "web", "rename": rename}]).open()
    assert [tool.name for tool in state.world.tools] == ["find", "web_extractor"]
    said = call(state, "find", q="Velmora Quay")
    assert content(said)["results"][0]["href"] == QUAY and "body" in content(said)["results"][0]
    assert said.text.split()[0] == QUAY


def test_views_are_read_from_yaml_words() -> None:
    assert [use.use for use in View.model_validate({"tools": ["web", {"use": "memory"}]}).tools] == ["web", "memory"]
