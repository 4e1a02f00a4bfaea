"""A server's words for mistakes in arguments, learnt from calls that it refused: texts with slots, and how several are joined."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, takewhile

from simtrain.contracts.argument_mistakes import KINDS, ArgumentMistakes, Mistake
from simtrain.contracts.refusal_words import LISTS, Channel, RefusalWords, TextFrame, WordedText, kinds_of, slots


@dataclass(frozen=True)
class Example:
    """A refused call: its mistakes, the server's text, and the channel of the text."""

    tool: str
    mistakes: ArgumentMistakes
    text: str
    channel: Channel

    @property
    def single(self) -> Mistake | None:
        """The one mistake that the text is about; None if it is about several."""
        found = self.mistakes.found
        unknown = [mistake.field for mistake in found if mistake.kind == "unknown"]
        alone = len(found) == 1 or (len(unknown) == 1 and _any_of(unknown, self.text))
        return self.mistakes.foremost if alone else None


def general_words(examples: Sequence[Example], names: Mapping[str, Sequence[str]]) -> tuple[RefusalWords, int]:
    """Return words for any tool and argument, and the number of refusals that they explain beyond those they were learnt from.

    `names` are the arguments of every tool. A text that holds a name outside of its slots is general only if several arguments
    show it: otherwise it would name the wrong one.
    """
    every = frozenset(name for known in names.values() for name in known)
    singles = [(example, mistake) for example in examples if (mistake := example.single) is not None]
    sayings = _sayings(singles, every)
    best = RefusalWords()
    score = -1
    several = [example for example in examples if len(example.mistakes.found) > 1]
    for stages in _stages():
        for words in (RefusalWords(sayings, stages), _framed(RefusalWords(sayings, stages, {}), several)):
            explained = sum(words.refusal(one.tool, one.mistakes) == (one.text, one.channel) for one in several)
            # Only a better one: of equals the simpler hypothesis, tried first, stays.
            if explained > score:
                best, score = words, explained
    shared = RefusalWords(tuple(saying for saying in sayings if _is_shared(saying, singles)), best.stages, best.frames)
    return best, sum(shared.refusal(one.tool, one.mistakes) == (one.text, one.channel) for one in examples)


def particular_words(unexplained: Sequence[Example]) -> Iterator[WordedText]:
    """Yield texts for single tools and exactly the mistakes that were captured."""
    seen: set[tuple[str, str]] = set()
    for one in unexplained:
        mistakes = one.mistakes
        if not mistakes.found or (one.tool, str(mistakes)) in seen:
            continue
        seen.add((one.tool, str(mistakes)))
        text = next(_candidates(one, mistakes.foremost))
        yield WordedText(text, one.channel, one.tool, mistakes=str(mistakes))


def _sayings(singles: Sequence[tuple[Example, Mistake]], every: frozenset[str]) -> tuple[WordedText, ...]:
    """Return texts for an argument's name, for a type, and for a kind of mistake. A special one is kept only if the general ones differ."""
    found: list[WordedText] = []
    for keys in (("kind",), ("kind", "wanted", "given"), ("kind", "wanted", "given", "field")):
        groups: defaultdict[Hashable, list[tuple[Example, Mistake]]] = defaultdict(list)
        for example, mistake in singles:
            if keys != ("kind",) or mistake.kind != "wrong":
                groups[tuple(getattr(mistake, key) for key in keys)].append((example, mistake))
        more: list[WordedText] = []
        for group in groups.values():
            about = {key: getattr(group[0][1], key) for key in keys}
            saying = _voted(group, about, every)
            if saying is not None and not _is_covered(saying, group, found):
                more.append(saying)
        found = [*more, *found]
    return tuple(found)


def _voted(
    group: Sequence[tuple[Example, Mistake]], about: Mapping[str, str], every: frozenset[str]
) -> WordedText | None:
    """Return the text that most of a group share; None if it could name an argument that is not at fault."""
    votes: Counter[tuple[str, Channel]] = Counter()
    texts = dict.fromkeys(((text, one.channel) for one, mistake in group for text in _candidates(one, mistake)))
    for text, channel in texts:
        votes[text, channel] = sum(
            _filled(text, one, mistake) == one.text and channel == one.channel for one, mistake in group
        )
    if not votes:
        return None
    (text, channel), _ = max(votes.items(), key=lambda found: found[1])
    agreeing = [(one, mistake) for one, mistake in group if _filled(text, one, mistake) == one.text]
    others = {other.field for one, mistake in agreeing for other in one.mistakes.found if other is not mistake}
    if _any_of(others, text):
        return None
    by_tool = about["kind"] == "unknown" or "field" in about
    spread = {one.tool if by_tool else mistake.field for one, mistake in agreeing}
    names_it = "{field}" in text or _any_of([about.get("field", "")], text)
    # A text learnt from one argument may hold its name by chance; said of another argument, it would mislead.
    names_others = _any_of(every - {about.get("field")}, text)
    if (names_others and not names_it) or (len(spread) < 2 and (names_others or not names_it)):
        return None
    return WordedText(text, channel, **about)


def _is_covered(saying: WordedText, group: Sequence[tuple[Example, Mistake]], found: Sequence[WordedText]) -> bool:
    words = RefusalWords(tuple(found))
    worded = [words.of_one(one.tool, one.mistakes, mistake) for one, mistake in group]
    own = RefusalWords((saying,))
    return worded == [own.of_one(one.tool, one.mistakes, mistake) for one, mistake in group]


def _is_shared(saying: WordedText, singles: Sequence[tuple[Example, Mistake]]) -> bool:
    own = RefusalWords((saying,))
    alike = (own.of_one(one.tool, one.mistakes, mistake) == (one.text, one.channel) for one, mistake in singles)
    return sum(alike) > 1


def _candidates(example: Example, mistake: Mistake) -> Iterator[str]:
    """Yield the text with slots for all known values in it, then with fewer and fewer of them."""
    filled = slots(example.tool, example.mistakes, mistake)
    lists = {name: text for name, text in filled.items() if name.partition("_")[0] in LISTS}
    present = {
        "arguments": {filled[name]: name for name in ("arguments_python", "arguments_json", "arguments")},
        "lists": {text: name for name, text in reversed(lists.items()) if _several(name, example.mistakes, mistake)},
        "value": {filled[name]: name for name in ("value_python", "value_json", "value") if mistake.kind != "absent"},
        "tool": {example.tool: "tool"},
        "field": {mistake.field: "field"},
    }
    present = {
        kind: {text: name for text, name in words.items() if _any_of([text], example.text)}
        for kind, words in present.items()
    }
    used = [kind for kind, words in present.items() if words]
    for left_out in range(len(used) + 1):
        for without in combinations(used, left_out):
            words: dict[str, str] = {}
            for kind in used:
                if kind not in without:
                    words = {**present[kind], **words}
            yield slotted(example.text, words)


def _several(name: str, mistakes: ArgumentMistakes, mistake: Mistake) -> bool:
    """True if a list has two items or more: a single item does not show how lists are joined."""
    lists = {"known": mistakes.known, "required": mistakes.required, "options": mistake.options}
    absent = [one for one in mistakes.found if one.kind == "absent"]
    return len(lists.get(name.partition("_")[0], absent)) > 1


def slotted(text: str, words: Mapping[str, str]) -> str:
    """Return the text with whole words replaced by the slots that `words` maps them to. Braces of the text are escaped."""
    pattern = alone(words) if words else None
    parts = re.split(f"({pattern})", text) if pattern else [text]
    return "".join(
        f"{{{words[part]}}}" if part in words else part.replace("{", "{{").replace("}", "}}") for part in parts
    )


def _filled(text: str, example: Example, mistake: Mistake) -> str:
    return text.format_map(slots(example.tool, example.mistakes, mistake))


def _stages() -> Iterator[tuple[tuple[str, ...], ...]]:
    """Yield the orders in which a server may check kinds of mistakes, one after another or several together."""
    for order in permutations(KINDS):
        yield tuple((kind,) for kind in order)
    yield (KINDS,)
    for alone in KINDS:
        others = tuple(kind for kind in KINDS if kind != alone)
        yield (alone,), others
        yield others, (alone,)


def _framed(words: RefusalWords, several: Sequence[Example]) -> RefusalWords:
    """Return the words with the frames that most texts about several mistakes share, by their kinds."""
    votes: defaultdict[str, Counter[TextFrame]] = defaultdict(Counter)
    for one in several:
        reported = words.reported(one.tool, one.mistakes)
        worded = [words.of_one(one.tool, one.mistakes, mistake) for mistake in reported]
        texts = [text for text, channel in (each for each in worded if each) if channel == one.channel]
        if len(texts) < 2 or len(texts) < len(worded):
            continue
        frame = _frame(one, texts, [mistake.field for mistake in reported])
        if frame is not None:
            votes[kinds_of(reported)][frame] += 1
    frames = {kinds: counted.most_common(1)[0][0] for kinds, counted in votes.items()}
    return RefusalWords(words.sayings, words.stages, frames)


def _frame(one: Example, texts: Sequence[str], fields: Sequence[str]) -> TextFrame | None:
    """Return what single texts lose, and what joins the rest, in a text about several mistakes; None if it is not made of them."""
    shortest = min(text.find(field) for text, field in zip(texts, fields, strict=True))
    rest = min(len(text) - text.rfind(field) - len(field) for text, field in zip(texts, fields, strict=True))
    if shortest < 0:
        return None
    leads = _cuts(_shared(texts)[:shortest])
    tails = _cuts(_shared([text[::-1] for text in texts])[:rest])
    # The least first: what is cut off must be all that the texts lose, and no part of a phrase.
    for taken in sorted(((lead, tail) for lead in leads for tail in tails), key=sum):
        lead, tail = taken
        phrases = [text[lead : len(text) - tail] for text in texts]
        found = _around(one.text, phrases)
        if found is not None:
            parts = (texts[0][:lead], texts[0][len(texts[0]) - tail :] if tail else "", *found)
            return TextFrame(*(slotted(part, {one.tool: "tool"}) for part in parts))
    return None


def _shared(texts: Sequence[str]) -> str:
    """Return the common beginning of all texts."""
    # Sorted, the first and the last differ the earliest, so their common beginning is that of all.
    first, last = min(texts), max(texts)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return first[: sum(1 for _ in alike)]


def _cuts(text: str) -> list[int]:
    """Return the lengths at which a text may be cut: never within a word."""
    return [
        length
        for length in range(len(text) + 1)
        if not (text[length - 1 : length + 1].isalnum() and 0 < length < len(text))
    ]


def _around(text: str, phrases: Sequence[str]) -> tuple[str, str, str] | None:
    """Return the text before, between and after the phrases; None if one is missing, or the joints differ."""
    places: list[int] = []
    at = 0
    for phrase in phrases:
        at = text.find(phrase, at)
        if at < 0 or not phrase:
            return None
        places.append(at)
        at += len(phrase)
    between = {
        text[place + len(phrase) : following]
        for place, phrase, following in zip(places, phrases, places[1:], strict=False)
    }
    return (text[: places[0]], between.pop(), text[at:]) if len(between) == 1 else None


def alone(words: Mapping[str, str] | Sequence[str]) -> str:
    """Return a pattern for the words as whole words, the longer before the shorter."""
    ordered = sorted((word for word in words if word), key=len, reverse=True)
    # Not `\b`, which would find `id` in `user-id`. The longer first, since a pattern takes the first alternative that fits.
    return "|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in ordered) or "(?!)"


def _any_of(words: Iterable[str], text: str) -> bool:
    return re.search(alone(list(words)), text) is not None
