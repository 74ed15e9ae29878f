"""How a corpus is read: what one token is, and what one text of a file is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from transformer_core.arguments import check_choice
from transformer_core.config import TokenizerKind
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.errors import CorpusError

MadeHere = Literal["auto", "word", "character", "byte_bpe"]
Divided = Literal["auto", "stretches", "lines", "stream"]
Header = Literal["auto", "yes", "no"]

# The special tokens, one more token, and for byte_bpe one token per byte.
_FEWEST_TOKENS: dict[TokenizerKind, int] = {"word": 6, "character": 6, "byte_bpe": 262}
_MOST_TOKENS = 1_000_000
# For a generated corpus: all words, all characters, or enough for most words to be one token.
_USUAL_TOKENS: dict[TokenizerKind, int] = {"word": 30_000, "character": 30_000, "byte_bpe": 1_000}
_N_TRIED = 20  # number of correct answers on which a measure is tried


@dataclass(frozen=True, kw_only=True)
class CorpusReading:
    """How to read a corpus; "auto" chooses what suits the corpus.

    Raises:
        CorpusError: a field is invalid; the message names it and the allowed values.
    """

    tokens: str = "auto"  # one of MadeHere (of files: byte_bpe), or a tokenizer's folder or Hub id, with a "/" in it
    division: Divided = "auto"  # of a text file; a stream is one running text, whose last tenth is held out
    vocab_size: int | None = None  # maximum, including special tokens; None: chosen to suit the corpus
    skip_bad_lines: bool = False  # of a table: skip lines without a pair or text instead of refusing the file
    text_column: str = ""  # of a table, with the text; "a+b": both, each on its own line; "": by usual names
    source_column: str = ""  # of a table of pairs, or of parallel files (en, fr), with the source
    target_column: str = ""  # with the target
    header: Header = "auto"  # of CSV and TSV: the first line names the columns; auto: if it seems to

    def __post_init__(self) -> None:
        if self.tokens not in get_args(MadeHere) and "/" not in str(self.tokens):
            raise CorpusError(
                "tokens must be one of {choices}, the folder of a tokenizer (./folder), or a Hugging "
                "Face Hub id (owner/name); got {value!r}",
                choices=", ".join(get_args(MadeHere)),
                value=self.tokens,
            )
        check_choice("division", self.division, get_args(Divided), CorpusError)
        check_choice("header", self.header, get_args(Header), CorpusError)
        if self.text_column and (self.source_column or self.target_column):
            raise CorpusError(
                "choose text_column alone, or source_column and target_column together; got {text!r}, {source!r} and "
                "{target!r}",
                text=self.text_column,
                source=self.source_column,
                target=self.target_column,
            )
        if bool(self.source_column) != bool(self.target_column):
            raise CorpusError(
                "source_column and target_column are both needed for pairs; {missing} is missing",
                missing="target_column" if self.source_column else "source_column",
            )
        if self.source_column and self.source_column == self.target_column:
            raise CorpusError(
                "source_column and target_column are both {column}; choose two different columns, or text_column alone",
                column=self.source_column,
            )
        if self.tokenizer_source and self.vocab_size is not None:
            raise CorpusError(
                "the tokenizer {source} already determines the vocabulary; leave out vocab_size", source=self.tokens
            )
        fewest = min(_FEWEST_TOKENS.values()) if self.kind is None else _FEWEST_TOKENS[self.kind]
        if self.vocab_size is not None and not (
            type(self.vocab_size) is int and fewest <= self.vocab_size <= _MOST_TOKENS
        ):
            raise CorpusError(
                "vocab_size must be a whole number from {fewest:,} to {most:,}, or none to choose it "
                "automatically; got {vocab_size!r}",
                fewest=fewest,
                most=_MOST_TOKENS,
                vocab_size=self.vocab_size,
            )

    @property
    def kind(self) -> TokenizerKind | None:
        """The kind of tokens; None: chosen to suit the corpus, or defined by an external tokenizer."""
        return cast(TokenizerKind, self.tokens) if self.tokens in get_args(TokenizerKind) else None

    @property
    def tokenizer_source(self) -> str:
        """The folder or Hub id of an external tokenizer; "" for the corpus's own."""
        return "" if self.tokens in get_args(MadeHere) else self.tokens

    def refuse_table(self, name: str) -> None:
        """Check that no option is set that only applies to tables.

        Raises:
            CorpusError: lines are to be skipped, or columns or a header are specified.
        """
        chosen = [
            field
            for field in ("skip_bad_lines", "text_column", "source_column", "target_column", "header")
            if getattr(self, field) != getattr(AS_MADE, field)
        ]
        if chosen:
            raise CorpusError(
                "{name} is not a table; {setting} only applies to JSON, JSON lines, CSV, TSV, Parquet and parallel "
                "files, leave it out",
                name=name,
                setting=chosen[0],
            )

    def vocab_size_of(self, kind: TokenizerKind, usual: int) -> int:
        """Return the largest vocabulary size for a kind of tokens, `usual` by default.

        Raises:
            CorpusError: this kind of tokens needs a larger vocabulary.
        """
        if self.vocab_size is None:
            return usual
        if self.vocab_size < _FEWEST_TOKENS[kind]:
            raise CorpusError(
                "vocab_size ({vocab_size:,}) must be at least {fewest:,} for byte_bpe, which has a token "
                "for each byte; raise it, or choose word or character as tokens",
                vocab_size=self.vocab_size,
                fewest=_FEWEST_TOKENS[kind],
            )
        return self.vocab_size


AS_MADE = CorpusReading()
"""What suits the corpus."""


def read_as(corpus: Corpus, reading: CorpusReading) -> Corpus:
    """Return a generated corpus with other tokens.

    The result has no alignments, because those index the original tokens. It keeps only the measures that still accept
    the correct answers after these are encoded and decoded: words lose capitals and some spaces.

    Args:
        corpus: generated.
        reading: how to read it.

    Raises:
        CorpusError: an option only applies to files, or the answers cannot be written in words.
    """
    reading.refuse_table(corpus.name)
    if reading.division != "auto":
        raise CorpusError(
            "{name} is generated text by text, so it cannot be divided differently; division only applies to text "
            "files, leave it at auto",
            name=corpus.name,
        )
    kind = reading.kind or corpus.tokenizer_kind
    changes: dict[str, Any] = {"tokenizer_source": reading.tokenizer_source}
    if not reading.tokenizer_source:
        usual = corpus.vocab_size if kind == corpus.tokenizer_kind else _USUAL_TOKENS[kind]
        changes = {"tokenizer_kind": kind, "vocab_size": reading.vocab_size_of(kind, usual)}
        if kind == corpus.tokenizer_kind:
            return replace(corpus, **changes)
        if kind == "word":
            changes["measures" if corpus.is_pairs else "text_measures"] = _measures_for_words(corpus)
    train, held_out = map(_without_alignments, (corpus.train, corpus.held_out))
    return replace(corpus, train=train, held_out=held_out, **changes)


def _without_alignments(items: Sequence[Any]) -> Sequence[Any]:
    from transformer_core.corpora.storage.kept_items import KeptItems  # numpy is slow to import

    if isinstance(items, KeptItems):
        return items.without_alignments()
    return tuple(replace(item, alignment=None) for item in items)


def _measures_for_words(corpus: Corpus) -> dict[str, Any]:
    """Return the measures that accept the correct answers when these are tokenized into words.

    Raises:
        CorpusError: the target of a pair would change when decoded.
    """
    from transformer_core.text.tokenizer import train_tokenizer

    held_out: Sequence[Any] = corpus.held_out[:: max(1, len(corpus.held_out) // _N_TRIED)][:_N_TRIED]
    answers = [
        item.target if isinstance(item, Pair) else item.text.removeprefix(corpus.prompt_of(item)) for item in held_out
    ]
    tokenizer = train_tokenizer(answers, kind="word")
    written = [tokenizer.decode(ids) for ids in tokenizer.encode_batch(answers)]
    measures = corpus.measures if corpus.is_pairs else corpus.text_measures
    valid = {
        name: measure
        for name, measure in measures.items()
        if all(measure(item, answer) is not False for item, answer in zip(held_out, written, strict=True))
    }
    if corpus.is_pairs and written != answers:
        answer, decoded = next(pair for pair in zip(answers, written, strict=True) if pair[0] != pair[1])
        raise CorpusError(
            "{name} cannot be tokenized into words: {right!r} would be decoded as {wrong!r}; choose "
            "character or byte_bpe as tokens",
            name=corpus.name,
            right=answer,
            wrong=decoded,
        )
    return valid
