"""What a corpus is: what to train on, what is kept back, what truly depends on what, and how an output is judged."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from transformer_core.config import Architecture
from transformer_core.errors import CorpusError, Message

Alignment = tuple[tuple[int, ...], ...]
"""For each unit, in order, the units that it truly depends on, ascending; an empty tuple: on nothing in the text.

A unit is what the corpus's own tokenizer makes one token of, a character or a word; special tokens are not counted.
"""


Antecedents = tuple[tuple[int, int], ...]
"""Each pronoun of a source with each noun that it stands for, as places of words, ascending.

Words are those that the word tokenizer makes of the source, from 0 on, whatever tokenizer is used.
"""


TokenizerKind = Literal["word", "character", "byte_bpe"]
"""What one token is; byte_bpe: some bytes that often come together."""

BETWEEN = "|"
"""What is between the paths of several files in the name of one corpus."""

_SHARED = {  # by whether it is pairs
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
    """A text and the text that the model shall turn it into; pairs of equal texts are equal."""

    source: str
    target: str
    alignment: Alignment | None = field(default=None, compare=False, repr=False)  # of each target unit: source units
    antecedents: Antecedents | None = field(default=None, compare=False, repr=False)  # None: nothing is known of them

    @property
    def texts(self) -> tuple[str, ...]:
        """The source, then the target."""
        return (self.source, self.target)

    def __eq__(self, other: object) -> bool:
        """Whether both texts are the same, whatever class of pair each is."""
        return isinstance(other, Pair) and (self.source, self.target) == (other.source, other.target)


@dataclass(frozen=True)
class Text:
    """One text, to learn each next token of, or tokens that are masked."""

    text: str
    alignment: Alignment | None = field(default=None, compare=False, repr=False)  # of each unit: others of this text

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, alone."""
        return (self.text,)

    @property
    def determined(self) -> tuple[int, ...]:
        """The units that others determine, ascending: the ones that a model can be expected to get right."""
        return tuple(unit for unit, sources in enumerate(self.alignment or ()) if sources)


@dataclass(frozen=True)
class Labelled(Text):
    """A text with a label for each unit: a model learns to say the labels, each at the position of its unit."""

    labels: tuple[str, ...] = ()  # tokens of the vocabulary, one for each unit of the text


Measure = Callable[[Pair, str], bool | None]
"""Given a pair and the model's output text: is the output right in this respect? None: the measure does not apply.

The target is given as the tokenizer writes it, as the output is: words lose capitals and some spaces.
"""

TextMeasure = Callable[[Text, str], bool | None]
"""Given a held-out text and what the model wrote after `prompt_of` of it: is that right in this respect?

The prompt is not part of what it wrote. None: the measure does not apply.
"""


def first_half(text: Text) -> str:
    """The beginning of a text, up to the end of the word in which its middle lies."""
    middle = len(text.text) // 2
    end = next((i for i in range(middle, len(text.text)) if text.text[i].isspace()), len(text.text))
    return text.text[:end]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Pairs, or texts, for training and others held out, with what a page and a measurement need to know of them.

    How well a model does is measured in three ways. *Pairs*: exact match, and `measures` judge what it makes of each
    source. *Texts*:
    `text_measures` judge what it writes after the prompt that `prompt_of` cuts from each held-out text. *Texts with an
    alignment*: without any measure, its prediction of each unit in `Text.determined` is right or wrong.

    Args:
        train: all `Pair` or all `Text`: a tuple, or a sequence that reads its items when they are asked for.
        held_out: the same, nothing of it in `train`; for tuples this is checked.
        known_fingerprint: for a corpus whose items are not in memory: the fingerprint that its reader gives it.

    Raises:
        CorpusError: something is both in training and held out, or pairs and texts are mixed.
    """

    name: str  # as `load_corpus` knows it
    title: str  # for the screen
    description: Message  # one or two sentences
    train: Sequence[Any] = ()  # Sequence[Pair] or Sequence[Text]: `is_pairs` tells which
    held_out: Sequence[Any] = ()  # the same
    examples: tuple[str, ...]  # good sources or prompts to click on; the first is the best known
    fill_in_examples: tuple[str, ...] = ()  # good texts with gaps, written ____, for a model that fills them in
    tokenizer_kind: TokenizerKind
    vocab_size: int = 30_000  # tokens of its tokenizer at most
    tokenizer_source: str = ""  # in place of both, a tokenizer from elsewhere: its folder, or its id on the Hub
    words: tuple[str, ...] = ()  # in place of all three, the vocabulary, in order, after the special tokens
    measures: Mapping[str, Measure] = field(default_factory=dict)  # of pairs, beside exact match
    text_measures: Mapping[str, TextMeasure] = field(default_factory=dict)  # of texts
    prompt_of: Callable[[Text], str] = first_half  # the beginning of a held-out text that a model is to continue
    known_fingerprint: str = ""  # 64 hexadecimal digits, or "": `fingerprint` is worked out from the items

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
        """Whether `train` and `held_out` hold pairs; else they hold texts."""
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
        """Return good texts to give to a model: with gaps where it fills them in."""
        return self.fill_in_examples if architecture == "encoder_only" and self.fill_in_examples else self.examples

    def training_texts(self) -> Iterator[str]:
        """Yield every text to train on, of a pair its source, then its target: what a tokenizer is made from."""
        for item in self.train:
            yield from item.texts


def _written(item: Pair | Text) -> str:
    """An item as its fingerprint reads it; a text may hold line breaks, so its length goes before it."""
    if isinstance(item, Pair):
        return f"{item.source}\t{item.target}\n"
    labels = "".join(f"\t{label}" for label in item.labels) if isinstance(item, Labelled) else ""
    return f"{len(item.text)}\t{item.text}{labels}\n"
