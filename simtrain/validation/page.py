"""What was proved as one HTML page: no script, nothing from elsewhere, all text escaped."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from simtrain.files.pages.drawing import Scale, bar, line, svg, text, ticks
from simtrain.files.pages.templates import style, templates
from simtrain.runs.solvability.survey import Pair, SurveyRow
from simtrain.validation.proof import Proof

TEMPLATES = Path(__file__).parent / "templates"

MOST_PAIRS = 200
"""Pairs without a proof that are listed."""

WIDTH, NAMES, VALUES, ROW = 900, 260, 190, 24


def families_page(proofs: Sequence[Proof]) -> str:
    """Return the page of families that were proved, those with problems first."""
    return (
        templates(TEMPLATES)
        .get_template("families.html.jinja")
        .render(
            style=style(),
            proofs=sorted(proofs, key=lambda proof: (not proof.problems, proof.name)),
            proved=sum(not proof.problems for proof in proofs),
            cases=sum(proof.cases for proof in proofs),
            warnings=[(proof.name, warning) for proof in proofs for warning in proof.warnings],
        )
    )


def survey_page(
    rows: Sequence[SurveyRow],
    pairs: Sequence[Pair],
    *,
    share: float | None,
    at_least: float,
    agents: Mapping[str, Mapping[str, float | None]],
) -> str:
    """Return the page of a search for proofs under perturbations: `share` of the pairs is proved, and `at_least` was asked for.

    `agents` have the shares of proved pairs that each earned and of unsolvable ones that it declined.
    """
    open_pairs = [pair for pair in pairs if pair.counts and pair.recoverable and pair.solution.label != "proved"]
    return (
        templates(TEMPLATES)
        .get_template("survey.html.jinja")
        .render(
            style=style(),
            packs=[
                (pack, _chart(found), found)
                for pack, group in groupby(rows, key=lambda row: row.pack)
                if (found := list(group))
            ],
            share=share,
            at_least=at_least,
            enough=share is None or share >= at_least,
            pairs=sum(row.pairs for row in rows),
            agents=agents,
            open_pairs=open_pairs[:MOST_PAIRS],
            more=max(0, len(open_pairs) - MOST_PAIRS),
        )
    )


def _chart(rows: Sequence[SurveyRow]) -> str:
    scale = Scale(0, 100, NAMES + 14, WIDTH - VALUES)
    height = 26 + ROW * len(rows)
    parts = [line(scale.at(tick), 4, scale.at(tick), height - 20, kind="grid") for tick in ticks(0, 100)]
    parts += [text(scale.at(tick), height - 6, f"{tick:g}", kind="tick", anchor="middle") for tick in ticks(0, 100)]
    for place, row in enumerate(rows):
        middle = 4 + ROW * place + ROW / 2
        words = "nothing recoverable" if row.share is None else f"{row.share:.0%} of {row.pairs:,}"
        parts.append(text(NAMES, middle + 4, row.label, kind="name", anchor="end", longest=38))
        width = scale.at(100 * (row.share or 0)) - scale.at(0)
        parts.append(bar(scale.at(0), middle - 6, width, 12, kind="s0", tip=f"{row.label}: {words}"))
        parts.append(text(WIDTH - VALUES + 14, middle + 4, words, kind="value"))
    return svg(parts, width=WIDTH, height=height, title="Share of the recoverable pairs that is proved")
