"""The YAML of a recipe: which model is trained on which worlds, by which stages, and what it is tested on."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from simtrain.curricula.curriculum_file import Split
from simtrain.files.file_model import FileModel, checked
from simtrain.files.yaml_files import PLAIN_NAME, Place, read_document, read_place
from simtrain.llm.conversation import Listing
from simtrain.values.arm import CLEAN
from simtrain.values.errors import InputError
from simtrain.values.seed_ranges import seeds_from
from simtrain.values.types import JsonObject, is_list


def _seeds(text: str | int) -> str:
    return checked(str(text), parse=seeds_from)


SeedRange: TypeAlias = Annotated[str | int, AfterValidator(_seeds)]
"""Seeds such as `1..80` or `3,5,9..12`."""

Names: TypeAlias = Annotated[list[str], Field(min_length=1)]


class Worlds(FileModel):
    """Seeds of the worlds in each split; no seed is in two of them."""

    train: SeedRange
    validation: SeedRange
    test: SeedRange

    def seeds(self, split: Split) -> list[int]:
        """Return the seeds of a split."""
        return seeds_from(str(getattr(self, split)))

    @model_validator(mode="after")
    def _apart(self) -> "Worlds":
        found: dict[int, str] = {}
        for split in ("train", "validation", "test"):
            for seed in self.seeds(split):
                if seed in found:
                    raise ValueError(f"seed {seed} is in {found[seed]} and in {split}")
                found[seed] = split
        return self


class ChatSpec(FileModel):
    """How a conversation is rendered, the same in training and at play."""

    template: str = Field(default="hermes", description="hermes, qwen, a .jinja file or a tokenizer's folder.")
    listing: Listing = Field(default="compact", description="Tools in one line each, as JSON Schemas, or not listed.")
    max_tokens: int = Field(default=256, ge=1, description="Most tokens in one reply at play.")


Weights: TypeAlias = Literal["f16", "bf16", "q8_0"]
"""How a server holds weights: as 16-bit floats of either kind, or rounded to 8 bits."""


class ServerSpec(FileModel):
    """What serves a trained model while it plays."""

    use: Literal["llama.cpp", "transformers", "vllm", "command"] = "llama.cpp"
    command: str = Field(
        default="", description="For `command`: how to start it, with {model}, {name} and {port} in it."
    )
    slots: int = Field(default=8, ge=1, description="Episodes played at once.")
    context: int = Field(default=4096, ge=256, description="Tokens of one conversation.")
    threads: int = Field(
        default=1,
        ge=1,
        description="Threads of llama.cpp or transformers; two on a busy machine are slower than one.",
    )
    weights: Weights = Field(
        default="f16",
        description="Of llama.cpp and transformers; q8_0 (llama.cpp alone) is faster on a CPU, and less exact.",
    )
    program: str = Field(
        default="",
        description="A llama-server of your own, compiled for this machine, in place of the installed llama.cpp.",
    )

    @model_validator(mode="after")
    def _complete(self) -> "ServerSpec":
        if (self.use == "command") != bool(self.command):
            raise ValueError("`command` is given together with `use: command`")
        if self.program and self.use != "llama.cpp":
            raise ValueError("`program` is for `use: llama.cpp`")
        if self.use == "transformers" and self.weights == "q8_0":
            raise ValueError("`use: transformers` has weights of f16 or bf16")
        return self


class Play(FileModel):
    """Episodes to play: families, cases of each world, and the conditions under which each case comes."""

    scenarios: Names = Field(description="Families or suites.")
    cases: int | None = Field(default=1, ge=1, description="Cases of each family in each world; all of them when null.")
    conditions: Names = Field(
        default=[CLEAN], description="`clean`, and the packs (names, or files) under which the same cases come again."
    )
    attempts: int = Field(default=1, ge=1, description="How often each case is played.")


class Demonstrations(Play):
    """Episodes that an agent plays for the model to learn from."""

    agent: str = Field(default="oracle", description="As in `simtrain run`.")
    knobs: JsonObject = Field(default_factory=dict, description="Knobs of the agent.")
    keep: Literal["solved", "all"] = Field(default="solved", description="Only episodes of full reward, or all.")
    tokens: int | None = Field(
        default=None, ge=1, description="Most tokens, read and written; a random choice fills them."
    )


def _listed(given: object) -> object:
    return given if is_list(given) else [given]


Mixture: TypeAlias = Annotated[
    list[Demonstrations],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Demonstrations | list[Demonstrations]),
]
"""One set of demonstrations, or several that are mixed."""


class Samples(Play):
    """Episodes that the model itself plays, of which it learns from those that it solved: of families, or dealt by a curriculum."""

    scenarios: list[str] = Field(default_factory=list[str], description="Families or suites.")
    curriculum: str = Field(
        default="", description="A curriculum in levels, in place of families: its name, or a file."
    )
    tasks: int = Field(default=64, ge=1, description="Tasks that the curriculum deals in each round.")
    attempts: int = Field(default=4, ge=1, description="Samples of each case.")
    temperature: float = Field(default=1.0, gt=0)
    rounds: int = Field(
        default=1, ge=1, description="Rounds of sampling and training; each has its own part of the worlds."
    )
    most: int = Field(default=1, ge=1, description="Most episodes of one case to learn from.")

    @model_validator(mode="after")
    def _families_or_curriculum(self) -> "Samples":
        if bool(self.scenarios) == bool(self.curriculum):
            raise ValueError("either `scenarios` or `curriculum` is needed")
        alone = sorted(self.model_fields_set & {"cases", "conditions"})
        if self.curriculum and alone:
            raise ValueError(f"`{alone[0]}` is not for a curriculum, whose file says it")
        return self


class Fit(FileModel):
    """How a model is fitted to episodes. An update takes `batch` of them."""

    epochs: float = Field(default=1.0, gt=0)
    learning_rate: float = Field(default=1e-4, gt=0)
    batch: int = Field(default=8, ge=1)
    micro_batch: int = Field(default=1, ge=1, description="Episodes in memory at once; divides `batch`.")
    precision: Literal["bf16", "fp32"] = "bf16"
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: int = Field(default=4, ge=0, description="Updates until the learning rate is reached.")
    weight_decay: float = Field(default=0.0, ge=0)
    longest: int = Field(default=4096, ge=16, description="Tokens; longer episodes are left out.")
    checkpoint_every: int = Field(default=20, ge=1, description="Updates.")
    gradient_checkpointing: bool = False

    @model_validator(mode="after")
    def _whole(self) -> "Fit":
        if self.batch % self.micro_batch:
            raise ValueError("`micro_batch` does not divide `batch`")
        return self


class Reinforce(FileModel):
    """How GRPO runs: each update takes `prompts` tasks, each played `samples` times."""

    steps: int = Field(default=200, ge=1)
    prompts: int = Field(default=8, ge=1)
    samples: int = Field(default=8, ge=2)
    micro_batch: int = Field(default=8, ge=1, description="Rollouts in memory at once; divides their number.")
    learning_rate: float = Field(default=1e-6, gt=0)
    temperature: float = Field(default=1.0, gt=0)
    beta: float = Field(
        default=0.0, ge=0, description="Weight of the KL divergence from the model that it starts from."
    )
    precision: Literal["bf16", "fp32"] = "bf16"
    longest: int = Field(default=2048, ge=16, description="Tokens behind the prompt, replies of tools included.")
    sampler: Literal["generate", "slots", "vllm"] = Field(
        default="generate",
        description="transformers' own `generate`, slots that keep what they have read, or vLLM in the trainer's process.",
    )
    context: int = Field(default=4096, ge=256, description="For `slots`: tokens of one episode, its prompt included.")
    checkpoint_every: int = Field(default=20, ge=1, description="Updates.")

    @model_validator(mode="after")
    def _whole(self) -> "Reinforce":
        if self.prompts * self.samples % self.micro_batch:
            raise ValueError("`micro_batch` does not divide `prompts` times `samples`")
        return self


class Sft(FileModel):
    """Supervised fine-tuning on demonstrations."""

    method: Literal["sft"]
    data: Mixture
    with_: Fit = Field(default=Fit(), alias="with")


class Rejection(FileModel):
    """Rejection sampling: the model plays, and is fitted to what it solved."""

    method: Literal["rejection"]
    data: Samples
    with_: Fit = Field(default=Fit(), alias="with")


class Grpo(FileModel):
    """GRPO over episodes that the model plays."""

    method: Literal["grpo"]
    data: Play
    with_: Reinforce = Field(default=Reinforce(), alias="with")


def plays_of(stage: Sft | Rejection | Grpo) -> Sequence[Play]:
    """Return the episodes that a stage learns from."""
    return stage.data if isinstance(stage, Sft) else [stage.data]


Stage: TypeAlias = Annotated[Sft | Rejection | Grpo, Field(discriminator="method")]
Stages: TypeAlias = Annotated[list[Stage], Field(min_length=1)]


class TrialSpec(FileModel):
    """One arm of a comparison: other stages, or another model to start from."""

    stages: Stages
    model: str | None = None


class Recipe(FileModel):
    """The YAML of `simtrain train`: `stages` for one way to train, or `arms` for several that are compared."""

    name: str = Field(pattern=PLAIN_NAME)
    description: str = ""
    model: str = Field(description="A folder, a name on the hub, a .gguf file, or smollm2.")
    server: ServerSpec = ServerSpec()
    chat: ChatSpec = ChatSpec()
    worlds: Worlds
    seeds: list[int] = Field(default_factory=lambda: [1], min_length=1, description="Of the training.")
    stages: list[Stage] = Field(default_factory=list[Stage])
    arms: dict[str, TrialSpec] = Field(default_factory=dict[str, TrialSpec])
    evaluate: Play

    @model_validator(mode="after")
    def _one_or_several(self) -> "Recipe":
        if bool(self.stages) == bool(self.arms):
            raise ValueError("either `stages` or `arms` is needed")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("`seeds` names a seed twice")
        return self

    def plays(self) -> Iterator[tuple[Place, "Play"]]:
        """Yield all episodes that are to be played, each with its place in the recipe."""
        for arm, trial in self.trials().items():
            top: Place = ("arms", arm) if self.arms else ()
            for number, stage in enumerate(trial.stages):
                yield from (((*top, "stages", number, "data"), play) for play in plays_of(stage))
        yield ("evaluate",), self.evaluate

    def trials(self) -> dict[str, TrialSpec]:
        """Return the arms; a recipe without any is one of its own name."""
        return self.arms or {self.name: TrialSpec(stages=self.stages)}


@contextmanager
def in_recipe(path: Path) -> Generator[None]:
    """Add the file and the line to InputErrors of the block that name a place of a recipe."""
    try:
        yield
    except InputError as error:
        if error.file is not None or error.place is None:
            raise
        raise read_document(path).relocate(error, read_place(error.place)) from None


def load_recipe(path: str | Path) -> Recipe:
    """Return the recipe in a YAML file. Raises InputError."""
    found = Path(path)
    if not found.is_file():
        raise InputError("there is no such recipe", remedy="name a YAML file", file=found)
    return read_document(found).parse(Recipe)
