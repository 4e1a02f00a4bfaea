"""The paradigm fiction: questions as episodes, a plan for each, proofs, budgets, and agents that know more or less."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from statistics import mean

import orjson
import pytest
from question_web import question_source

from simtrain.agents.function_agent import FunctionAgent
from simtrain.agents.select import build_agent
from simtrain.cli import main
from simtrain.contracts.agent import Abstain, StepFunction
from simtrain.contracts.question import Question
from simtrain.contracts.scenario import Episode, Scenario, ScenarioSpec
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.files.yaml_files import read_document
from simtrain.questions.browser import addresses
from simtrain.questions.making import QuestionMaker
from simtrain.runs.rollout import rollout
from simtrain.scenarios.load import assemble, load_scenario_file, paradigm_of
from simtrain.testing import FakeOpenAI, Say, Tool
from simtrain.validation.prove import prove
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

FAMILY = """\
name: reach_tables
paradigm: fiction
world: reach
cases: {questions: {count: 24, rows: [3, 15]}}
"""


def scenario(folder: Path, text: str = FAMILY, **knobs: object) -> Scenario:
    file = folder / "reach_tables.yaml"
    file.write_text(text)
    document = read_document(file)
    return assemble(document, document.parse(ScenarioSpec), "reach_tables", source=question_source(folder, **knobs))


def episodes(found: Scenario) -> list[Episode]:
    return list(paradigm_of(found).episodes(found, seed=0, attempts=1))


def play(episode: Episode, agent: str) -> Trajectory:
    return asyncio.run(rollout(episode, build_agent(agent), name=agent))


@pytest.fixture(scope="module")
def reach(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return scenario(tmp_path_factory.mktemp("reach"))


def test_the_question_is_the_prompt_and_nothing_of_its_gold_or_sql_is_told(reach: Scenario) -> None:
    for episode in episodes(reach)[:6]:
        trajectory = play(episode, "nop")
        question = Question.model_validate(episode.case)
        assert trajectory.prompt == question.query
        assert question.sql not in trajectory.system
        assert trajectory.rewards[0].grader == "widesearch"


def test_the_oracle_answers_every_question_by_what_it_reads(reach: Scenario) -> None:
    for episode in episodes(reach):
        trajectory = play(episode, "oracle")
        assert trajectory.reward == 1.0, (episode.case["query"], trajectory.stop, trajectory.answer)
        known: set[str] = set()
        for step in trajectory.steps:
            assert addresses(step.action.arguments) <= known
            known |= addresses(step.observation.content)
        if episode.case["answer"] != "unanswerable":
            assert len(trajectory.steps) == sum(episode.case["difficulty"][name] for name in ("searches", "visits"))


def test_a_model_on_a_chat_server_searches_and_answers_with_a_table(reach: Scenario) -> None:
    episode = next(found for found in episodes(reach) if found.case["answer"] == "table")
    question = Question.model_validate(episode.case)
    gold = question.gold(episode.scenario.source.build(episode.variant).query)
    names = [column.name for column in question.columns]
    rows = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in gold)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    search = Say("", calls=[Tool("web_search", {"query": str(gold[0][names[0]])})])
    for last in (f"ANSWER:\n```markdown\n{table}\n```", f"This is all there is.\n\n{table}\n"):
        with FakeOpenAI([search, Say(last)]) as server:
            agent = build_agent("chat:fake", {"base_url": server.url})
            trajectory = asyncio.run(rollout(episode, agent, name="chat"))
        assert (trajectory.reward, [step.action.tool for step in trajectory.steps]) == (1.0, ["web_search"])
        assert "follow lists" in trajectory.system and "next_cursor" not in trajectory.system


def test_questions_over_a_search_world_are_proved(reach: Scenario) -> None:
    proof = asyncio.run(prove(reach, cases=10))
    assert proof.problems == []
    assert proof.calls[1] > 5


def test_a_question_whose_gold_the_web_does_not_tell_is_not_proved(tmp_path: Path) -> None:
    questions = QuestionMaker(question_source(tmp_path).build(), families=["filtered"], languages=["en"], seed=2).make(
        1
    )
    question = next(iter(questions)).question
    column = next(name for name in question.columns if "number_near" in name.metric)
    expression = question.sql.partition(f' as "{column.name}"')[0].rpartition(" ")[2]
    wrong = question.model_copy(update={"sql": question.sql.replace(expression, f"{expression} * 3 + 9", 1)})
    (tmp_path / "wrong.jsonl").write_text(wrong.model_dump_json() + "\n")
    found = scenario(tmp_path, FAMILY.replace("{count: 24, rows: [3, 15]}", "wrong.jsonl"))
    proof = asyncio.run(prove(found))
    assert any("the oracle earns" in problem for problem in proof.problems)


def test_who_knows_more_earns_more(reach: Scenario) -> None:
    played = episodes(reach)[:14]
    naive, systematic, oracle = (
        mean(play(episode, agent).reward or 0.0 for episode in played)
        for agent in ("search_naive", "search_systematic", "oracle")
    )
    assert naive < 0.2 < 0.35 < systematic < oracle == 1.0


def test_to_decline_is_right_only_where_there_is_no_answer_and_after_a_look(reach: Scenario) -> None:
    async def looks(prompt: str, tools: object, step: StepFunction) -> Abstain:
        for name in re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", prompt):
            await step("web_search", {"query": name})
        return Abstain("I cannot find it.")

    unanswerable = 0
    for episode in episodes(reach):
        assert play(episode, "abstain").reward == 0
        due = float(episode.case["answer"] == "unanswerable")
        unanswerable += due == 1
        found = asyncio.run(rollout(episode, FunctionAgent(function=looks), name="looks"))
        assert found.reward == due, episode.case["query"]
    assert unanswerable


def test_the_systematic_agent_opens_no_page_that_it_was_not_shown_save_the_front_pages_of_sites(
    reach: Scenario,
) -> None:
    for episode in episodes(reach)[:8]:
        known: set[str] = set()
        for step in play(episode, "search_systematic").steps:
            unknown = addresses(step.action.arguments) - known
            assert all(url.count("/") == 3 and url.endswith("/") for url in unknown)
            known |= addresses(step.observation.content) | addresses(step.observation.text)


def test_an_episode_plays_the_same_twice(reach: Scenario) -> None:
    for agent in ("oracle", "search_systematic", "search_naive"):
        first, second = (play(episodes(reach)[1], agent) for _ in range(2))
        assert orjson.loads(to_line(first)) | {"timing": {}} == orjson.loads(to_line(second)) | {"timing": {}}


def test_a_teasing_snippet_states_no_gold_cell(tmp_path: Path) -> None:
    found = scenario(tmp_path, snippets="tease")
    for episode in episodes(found)[:8]:
        question = Question.model_validate(episode.case)
        gold = {cell for row in question.gold(found.source.build().query) for cell in row.values() if len(cell) > 3}
        trajectory = play(episode, "oracle")
        assert trajectory.reward == 1.0
        for step in trajectory.steps:
            content = step.observation.content or {}
            said = " ".join(result["snippet"] for result in content.get("results", []))
            assert not [cell for cell in gold if cell in said]


def test_a_single_answer_may_be_an_amount_of_the_thing_that_the_question_names(tmp_path: Path) -> None:
    crews = """\
name: reach_tables
paradigm: fiction
world: reach
cases:
  questions:
    families:
      - name: crew_of
        sql: select crew as "Crew" from station where name = :station
        key: [Crew]
        answer: single
        columns: {Crew: {attribute: station.crew, of: ":station"}}
        wording: {en: ["How many people crew {{ station }}?"]}
        with: select name as station from station order by id limit 3
"""
    for episode in episodes(scenario(tmp_path, crews)):
        trajectory = play(episode, "oracle")
        assert (trajectory.reward, len(trajectory.steps)) == (1.0, 2)
        assert play(episode, "claims_done").reward == 0.0


def test_a_budget_is_a_multiple_of_what_the_oracle_needs(tmp_path: Path) -> None:
    tight = scenario(tmp_path, FAMILY.replace("15]}}", "15]}, budget: 1}"))
    for episode in episodes(tight)[:6]:
        needed = sum(episode.case["difficulty"][name] for name in ("searches", "visits"))
        assert episode.limits.calls == max(6, needed)
        assert play(episode, "oracle").reward == 1.0
        assert len(play(episode, "search_systematic").steps) <= max(6, needed)


CREWS = """\
name: reach_tables
paradigm: fiction
world: reach
cases:
  questions:
    families:
      - name: crews
        sql: select station.name as "Station", crew as "Crew" from station join sector on sector.id = sector where sector.name = :sector
        key: [Station]
        columns: {Station: {attribute: station.name}, Crew: {attribute: station.crew}}
        wording: {en: ["Which stations lie in {{ sector }}, and how large are their crews?"]}
        with: select name as sector from sector
"""


def test_the_oracle_writes_what_the_page_says_when_it_says_something_else(tmp_path: Path) -> None:
    crews = scenario(tmp_path, CREWS)
    episode, world = episodes(crews)[0], crews.source.build()
    altered = world.altered("update station set crew = crew + 7000")
    trajectory = asyncio.run(rollout(episode, build_agent("oracle"), name="oracle", world=altered))
    gold = Question.model_validate(episode.case).gold(world.query)
    assert play(episode, "oracle").reward == 1.0
    assert trajectory.answer is not None
    assert all(f"| {int(row['Crew']) + 7000} |" in trajectory.answer for row in gold)


ASKED = "{questions: {count: 24, rows: [3, 15]}}"
TASK = "\nprompt: hello\nrubric: [{use: widesearch}]"


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ("{questions: {cuont: 24}}", "unknown key 'cuont'"),
        ("{questions: {rows: [15, 3]}}", "`rows` begins with its lower end"),
        ("{questions: {compose: [filtered], count: 3, rows: [3000, 4000]}}", "no question that fits these bounds"),
        ("{questions: nothing.jsonl}", "there is no file"),
        ("[{query: hello}]", "the key 'prompt' is missing"),
        ("{budget: 2, rows: [{a: 1}]}" + TASK, "a budget is for questions"),
        ("{questions: {count: 2}, rows: [{a: 1}]}", "one of `sql`, `rows`, `questions` and `tasks`"),
    ],
)
def test_cases_that_cannot_be_had_are_refused_with_file_and_line(tmp_path: Path, cases: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        scenario(tmp_path, FAMILY.replace(ASKED, cases))
    assert problem in str(refused.value)
    assert "reach_tables.yaml" in str(refused.value)


def command(*arguments: str | int | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0)


def test_the_command_writes_questions_that_a_scenario_plays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "questions"
    assert command("world", "questions", "kestrel_reach", "--count", 15, "--rows", 3, 12, "--out", out, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["questions"] == 15
    lines = [json.loads(line) for line in (out / "widesearch.jsonl").read_text().splitlines()]
    assert {path.stem for path in (out / "gold").iterdir()} == {line["instance_id"] for line in lines}
    (tmp_path / "k.yaml").write_text(
        "name: k\nparadigm: fiction\nworld: kestrel_reach\ncases: {questions: questions/questions.jsonl}\n"
    )
    found = load_scenario_file(tmp_path / "k.yaml", "k")
    assert [play(episode, "oracle").reward for episode in episodes(found)] == [1.0] * 15


def test_the_command_replaces_nothing_unasked(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert command("world", "questions", "kestrel_reach", "--out", tmp_path / "there") == 2
    assert list((tmp_path / "there").iterdir()) == []
