"""The contents of drill.json as types: for its JSON Schema, and for programs that read it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from simtrain.drills.measures import Measures, Versus
from simtrain.drills.report import FamilyReport
from simtrain.runs.solvability.search import Label


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ArmFacts(Measures):
    """One arm."""

    arm: str
    severity: float | None
    p_adjusted: float | None
    solvability: dict[Label, int]
    unfired: list[str]
    spared: list[str]


class ExampleFacts(_Facts):
    """The episode that shows a finding best."""

    arm: str
    scenario: str
    episode: str
    seed: int
    attempt: int


class FindingFacts(_Facts):
    """A finding: what happens, what would help, the number of episodes it harmed, and one of them with the commands
    that show and replay it.
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
    perturbed: Measures | None
    unfired: list[str]
    spared: list[str]
    arms: list[ArmFacts]
    families: list[FamilyReport]
    findings: list[FindingFacts]


class DrillFacts(_Facts):
    """The whole report: one run, or two with their paired comparison by arm (the second against the first)."""

    format: Literal["simtrain-drill/1"]
    runs: list[RunFacts]
    compared: dict[str, Versus] | None = None
