"""Corpora: training and held-out items, their gold alignments, and the measures that score outputs."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transformer_core.config import Architecture, TokenizerKind
from transformer_core.errors import CorpusError, Message

Alignment = tuple[tuple[int, ...], ...]
"""For each unit, in order, the units that it truly depends on, ascending; an empty tuple: on nothing in the text.

A unit is one token of the corpus's own tokenizer, a character or a word; special tokens do not count.
"""


Antecedents = tuple[tuple[int, int], ...]
"""Each pronoun of a source with each noun that it stands for, as word indices, ascending.

Words are tokens of the word tokenizer, counted from 0, whatever tokenizer is used.
"""


BETWEEN = "|"
"""The separator of several paths in the name of one corpus."""

_SHARED = {  # by is_pairs
    True: Message(
        "{name}: {n} sources are both in the training and in the held-out data, for example "
        "{example!r}; each must be in only one of them."
    ),
    False: Message(
        "{name}: {n} texts are both in the training and in the held-out data, for example "
        "{example!r}; each must be in only one of them."
    ),
}


@dataclass(frozen=True)
class Pair:
    """A source text and its target; pairs of equal texts are equal."""

    source: str
    target: str
    alignment: Alignment | None = field(default=None, compare=False, repr=False)  # of each target unit, in source units
    antecedents: Antecedents | None = field(default=None, compare=False, repr=False)  # None: unknown

    @property
    def texts(self) -> tuple[str, ...]:
        """The source, then the target."""
        return (self.source, self.target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and (self.source, self.target) == (other.source, other.target)


@dataclass(frozen=True)
class Text:
    """One text, for learning each next token or masked tokens."""

    text: str
    alignment: Alignment | None = field(default=None, compare=False, repr=False)  # of each unit: other units

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, alone."""
        return (self.text,)

    @property
    def determined(self) -> tuple[int, ...]:
        """The units that others determine, ascending: those that a model can be expected to predict."""
        return tuple(unit for unit, sources in enumerate(self.alignment or ()) if sources)


@dataclass(frozen=True)
class Labelled(Text):
    """A text with a label for each unit: a model learns to predict each label at the position of its unit."""

    labels: tuple[str, ...] = ()  # tokens of the vocabulary, one for each unit of the text


Measure = Callable[[Pair, str], bool | None]
"""Given a pair and the model's output text: is the output correct in this respect? None: the measure does not apply.

Target and output are both as the tokenizer decodes them: words lose capitals and some spaces.
"""

TextMeasure = Callable[[Text, str], bool | None]
"""Given a held-out text and the model's continuation of its prompt: is that correct in this respect?

The prompt is not part of the continuation. None: the measure does not apply.
"""


def first_half(text: Text) -> str:
    """Return the first half of a text, extended to the end of the word in its middle."""
    middle = len(text.text) // 2
    end = next((i for i in range(middle, len(text.text)) if text.text[i].isspace()), len(text.text))
    return text.text[:end]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Pairs or texts for training, held-out ones, and all the metadata that pages and measurements need.

    A model is measured in three ways. *Pairs*: exact match and `measures` score its output for each source. *Texts*:
    `text_measures` score its continuation of the prompt that `prompt_of` cuts from each held-out text. *Texts with an
    alignment*: without any measure, its predictions of the units in `Text.determined` are correct or wrong.

    Args:
        train: all `Pair` or all `Text`: a tuple, or a sequence that reads its items on access.
        held_out: the same, disjoint from `train`; for tuples this is checked.
        known_fingerprint: the fingerprint, for a corpus whose items are not in memory.

    Raises:
        CorpusError: an item is both in the training and in the held-out part, or pairs and texts are mixed.
    """

    name: str  # as `load_corpus` takes it
    title: str  # for the screen
    description: Message  # one or two sentences
    train: Sequence[Any] = ()  # Sequence[Pair] or Sequence[Text], see `is_pairs`
    held_out: Sequence[Any] = ()  # the same
    examples: tuple[str, ...]  # good sources or prompts to click on; the first is the best known
    fill_in_examples: tuple[str, ...] = ()  # good texts with gaps, written ____, for an encoder
    tokenizer_kind: TokenizerKind
    vocab_size: int = 30_000  # the largest vocabulary of its tokenizer
    tokenizer_source: str = ""  # replaces both: an external tokenizer, given by its folder or Hub id
    words: tuple[str, ...] = ()  # replaces all three: the vocabulary in order, after the special tokens
    measures: Mapping[str, Measure] = field(default_factory=dict)  # of pairs, besides exact match
    text_measures: Mapping[str, TextMeasure] = field(default_factory=dict)  # of texts
    prompt_of: Callable[[Text], str] = first_half  # returns the beginning of a held-out text, which a model continues
    known_fingerprint: str = ""  # 64 hexadecimal digits; "": `fingerprint` is computed from the items

    def __post_init__(self) -> None:
        kind = Pair if self.is_pairs else Text
        for part in (self.train, self.held_out):
            if not all(isinstance(item, kind) for item in (part if isinstance(part, tuple) else part[:1])):
                raise CorpusError("{name}: a corpus must contain either pairs or texts, not both.", name=self.name)
        if isinstance(self.train, tuple) and isinstance(self.held_out, tuple):
            shared = {item.texts[0] for item in self.train} & {item.texts[0] for item in self.held_out}
            if shared:
                raise CorpusError(_SHARED[self.is_pairs], name=self.name, n=len(shared), example=min(shared))

    @property
    def is_pairs(self) -> bool:
        """True if `train` and `held_out` hold pairs; otherwise they hold texts."""
        some = self.train if len(self.train) else self.held_out
        return not len(some) or isinstance(some[0], Pair)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all items in order, as 64 hexadecimal digits: equal corpora have equal fingerprints."""
        if self.known_fingerprint:
            return self.known_fingerprint
        digest = hashlib.sha256()
        for part in (self.train, self.held_out):
            for item in part:
                digest.update(_written(item).encode())
            digest.update(b"\f\n")
        return digest.hexdigest()

    def examples_for(self, architecture: Architecture) -> tuple[str, ...]:
        """Return good inputs of a model: texts with gaps for an encoder."""
        return self.fill_in_examples if architecture == "encoder_only" and self.fill_in_examples else self.examples

    def training_texts(self) -> Iterator[str]:
        """Yield every training text, of a pair its source and its target; a tokenizer is trained on them."""
        for item in self.train:
            yield from item.texts


def _written(item: Pair | Text) -> str:
    """Return an item as the fingerprint reads it; a text may contain line breaks, so its length precedes it."""
    if isinstance(item, Pair):
        return f"{item.source}\t{item.target}\n"
    labels = "".join(f"\t{label}" for label in item.labels) if isinstance(item, Labelled) else ""
    return f"{len(item.text)}\t{item.text}{labels}\n"
