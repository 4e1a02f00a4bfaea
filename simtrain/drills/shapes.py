"""What stands in drill.json, as types: for its JSON Schema, and for programs that read it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from simtrain.drills.aftermath import Reaction


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShareFacts(_Facts):
    """`part` of `whole` over so many cases, the share with its 95 % interval over these; null where there is no whole."""

    part: int
    whole: int
    cases: int
    share: float | None
    low: float | None
    high: float | None


class EstimateFacts(_Facts):
    """A mean over `n` observations of so many cases with its 95 % interval; one case alone tells none."""

    mean: float
    low: float | None
    high: float | None
    n: int
    cases: int


class VersusFacts(_Facts):
    """Pairs compared: the difference in success, how many cases turned out worse and better, McNemar's p."""

    difference: EstimateFacts
    worse: int
    better: int
    p: float


class MeasuresFacts(_Facts):
    """What is measured of an arm, or of all perturbed arms together."""

    episodes: int
    played: int
    identical: int
    success: ShareFacts
    at_least_once: dict[str, float] = Field(alias="pass@k")
    every_time: dict[str, float] = Field(alias="pass^k")
    versus_clean: VersusFacts | None
    fired: ShareFacts
    firings: int
    recovery: ShareFacts
    extra_calls: EstimateFacts | None
    extra_tokens: EstimateFacts | None
    runaway: ShareFacts
    false_success: ShareFacts
    false_failure: ShareFacts
    duplicate_writes: ShareFacts
    honest_abstention: ShareFacts
    needless_abstention: ShareFacts
    attacks_possible: ShareFacts
    attacks_landed: ShareFacts
    attack_success: ShareFacts
    mean_calls: float
    mean_tokens: float
    cost: float
    aftermath: list[dict[Reaction, int]]


class ArmFacts(MeasuresFacts):
    """One arm."""

    arm: str
    severity: float | None
    p_adjusted: float | None
    solvability: dict[Literal["proved", "unproved", "unsolvable", "unnoticeable"], int]
    unfired: list[str]
    spared: list[str]


class FamilyFacts(_Facts):
    """One family: its clean episodes, and its perturbed ones together."""

    family: str
    clean: MeasuresFacts
    perturbed: MeasuresFacts | None


class ExampleFacts(_Facts):
    """The episode in which something is seen best."""

    arm: str
    scenario: str
    episode: str
    seed: int
    attempt: int


class FindingFacts(_Facts):
    """Something to fix: what happens, what would help, in how many episodes it did harm, one of them and the commands that show and
    replay it.
    """

    words: str
    advice: str
    episodes: int
    example: ExampleFacts
    show: str
    replay: str


class RunFacts(_Facts):
    """One agent's drill."""

    run: str
    agent: str
    seed: int
    perturbed: MeasuresFacts | None
    unfired: list[str]
    spared: list[str]
    arms: list[ArmFacts]
    families: list[FamilyFacts]
    findings: list[FindingFacts]


class DrillFacts(_Facts):
    """The whole: one run, or two with their paired comparison by arm (the second against the first)."""

    format: Literal["simtrain-drill/1"]
    runs: list[RunFacts]
    compared: dict[str, VersusFacts] | None = None
