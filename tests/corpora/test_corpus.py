"""Corpora in general: names, errors, fingerprints, measures, alignments."""

from collections.abc import Callable
from pathlib import Path

import pytest

import transformer_core as tc
from tests.corpora.conftest import TASKS
from transformer_core.corpora import CORPORA, Corpus, GeneratedCorpus, Pair, Text, first_half, load_corpus
from transformer_core.errors import CorpusError, Message


def corpus(**changes: object) -> Corpus:
    values: dict[str, object] = {
        "name": "small",
        "title": "Small",
        "description": Message("Two pairs."),
        "train": (Pair("a", "b"),),
        "held_out": (Pair("c", "d"),),
        "examples": ("a",),
        "tokenizer_kind": "word",
    }
    return Corpus(**(values | changes))  # type: ignore[arg-type]


def of_texts(*train: str, held_out: str = "Moon, sun.", **changes: object) -> Corpus:
    return corpus(train=tuple(map(Text, train)), held_out=(Text(held_out),), **changes)


def test_the_known_corpora_bear_the_name_that_they_are_asked_for_by() -> None:
    assert list(CORPORA) == "copy reverse sort addition dates brackets en-fr induction stories".split()
    assert all(generated.about.name == name for name, generated in CORPORA.items())
    for generated in CORPORA.values():
        about = generated.about
        assert about.title and about.description and 4 <= len(about.examples) <= 10
        assert (len(about.train), len(about.held_out)) == (0, 0)


@pytest.mark.parametrize("name", TASKS)
def test_items_are_different_and_alignments_count_in_tokens(name: str, sample: Callable[[str], Corpus]) -> None:
    corpus = sample(name)
    parts = [{item.texts[0] for item in part} for part in (corpus.train, corpus.held_out)]
    assert [len(part) for part in parts] == [len(corpus.train), len(corpus.held_out)] == [2_000, 300]
    assert not parts[0] & parts[1]
    tokenizer = tc.train_tokenizer(corpus.training_texts(), kind=corpus.tokenizer_kind)
    assert [text for text in corpus.examples if tokenizer.unknown_words(text)] == []
    for item in corpus.held_out:
        assert all(tokenizer.decode(tokenizer.encode(text)).lower() == text.lower() for text in item.texts)
        n_source, n_target = (len(tokenizer.encode(item.texts[i])) for i in (0, -1))
        assert len(item.alignment) == n_target
        for unit, sources in enumerate(item.alignment):
            assert list(sources) == sorted(set(sources))
            assert all(0 <= i < (n_source if corpus.is_pairs else unit) for i in sources)


@pytest.mark.parametrize("name", TASKS)
def test_the_seed_decides(name: str, few: Callable[[str], GeneratedCorpus]) -> None:
    generated = few(name)
    drawn = [generated(seed=seed) for seed in (3, 3, 4)]
    assert drawn[0].fingerprint == drawn[1].fingerprint != drawn[2].fingerprint
    assert {(len(corpus.train), len(corpus.held_out)) for corpus in drawn} == {(60, 20)}


def test_an_unknown_name_is_answered_with_the_nearest_and_the_known_ones() -> None:
    with pytest.raises(CorpusError, match=r"'en-de'.* did you mean 'en-fr'\? .*copy, reverse.*stories"):
        load_corpus("en-de")
    for name in ("xyz", "", "\0", "x" * 5_000):
        with pytest.raises(CorpusError, match=r"no corpus '.*', and no file or folder of that name; available"):
            load_corpus(name)


def test_a_path_is_a_corpus_unless_a_generated_one_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copy").write_text("One line.\nAnother line.\nA third line.\n")
    monkeypatch.chdir(tmp_path)
    assert load_corpus("copy").is_pairs
    assert not load_corpus("./copy").is_pairs
    assert not load_corpus(str(tmp_path / "copy")).is_pairs


def test_a_source_cannot_be_both_trained_on_and_held_out() -> None:
    with pytest.raises(CorpusError, match=r"1 sources are both .* for example 'a'"):
        corpus(held_out=(Pair("a", "d"),))
    with pytest.raises(CorpusError, match=r"1 texts are both .* for example 'One\.'"):
        of_texts("One.", held_out="One.")


def test_pairs_and_texts_are_not_mixed() -> None:
    assert corpus().is_pairs
    assert not of_texts("One.").is_pairs
    a, b = Pair("a", "b"), Text("c")
    for train, held_out in [((a, b), ()), ((b, a), ()), ((a,), (b,))]:
        with pytest.raises(CorpusError, match="pairs or texts"):
            corpus(train=train, held_out=held_out)


def test_the_fingerprint_follows_the_pairs_their_order_and_their_part() -> None:
    same = corpus(description=Message("Other words."))
    assert corpus().fingerprint == same.fingerprint
    assert len(same.fingerprint) == 64
    variants = [
        corpus(),
        corpus(train=(Pair("a", "bb"),)),
        corpus(train=(Pair("a", "b"), Pair("c", "d")), held_out=()),
        corpus(train=(Pair("c", "d"), Pair("a", "b")), held_out=()),
        of_texts("a", "b"),
        of_texts("b", "a"),
        of_texts("a\nb"),
        of_texts("a\n1\tb"),
    ]
    assert len({variant.fingerprint for variant in variants}) == len(variants)


def test_an_alignment_belongs_neither_to_equality_nor_to_the_fingerprint() -> None:
    aligned, plain = Pair("a", "b", ((0,),)), Pair("a", "b")
    assert aligned == plain and hash(aligned) == hash(plain) and Text("a", ((),)) == Text("a")
    assert (plain.alignment, Text("a").alignment) == (None, None)
    assert corpus(train=(aligned,)).fingerprint == corpus(train=(plain,)).fingerprint
    assert aligned != Pair("a", "c", ((0,),)) and aligned != ("a", "b")


def test_a_text_tells_what_is_determined_and_what_it_is_trained_on() -> None:
    assert Text("fox owl fox owl", ((), (), (), (1,))).determined == (3,)
    assert Text("fox owl").determined == ()
    assert list(corpus(train=(Pair("a", "b"), Pair("e", "f"))).training_texts()) == ["a", "b", "e", "f"]
    texts = of_texts("One.", fill_in_examples=("The ____ sun.",))
    assert texts.examples_for("encoder_only") == ("The ____ sun.",)
    assert texts.examples_for("decoder_only") == ("a",)
    assert of_texts("One.").examples_for("encoder_only") == ("a",)


def test_the_first_half_ends_with_a_word() -> None:
    prompts = {"One two three four.": "One two three", "One": "One", "": "", "Ab cd": "Ab", "a b\nc d": "a b"}
    for text, prompt in prompts.items():
        assert first_half(Text(text)) == of_texts("One.").prompt_of(Text(text)) == prompt
