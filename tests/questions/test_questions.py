"""Questions over search worlds: distinct, unambiguous, reachable, measured, and the same for the same seed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from question_web import question_world

from simtrain.agents.searching.asked import read_question
from simtrain.contracts.question import Column, HandwrittenFamily, Question, QuestionSet, gold_csv
from simtrain.questions.asking import made_questions, read_questions
from simtrain.questions.composing import Bounds
from simtrain.questions.distances import lookalikes
from simtrain.questions.gathering import gather, names_in
from simtrain.questions.making import Made, QuestionMaker
from simtrain.questions.paths import FactUnreachable, Finder
from simtrain.questions.schema import WorldSchema
from simtrain.questions.solving import Solver
from simtrain.questions.sql_reading import joins, loosened
from simtrain.questions.stating import Needed
from simtrain.questions.widesearch.cells import agree
from simtrain.questions.wordings import wordings
from simtrain.questions.written import written_questions
from simtrain.values.errors import InputError
from simtrain.values.passages import find_passage, read_amount, read_day
from simtrain.worlds.search.world import SearchWorld

pytestmark = pytest.mark.slow

COUNT = 120


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SearchWorld:
    return question_world(tmp_path_factory.mktemp("reach"))


@pytest.fixture(scope="module")
def made(world: SearchWorld) -> list[Made]:
    return list(QuestionMaker(world, bounds=Bounds(rows=(3, 30)), seed=3).make(COUNT))


def edits(first: str, second: str) -> int:
    """The edit distance, by the textbook."""
    row = list(range(len(second) + 1))
    for place, letter in enumerate(first, 1):
        before, row[0] = row[0], place
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != other))
    return row[-1]


def test_as_many_questions_are_made_as_are_wanted_and_no_two_ask_the_same(made: list[Made]) -> None:
    assert len(made) == COUNT
    assert len({(item.question.sql, str(item.question.parameters)) for item in made}) == COUNT
    assert len({item.question.query for item in made}) == COUNT
    assert len({item.question.id for item in made}) == COUNT


def test_the_same_seed_gives_the_same_questions_and_another_seed_others(world: SearchWorld, made: list[Made]) -> None:
    for first, second in zip(QuestionMaker(world, seed=8).make(12), QuestionMaker(world, seed=8).make(12), strict=True):
        assert first.question.model_dump_json() == second.question.model_dump_json()
    other = {item.question.query for item in QuestionMaker(world, seed=4).make(40)}
    assert len(other & {item.question.query for item in made}) < 4


def test_a_skeleton_keeps_what_the_sql_does_and_no_name(made: list[Made]) -> None:
    seen: set[str] = set()
    for item in made:
        sql = re.sub(r'"[^"]*"|:\w+', "", str(item.question.sql))
        for word in ("limit", "avg", "count", "group", "left", "exists", "order"):
            there = re.search(rf"(?<![\w.]){word}(?![\w.])", sql) is not None
            assert (word in item.question.skeleton.split()) is there, (word, item.question.skeleton, sql)
            seen |= {word} if there else set()
    assert {"limit", "count", "exists", "order"} <= seen


def test_no_sql_skeleton_has_more_than_its_share(made: list[Made]) -> None:
    counts = Counter(item.question.skeleton for item in made)
    assert len(counts) >= 25
    assert max(counts.values()) <= COUNT * 0.1


def test_most_answers_are_not_readable_from_one_page(made: list[Made]) -> None:
    tables = [item.question.difficulty for item in made if item.question.answer != "unanswerable"]
    assert sum(one.pages > 1 for one in tables) >= len(tables) / 2


def test_gold_tables_are_within_the_bounds_and_have_unique_keys(world: SearchWorld, made: list[Made]) -> None:
    for item in made:
        question = item.question
        gold = question.gold(world.query)
        assert gold == item.gold
        if question.answer == "table":
            assert 3 <= len(gold) <= 30
            keys = [tuple(row[name].casefold() for name in question.key) for row in gold]
            assert len(set(keys)) == len(keys)
        elif question.answer == "single":
            assert len(gold) == 1


def test_names_in_one_question_are_at_least_two_edits_apart(made: list[Made]) -> None:
    for item in made[:50]:
        names = {name.casefold() for name in names_in(item.question, item.gold)}
        assert all(edits(first, second) >= 2 for first, second in combinations(sorted(names), 2))


def test_lookalikes_are_found_as_the_edit_distance_says() -> None:
    names = ["Velmora", "Velmara", "Velmor", "Dranhollow", "Dranholow", "Pell", "Pells", "Osk", "Kos"]
    for first, second in combinations(names, 2):
        assert (lookalikes([first, second]) is not None) is (edits(first.casefold(), second.casefold()) <= 1)


def test_a_ranking_never_ends_in_a_tie(world: SearchWorld, made: list[Made]) -> None:
    ranked = [
        item.question for item in made if item.question.sql.rstrip().endswith(tuple(f":p{n}" for n in range(1, 9)))
    ]
    ranked = [question for question in ranked if " limit :" in question.sql]
    assert ranked
    for question in ranked:
        limit = question.sql.rpartition(":")[2]
        order = question.sql.rpartition("order by ")[2].split(",")[0].removesuffix(" desc")
        column = next(name for name in question.columns if f'{order} as "{name.name}"' in question.sql).name
        longer = {**question.parameters, limit: int(question.parameters[limit]) + 1}
        values = [row[column] for row in world.query(question.sql, longer)]
        assert values[-1] != values[-2]


def test_every_cell_is_read_where_the_path_says(world: SearchWorld, made: list[Made]) -> None:
    solver = Solver(world)
    for item in made[:40]:
        if item.question.answer == "unanswerable":
            continue
        gathered = gather(item.question, world)
        solved = solver.find(gathered)
        assert set(solved.path.passages) == set(solver.stating.values(gathered.facts))
        bodies = {row["url"]: row["body"] for row in world.query("select url, body from _pages")}
        for passage in solved.path.passages.values():
            url = solved.path.calls[passage.call].arguments["url"]
            told = find_passage(
                solver.browser.visit(url).replies[0]["content"], after=passage.after, until=passage.until
            )
            assert told == passage.statement.words.strip()
            assert told in bodies[url]


def test_a_path_opens_only_what_a_reply_has_shown(world: SearchWorld, made: list[Made]) -> None:
    solver = Solver(world)
    for item in made[:40]:
        if item.question.answer == "unanswerable":
            continue
        known: set[str] = set()
        path = solver.solve(item.question).path
        for call in path.calls:
            if "url" in call.arguments:
                assert call.arguments["url"] in known
                known |= solver.browser.visit(call.arguments["url"]).addresses[0]
            else:
                known |= solver.browser.search(call.arguments["query"])
        assert path.searches + path.visits == len(path.calls)
        assert item.question.difficulty.calls == len(path.calls)


def test_what_holds_for_a_time_says_in_the_question_which_time_is_meant(made: list[Made]) -> None:
    postings = [item.question for item in made if " from posting " in item.question.sql]
    assert postings
    for question in postings:
        said = ("past and present", "today", "2147-03-02", "过去和现在", "目前", "当天", "in force", "held on")
        assert any(words in question.query for words in said)


def test_an_unanswerable_question_names_what_it_wrongly_rests_on(world: SearchWorld, made: list[Made]) -> None:
    questions = [item.question for item in made if item.question.answer == "unanswerable"]
    assert 0.05 <= len(questions) / COUNT <= 0.1
    for question in questions:
        assert question.premise is not None
        assert all(name in question.query for name in question.premise.names)
        assert question.gold(world.query) == []


def test_disputed_values_stand_on_the_pages_of_both_sites(world: SearchWorld) -> None:
    found = list(QuestionMaker(world, families=["disputed"], seed=2).make(4))
    assert found
    for item in found:
        for row in item.gold:
            name, trusted, other = row.values()
            bodies = world.query(
                "select p.body, s.name as site from _pages p join _sites s on s.id = p.site where p.title like :like",
                {"like": f"%{name}%"},
            )
            assert any(f"{int(trusted):,}" in page["body"] for page in bodies if page["site"] == "registry")
            assert any(f"{int(other):,}" in page["body"] for page in bodies if page["site"] == "herald")
        assert item.question.difficulty.conflict > 0


def test_composed_questions_are_understood_by_whoever_knows_only_their_words(made: list[Made]) -> None:
    for item in made:
        asked = read_question(item.question.query)
        assert asked is not None
        assert not [condition for condition in asked.conditions if condition.kind == "unread"], item.question.query
        if item.question.answer != "single":
            assert [wanted.heading for wanted in asked.columns] == [column.name for column in item.question.columns]


def test_a_heading_is_one_short_noun_phrase_and_the_question_says_what_it_stands_for(
    world: SearchWorld, made: list[Made]
) -> None:
    titles = set(WorldSchema(world).site_titles.values())
    explained = 0
    for item in made:
        query, plain = item.question.query, list[str]()
        for column in item.question.columns:
            heading = re.sub(r" ?[(（].*[)）]$", "", column.name)
            plain.append(heading.casefold())
            for title in titles:
                heading = heading.replace(title, "Source")
            assert len(heading.split()) <= 5
            assert heading.count("'s ") + heading.count("的") <= 1 and " of the " not in heading, heading
            meaning = re.search(rf'["“]{re.escape(column.name)}["”](?: is the |指)([^;；]+?)[.;；。]', query)
            explained += meaning is not None
            if meaning is not None and heading != "Source":
                assert heading.split("'s ")[-1].split("的")[-1].casefold() in meaning[1].casefold()
        assert len(set(plain)) == len(plain)
        # More than one step away, "sector" or "officer's sector" could be one of several: the text says which.
        evidence = item.question.evidence
        if evidence is not None and item.question.answer == "table" and "_claims" not in item.question.sql:
            far = [column.name for column in item.question.columns if is_far(item.question, column.name)]
            assert all(f'"{name}" is the ' in query or f"“{name}”指" in query for name in far), (far, query)
    assert explained > 20


def is_far(question: Question, heading: str) -> bool:
    """Whether what stands under a heading lies two references or more from the subject, as the SQL joins it."""
    joins = dict(re.findall(r"join \w+(?: as (?:\w+))? on (\w+)\.id = (\w+)\.", question.sql))
    alias = re.search(rf'(\w+)\.(\w+) as "{re.escape(heading)}"', question.sql)
    steps, at = 0, alias[1] if alias else ""
    while at in joins:
        steps, at = steps + 1, joins[at]
    return steps - (alias is not None and alias[2] == "name") >= 2


def test_the_closing_instructions_come_in_at_least_eight_wordings_in_both_languages(made: list[Made]) -> None:
    for language in ("en", "zh"):
        words = wordings(language)
        parts = (words.columns.table, words.columns.rules, words.columns.truth, words.columns.single, words.abstain)
        assert all(len(set(part)) >= 8 for part in parts)
        asked = [item.question.query for item in made if item.question.language == language]
        for part in (words.columns.rules, words.abstain):
            assert sum(any(style in query for query in asked) for style in part) >= 7


def test_both_languages_and_several_styles_occur(made: list[Made]) -> None:
    languages = Counter(item.question.language for item in made)
    assert min(languages["en"], languages["zh"]) > COUNT / 5
    assert len({item.question.query[:12] for item in made}) > 15


def test_a_question_is_a_line_of_widesearch_with_its_gold_beside_it(made: list[Made]) -> None:
    item = next(one for one in made if one.question.answer == "table")
    row = item.question.widesearch()
    assert list(row) == ["instance_id", "query", "evaluation", "language"]
    evaluation = json.loads(row["evaluation"])
    assert set(evaluation["unique_columns"]) <= set(evaluation["required"])
    assert set(evaluation["eval_pipeline"]) == set(evaluation["required"])
    read = list(csv.DictReader(io.StringIO(gold_csv(item.question.columns, item.gold))))
    assert read == item.gold


def test_hops_are_balanced_as_far_as_the_schema_reaches(made: list[Made]) -> None:
    hops = Counter(item.question.difficulty.hops for item in made)
    assert set(hops) == {0, 1, 2, 3, 4}
    assert min(hops[count] for count in (0, 1, 2, 3)) >= COUNT / 9
    assert hops[4] >= COUNT / 30


def test_a_single_answer_is_told_by_things_that_nothing_else_resembles(world: SearchWorld) -> None:
    found = list(QuestionMaker(world, families=["single"], languages=["en"], seed=6).make(12))
    assert len(found) == 12
    for item in found:
        question = item.question
        assert question.answer == "single"
        assert len(item.gold) == 1
        assert " is the only " in question.query
        assert not [name for name in question.parameters.values() if isinstance(name, str) and name.istitle()]
    assert {item.question.difficulty.hops for item in found} >= {1, 2}


def test_a_kind_alone_can_be_asked_for(world: SearchWorld) -> None:
    for kind in ("single", "unanswerable"):
        made = list(made_questions(world, QuestionSet(count=6, compose=(kind,))))
        assert [item.question.answer for item in made] == [kind] * 6


def test_a_chinese_question_is_chinese_but_for_names(world: SearchWorld) -> None:
    names = {name for table in WorldSchema(world).names.values() for name in table.values()} | {
        "Markdown",
        "YYYY-MM-DD",
        "N/A",
    }
    names |= {"```markdown", *WorldSchema(world).site_titles.values()}
    for item in QuestionMaker(world, languages=["zh"], seed=3).make(40):
        text = item.question.query
        for name in item.question.premise.names if item.question.premise else ():
            text = text.replace(name, "")
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, "")
        assert re.findall("[A-Za-z]+", text) == [], item.question.query


def test_a_category_may_be_written_in_the_words_of_the_question(world: SearchWorld) -> None:
    tested = 0
    for item in QuestionMaker(world, languages=["zh"], seed=3).make(30):
        for column in item.question.columns:
            said = {value: word for word, value in column.words.items()}
            for row in item.gold:
                if said and row[column.name] in said:
                    cell = str(row[column.name])
                    other = next(word for value, word in said.items() if value != cell)
                    assert agree(cell, cell, column=column) == agree(cell, said[cell], column=column) == 1
                    assert agree(cell, other, column=column) == 0
                    tested += 1
    assert tested > 10


def test_hops_and_rows_stay_within_what_is_asked_for(world: SearchWorld) -> None:
    found = list(QuestionMaker(world, bounds=Bounds(hops=(2, 3), rows=(5, 9)), seed=1).make(12))
    assert found
    for item in found:
        if item.question.answer == "table":
            assert 2 <= item.question.difficulty.hops <= 3
            assert 5 <= len(item.gold) <= 9


def test_columns_stay_within_what_is_asked_for(world: SearchWorld) -> None:
    for low, high in ((2, 2), (4, 5)):
        maker = QuestionMaker(
            world, bounds=Bounds(hops=(0, 2), rows=(1, 20), columns=(low, high)), unanswerable=0.2, seed=1
        )
        found = [item.question for item in maker.make(20) if item.question.answer != "single"]
        assert len(found) >= 12
        assert all(low <= len(one.columns) <= high and 0 <= one.difficulty.hops <= 2 for one in found)
        assert all(len({column.name for column in one.columns}) == len(one.columns) for one in found)
    with pytest.raises(ValueError, match="at least two columns"):
        QuestionSet(columns=(1, 3))


FAMILY = {
    "name": "crews",
    "sql": 'select station.name as "Station", station.crew as "Crew" from station join sector on sector.id = station.sector'
    " where sector.name = :sector order by 1",
    "key": ["Station"],
    "columns": {"Station": {"attribute": "station.name"}, "Crew": {"attribute": "station.crew", "tolerance": 0}},
    "wording": {"en": ["Which stations lie in {{ sector }}, and how large are their crews?", "Crews of {{ sector }}?"]},
    "with": "select name as sector from sector",
}


def test_a_family_written_by_hand_gives_a_question_for_each_of_its_parameters(world: SearchWorld) -> None:
    found = list(written_questions(Solver(world), HandwrittenFamily.model_validate(FAMILY), languages=["en", "zh"]))
    assert len(found) == 8
    assert {item.question.parameters["sector"] in item.question.query for item in found} == {True}
    assert all(item.question.columns[1].criterion == 0 and item.question.difficulty.visits > 0 for item in found)
    # One join away; without the condition on the sector all 90 stations would be in the answer.
    assert {item.question.difficulty.hops for item in found} == {1}
    assert {len(item.gold) + item.question.difficulty.distractors for item in found} == {90}


@pytest.mark.parametrize(
    ("sql", "subject", "hops", "conditions"),
    [
        ("select name from station where crew > 5", "station", 0, 1),
        ("select s.name from station as s, company c where c.id = s.operator and c.seat = 3 limit 4", "station", 1, 1),
        ("select name from company where seat in (select id from sector where area between 2 and 9)", "company", 1, 1),
        (
            "select name from company where exists (select 1 from station where operator = company.id and exists"
            " (select 1 from posting join officer on officer.id = posting.officer where station = station.id))",
            "company", 3, 1,
        ),
        ("select name from station where crew > 5 and class <> 'dock' -- and\n and opened > '2100' order by 1", "station", 0, 3),
        ("select name from station where crew > 5 or crew < 2", "station", 0, 1),
        ("select name from station", "station", 0, 0),
    ],
)  # fmt: skip
def test_the_hops_and_conditions_of_sql_written_by_hand_are_read(
    world: SearchWorld, sql: str, subject: str, hops: int, conditions: int
) -> None:
    schema = WorldSchema(world)
    assert joins(sql, schema).hops(subject) == hops
    wider = list(loosened(sql, schema))
    assert len(wider) == conditions
    rows = len(world.query(sql, {}))
    assert all(len(world.query(query, {})) >= rows for query in wider)


@pytest.mark.parametrize(
    ("change", "problem", "place"),
    [
        (
            {"columns": {**FAMILY["columns"], "Crew": {"attribute": "station.crews"}}},
            "no attribute 'crews'",
            "columns.Crew",
        ),
        (
            {"columns": {**FAMILY["columns"], "Crew": {"attribute": "statoin.crew"}}},
            "no type 'statoin'",
            "columns.Crew",
        ),
        (
            {"columns": {**FAMILY["columns"], "Crew": {"attribute": "station.crew", "of": "Size"}}},
            "no column",
            "columns.Crew.of",
        ),
        (
            {"columns": {**FAMILY["columns"], "Crew": {"attribute": "station.crew", "of": ":station"}}},
            "no parameter :station",
            "columns.Crew.of",
        ),
        (
            {
                "key": ["Crew"],
                "sql": "select crew as Crew from station where id = 1",
                "columns": {"Crew": {"attribute": "station.crew"}},
            },
            "the column 'Crew' does not hold names",
            "columns.Crew.of",
        ),
        ({"with": "select name as sector from sector where id > 99"}, "yields no row", "with"),
        ({"with": "select nom from sector"}, "the SQL fails", "with"),
        ({"sql": FAMILY["sql"].replace("= :sector", "= :sector || 'x'")}, "yields no row", "sql"),
        ({"sql": FAMILY["sql"].replace("station.name as", "sector.name as")}, "ambiguous", "key"),
        ({"wording": {"zh": ["{{ sector }}？"]}}, "no wording in en", "wording"),
    ],
)
def test_a_family_that_cannot_be_asked_is_refused_with_its_place(
    world: SearchWorld, change: dict[str, object], problem: str, place: str
) -> None:
    asked = QuestionSet.model_validate({"families": [{**FAMILY, **change}], "languages": ["en"]})
    with pytest.raises(InputError, match=problem) as refused:
        list(made_questions(world, asked))
    assert str(refused.value.place).startswith(f"families[0].{place}")


def test_a_cell_that_no_page_states_is_refused(tmp_path: Path) -> None:
    bare = question_world(tmp_path, upkeep={"dead": 1.0})
    with pytest.raises(InputError, match="stated on no page in reach"):
        list(written_questions(Solver(bare), HandwrittenFamily.model_validate(FAMILY), languages=["en"]))


def test_paths_go_round_pages_that_cannot_be_read(tmp_path: Path) -> None:
    worn = question_world(tmp_path, upkeep={"dead": 0.1, "broken": 0.05})
    found = list(QuestionMaker(worn, seed=5).make(20))
    assert len(found) == 20
    solver = Solver(worn)
    for item in found:
        if item.question.answer != "unanswerable":
            for call in solver.solve(item.question).path.calls:
                assert "url" not in call.arguments or solver.browser.visit(call.arguments["url"]) is not None


def test_what_was_solved_before_does_not_change_what_is_in_reach(world: SearchWorld) -> None:
    station = world.query("select id, sector, name from station limit 1")[0]
    pages = world.query(
        "select p.title, s.title as site from _pages p join _sites s on s.id = p.site where p.type = 'station' and p.entity = :id",
        {"id": station["id"]},
    )
    told = {f"{name} {page['site']}".strip() for page in pages for name in (page["title"], station["name"])}
    solver = Solver(world)
    finder = Finder(solver.schema, solver.browser, without=frozenset(told | {str(station["name"])}))
    crew, area = Needed("station", "crew", station["id"]), Needed("sector", "area", station["sector"])
    statements = solver.stating.statements(solver.stating.values([crew, area]))
    with pytest.raises(FactUnreachable):  # no search finds the page of the station
        finder.path({crew: statements[crew]})
    assert set(finder.path(statements).passages) == {crew, area}  # but that of its sector links to it


def test_an_unknown_kind_of_question_is_refused_with_the_nearest(world: SearchWorld) -> None:
    with pytest.raises(InputError, match=r"unknown kind of question 'joind'.*joined"):
        list(made_questions(world, QuestionSet.model_validate({"compose": ["joind"]})))


def test_a_file_of_questions_is_read_back_and_what_is_none_is_refused_with_its_line(
    tmp_path: Path, made: list[Made]
) -> None:
    file = tmp_path / "questions.jsonl"
    lines = [item.question.model_dump_json() for item in made[:3]]
    file.write_text("\n".join(lines) + "\n")
    assert list(read_questions(file, world="reach")) == [item.question for item in made[:3]]
    with pytest.raises(InputError, match="a question of another world") as refused:
        list(read_questions(file, world="elsewhere"))
    assert refused.value.line == 1
    file.write_text(f'{lines[0]}\n{{"id": "x"}}\n')
    with pytest.raises(InputError, match="no question") as refused:
        list(read_questions(file, world="reach"))
    assert refused.value.line == 2


def test_a_gold_with_two_rows_for_one_key_is_refused() -> None:
    question = Question(id="q", world="w", query="?", sql="-", key=("A",), columns=(Column(name="A"), Column(name="B")))
    with pytest.raises(InputError, match="ambiguous"):
        question.gold(lambda sql, parameters: [{"A": "x", "B": 1}, {"A": "X", "B": 2}])


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("opened on 3 March 2147", "2147-03-03"),
        ("March 3, 2147", "2147-03-03"),
        ("03.03.2147", "2147-03-03"),
        ("2147-03-03", "2147-03-03"),
        ("3 Mar 2147", "2147-03-03"),
        ("March 2147", None),
        ("31 February 2147", None),
    ],
)
def test_days_are_read_as_people_write_them(text: str, day: str | None) -> None:
    assert read_day(text) == day


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1,204 marks", 1204), ("45.80 million marks", 45.8e6), ("6.36 kt", 6.36), ("about 140", 140), ("none", None)],
)
def test_amounts_are_read_with_their_scale(text: str, amount: float | None) -> None:
    assert read_amount(text) == (None if amount is None else pytest.approx(amount))
