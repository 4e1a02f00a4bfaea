"""The episodes of a run that a filter chooses: its marks and words as SQL, and what keeps words from being found."""

from dataclasses import dataclass

from simtrain.values.errors import InputError
from simtrain.view.filters import Filter, parse
from simtrain.view.marks import with_marks
from simtrain.view.shelf import ShelvedRun
from simtrain.view.text_search import GROUP, WordIndex
from simtrain.view.word_indexing import WordIndexing

NOTHING = Filter("0")


@dataclass(frozen=True)
class Chosen:
    """A filter that holds for one run. Without `filter` being met by any episode, either `problem` says what is wrong with it, or
    `unindexed` episodes are to be indexed before their words can be found.
    """

    filter: Filter
    problem: str = ""
    unindexed: int = 0
    indexing: WordIndexing | None = None


class EpisodeChooser:
    """Chooses episodes, and indexes words for that when asked to."""

    def __init__(self) -> None:
        self._words: dict[str, WordIndex] = {}
        self._working: dict[str, WordIndexing] = {}

    def choose(self, run: ShelvedRun, q: str) -> Chosen:
        """Return the episodes that a filter chooses from a run whose index is up to date."""
        try:
            chosen = with_marks(parse(q), run.path)
            return self._with_words(run, chosen) if chosen.words else Chosen(chosen)
        except InputError as error:
            return Chosen(NOTHING, str(error))

    def index(self, run: ShelvedRun) -> None:
        """Begin to index the words of a run, if nobody does."""
        missing = len(self._of(run).missing())
        if missing and not self._running(run):
            self._working[run.name] = WordIndexing(run.path, missing)

    def indexing(self, run: ShelvedRun) -> WordIndexing | None:
        """Return the work on a run; None if nobody asked for it."""
        return self._working.get(run.name)

    def end(self) -> None:
        """Stop all work. What was indexed stays."""
        for one in self._working.values():
            one.end()

    def _with_words(self, run: ShelvedRun, chosen: Filter) -> Chosen:
        words, work = self._of(run), self._working.get(run.name)
        if work is not None and work.problem:
            raise InputError(work.problem)
        missing = len(words.missing())
        if self._running(run) or missing > GROUP or (missing and not words.begun):
            return Chosen(NOTHING, unindexed=missing, indexing=work if self._running(run) else None)
        words.add()
        return Chosen(words.narrowed(chosen))

    def _running(self, run: ShelvedRun) -> bool:
        return run.name in self._working and self._working[run.name].running

    def _of(self, run: ShelvedRun) -> WordIndex:
        return self._words.setdefault(run.name, WordIndex(run.index))
