"""The corpus of repeated words."""

from collections import Counter
from collections.abc import Callable

import pytest

from transformer_core.corpora import Corpus, Text
from transformer_core.corpora.tasks.induction import (
    MAX_AHEAD,
    MAX_WORDS,
    MIN_REPEATED,
    align_repetition,
    continued,
    up_to_the_repetition,
)


def begin_and_length(words: list[str]) -> tuple[int, int]:
    """Where the first copy begins, and how many words it has: by the first word that comes again."""
    again = min(i for i, word in enumerate(words) if words.index(word) < i)
    return words.index(words[again]), again - words.index(words[again])


def test_a_text_is_some_words_and_two_or_three_copies(made: Callable[[str], Corpus]) -> None:
    copies: Counter[int] = Counter()
    corpus = made("induction")
    for text in corpus.train:
        words = text.text.split()
        begin, n = begin_and_length(words)
        assert len(words) <= MAX_WORDS <= 62  # with <bos> and <eos> 64 at most
        assert begin <= MAX_AHEAD and n >= MIN_REPEATED
        assert len(set(words[: begin + n])) == begin + n
        n_copies, rest = divmod(len(words) - begin, n)
        assert rest == 0 and words[begin:] == words[begin : begin + n] * n_copies
        copies[n_copies] += 1
    assert set(copies) == {2, 3} and min(copies.values()) > 400


def test_a_word_is_copied_from_where_it_stands_in_the_copies_before(made: Callable[[str], Corpus]) -> None:
    for text in made("induction").held_out:
        words = text.text.split()
        begin, n = begin_and_length(words)
        for t, sources in enumerate(text.alignment):
            if t <= begin + n:
                assert sources == ()
            else:  # the first word of the third copy follows the end of the second one, but not that of the first
                earlier = [p for p in range(t - n, begin - 1, -n) if p > begin]
                assert list(sources) == sorted(earlier)
        assert text.determined == tuple(range(begin + n + 1, len(words)))


def test_the_alignment_by_hand() -> None:
    words = "tea fox owl bee fox owl bee fox owl bee".split()
    assert align_repetition(words) == ((), (), (), (), (), (2,), (3,), (4,), (2, 5), (3, 6))


TEXT = Text("tea fox owl bee hat fox owl bee hat fox owl bee hat")


def test_the_prompt_ends_where_it_is_clear_that_the_words_come_again(made: Callable[[str], Corpus]) -> None:
    assert up_to_the_repetition(TEXT) == "tea fox owl bee hat fox owl"
    for text in made("induction").held_out:
        prompt = made("induction").prompt_of(text)
        assert text.text.startswith(prompt)
        assert len(prompt.split()) == text.determined[0] + 1


@pytest.mark.parametrize(
    ("output", "right"),
    [
        ("bee hat fox owl bee hat", True),
        ("Bee hat", True),  # as the word tokenizer writes it
        ("bee hat tea tea", True),  # how many copies there will be cannot be known
        ("bee", False),
        ("bee fox", False),
        ("", False),
    ],
)
def test_a_continuation_is_right_to_the_end_of_the_second_copy(output: str, right: bool) -> None:
    assert continued(TEXT, output) is right


def test_every_held_out_text_continues_itself(made: Callable[[str], Corpus]) -> None:
    corpus = made("induction")
    assert list(corpus.text_measures) == ["continued"]
    for text in corpus.held_out:
        rest = text.text.removeprefix(corpus.prompt_of(text))
        assert corpus.text_measures["continued"](text, rest) is True
        assert corpus.text_measures["continued"](text, text.text) is False
