"""How a corpus is read: what may be chosen, what follows from it, and what makes no sense."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.corpora.test_corpus import corpus
from transformer_core.config import TokenizerKind
from transformer_core.corpora import Corpus, CorpusReading, Pair, Text, load_corpus
from transformer_core.corpora.reading import AS_MADE, read_as
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.errors import CorpusError

LINES = "".join(f"Line {i} has words.\n" for i in range(40))
POEM = "\n\n".join(f"Verse {i}\nhas two lines." for i in range(40))


def corpus_of(items: Sequence[Pair] | Sequence[Text], **settings: Any) -> Corpus:
    """A corpus whose first item is held out."""
    return corpus(name="turns", train=tuple(items[1:]), held_out=tuple(items[:1]), **settings)


def of_pairs(*sides: tuple[str, str], kind: TokenizerKind = "word") -> Corpus:
    pairs = [Pair(source, target, tuple((0,) for _ in target.split())) for source, target in sides]
    return corpus_of(pairs, tokenizer_kind=kind, measures={"ends": lambda pair, output: output.endswith(".")})


def of_texts(*texts: str) -> Corpus:
    measures: dict[str, Any] = {
        "names": lambda text, output: "Mia" in output,
        "words": lambda text, output: len(output.split()) > 1,
        "never asked": lambda text, output: None,
    }
    items = [Text(text, ((),)) for text in texts]
    settings: dict[str, Any] = {"tokenizer_kind": "byte_bpe", "vocab_size": 1234, "text_measures": measures}
    return corpus_of(items, prompt_of=lambda text: text.text[:3], **settings)


@pytest.fixture
def path(tmp_path: Path) -> Callable[..., str]:
    def write(content: str, name: str = "notes.txt") -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tokens": "letters"}, "tokens must be one of auto, word, character, byte_bpe, the folder .* got 'letters'"),
        ({"division": "pages"}, "division must be one of auto, stretches, lines, stream; got 'pages'"),
        ({"vocab_size": 261, "tokens": "byte_bpe"}, "from 262 to 1,000,000"),
        ({"tokens": "some/one", "vocab_size": 300}, "some/one already determines the vocabulary"),
        *(({"vocab_size": size}, f"from 6 to 1,000,000, .* got {size!r}") for size in (5, 1_000_001, True, "300")),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str):
    with pytest.raises(CorpusError, match=message):
        CorpusReading(**fields)


def test_its_own_tokens_leave_a_corpus_as_it_is():
    corpus = of_pairs(("a b", "B a"), ("c d", "D c"))
    assert CorpusReading() == AS_MADE
    assert read_as(corpus, AS_MADE) == read_as(corpus, CorpusReading(tokens="word")) == corpus
    smaller = read_as(corpus, CorpusReading(vocab_size=50))
    assert smaller == replace(corpus, vocab_size=50) and smaller.train[0].alignment is not None


@pytest.mark.parametrize(("kind", "usual"), [("character", 30_000), ("byte_bpe", 1_000)])
def test_with_other_tokens_alignments_are_not_known_any_more(kind: TokenizerKind, usual: int):
    corpus = of_pairs(("a b", "B a"), ("c d", "D c"))
    other = read_as(corpus, CorpusReading(tokens=kind))
    assert (other.tokenizer_kind, other.vocab_size) == (kind, usual)
    assert [item.alignment for item in (*other.train, *other.held_out)] == [None, None]
    assert other.fingerprint == corpus.fingerprint and other.measures == corpus.measures
    assert read_as(corpus, CorpusReading(tokens=kind, vocab_size=500)).vocab_size == 500


def test_words_keep_the_measures_that_know_what_is_right():
    corpus = of_texts("Abc said Mia.", "Xyz said Ben.")
    assert corpus.text_measures.keys() == {"names", "words", "never asked"}
    words = read_as(corpus, CorpusReading(tokens="word"))
    assert words.text_measures.keys() == {"words", "never asked"}  # " said Mia." comes out as "Said mia."
    assert words.vocab_size == 30_000
    in_front = of_texts("Abc Mia ran home.", "Xyz Ben slept.")
    assert read_as(in_front, CorpusReading(tokens="word")).text_measures.keys() == corpus.text_measures.keys()


@pytest.mark.parametrize("target", ["1976-07-04", "It's McDonald."])
def test_answers_that_words_cannot_write_are_refused(target: str):
    corpus = of_pairs(("a", target), ("b", "x"), kind="character")
    with pytest.raises(CorpusError, match=r"turns cannot be tokenized into words: .* would be decoded as .*; choose"):
        read_as(corpus, CorpusReading(tokens="word"))
    in_words = of_pairs(("1+2", "3"), ("b", "X"), kind="character")
    assert read_as(in_words, CorpusReading(tokens="word")).tokenizer_kind == "word"


def test_bytes_need_a_token_each(path: Callable[..., str]):
    for read in (
        lambda reading: read_as(of_texts("a b c", "d e f"), reading),
        lambda reading: open_corpus(path(LINES), reading),
    ):
        with pytest.raises(CorpusError, match=r"vocab_size \(100\) must be at least 262 for byte_bpe"):
            read(CorpusReading(vocab_size=100))
        assert read(CorpusReading(vocab_size=100, tokens="word")).vocab_size == 100


def test_a_generated_corpus_is_read_as_it_is_wanted():
    corpus = load_corpus("copy", reading=CorpusReading(tokens="byte_bpe", vocab_size=300))
    assert (corpus.tokenizer_kind, corpus.vocab_size) == ("byte_bpe", 300)
    assert corpus.fingerprint == load_corpus("copy").fingerprint
    assert corpus.train[0].alignment is None and load_corpus("copy").train[0].alignment is not None
    with pytest.raises(CorpusError, match=r"copy is generated text by text.*leave it at auto"):
        load_corpus("copy", reading=CorpusReading(division="lines"))


@pytest.mark.parametrize(
    ("kind", "n_bytes", "expected"),
    [("auto", 1_000, 512), ("byte_bpe", 256_000, 1_000), ("word", 256_000, 1_000), ("character", 1_000, 30_000)],
)
def test_of_a_file(path: Callable[..., str], kind: Any, n_bytes: int, expected: int):
    name = path("x" * (n_bytes // 2) + "\n" + "y" * (n_bytes // 2 - 1))
    corpus = load_corpus(name, reading=CorpusReading(tokens=kind))
    assert (corpus.tokenizer_kind, corpus.vocab_size) == ("byte_bpe" if kind == "auto" else kind, expected)
    assert corpus.fingerprint == load_corpus(name).fingerprint


def test_a_file_is_divided_as_it_is_wanted(path: Callable[..., str]):
    pairs = path("a\tb\nc\td\n", "pairs.tsv")
    assert not load_corpus(pairs, reading=CorpusReading(division="lines")).is_pairs
    name = path(POEM)
    corpora = {
        division: load_corpus(name, reading=CorpusReading(division=division))
        for division in ("auto", "stretches", "lines", "stream")
    }
    n_texts = {division: len(corpus.train) + len(corpus.held_out) for division, corpus in corpora.items()}
    assert n_texts["auto"] == n_texts["stretches"] == 40
    assert n_texts["lines"] in (41, 80)  # one line comes again and again, and is trained on or held out
    assert len({corpus.fingerprint for corpus in corpora.values()}) == 3
    assert "".join(text.text for part in ("train", "held_out") for text in getattr(corpora["stream"], part)) == POEM


@pytest.mark.parametrize("text", ["One long paragraph, of which each sentence is long." * 9, "ha\n" * 99])
def test_one_line_alone_is_a_running_text_if_it_is_long_enough(path: Callable[..., str], text: str):
    corpus = load_corpus(path(text))
    assert str(corpus.description).startswith("One continuous text")
    assert "".join(item.text for item in (*corpus.train, *corpus.held_out)) == text
    assert corpus.examples
    with pytest.raises(CorpusError, match=r"contains only one line.* at least 200 bytes of text, so that its end"):
        load_corpus(path(text[:90]))
    with pytest.raises(CorpusError, match="contains only one line"):
        load_corpus(path(text), reading=CorpusReading(division="lines"))


@pytest.mark.parametrize(("source", "target", "wrong"), [("fr", "", "target_column is missing"), ("a", "a", "both a;")])
def test_columns_that_do_not_go_together(source: str, target: str, wrong: str):
    with pytest.raises(CorpusError, match=wrong):
        CorpusReading(source_column=source, target_column=target)
