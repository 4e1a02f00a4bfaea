"""De-contamination: the training, validation and test splits share no entities, and no task mentions names or questions of another one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simtrain.contracts.question import Question
from simtrain.contracts.world import World
from simtrain.curricula.curriculum_file import SPLITS, Split


@dataclass(frozen=True, slots=True)
class SplitTexts:
    """The texts of a split: the names of all entities in its worlds, aliases included, and its questions."""

    names: frozenset[str]
    questions: frozenset[str]

    def stands_in(self, question: Question, cells: Iterable[str]) -> bool:
        """True if a question of another split, or its gold, mentions one of these names, or is one of these questions."""
        # One joined text is searched, since there are thousands of names; no name contains a line break.
        text = "\n".join((question.query, *cells))
        return wording(question) in self.questions or any(name in text for name in self.names)


@dataclass(frozen=True, slots=True)
class SplitOverlap:
    """What two splits have in common."""

    splits: tuple[Split, Split]
    names: tuple[str, ...]
    questions: tuple[str, ...]


def names_in_world(world: World) -> frozenset[str]:
    """Return the names of all entities in a search world, aliases included."""
    types = world.query("select name from _types where kind = 'entity' order by position")
    found = [row["name"] for kind in types for row in world.query(f'select name from "{kind["name"]}"')]
    aliases = [row["alias"] for row in world.query("select alias from _aliases")]
    return frozenset(str(name) for name in (*found, *aliases))


def overlaps(texts: Mapping[Split, SplitTexts]) -> list[SplitOverlap]:
    """Return the overlap of every pair of splits, in the order of SPLITS."""
    present: list[Split] = [split for split in SPLITS if split in texts]
    return [
        SplitOverlap(
            (one, other),
            tuple(sorted(texts[one].names & texts[other].names)),
            tuple(sorted(texts[one].questions & texts[other].questions)),
        )
        for place, one in enumerate(present)
        for other in present[place + 1 :]
    ]


def wording(question: Question) -> str:
    """Return a question's wording with case and white space normalised."""
    return " ".join(question.query.casefold().split())
