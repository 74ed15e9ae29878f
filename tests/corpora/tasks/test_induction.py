"""The corpus of repeated words."""

from collections import Counter
from collections.abc import Callable

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


def test_a_text_is_some_words_and_two_or_three_copies(sample: Callable[[str], Corpus]) -> None:
    copies: Counter[int] = Counter()
    corpus = sample("induction")
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


def test_the_alignment_by_hand() -> None:
    words = "tea fox owl bee fox owl bee fox owl bee".split()
    assert align_repetition(words) == ((), (), (), (), (), (2,), (3,), (4,), (2, 5), (3, 6))


TEXT = Text("tea fox owl bee hat fox owl bee hat fox owl bee hat")


def test_the_prompt_ends_where_it_is_clear_that_the_words_come_again(sample: Callable[[str], Corpus]) -> None:
    assert up_to_the_repetition(TEXT) == "tea fox owl bee hat fox owl"
    for text in sample("induction").held_out:
        prompt = sample("induction").prompt_of(text)
        assert text.text.startswith(prompt)
        assert len(prompt.split()) == text.determined[0] + 1


def test_a_continuation_is_right_to_the_end_of_the_second_copy() -> None:
    for right in ("bee hat fox owl bee hat", "Bee hat", "bee hat tea tea"):  # how many copies come cannot be known
        assert continued(TEXT, right) is True
    for wrong in ("bee", "bee fox", ""):
        assert continued(TEXT, wrong) is False
