"""A session writes what decoding without one writes, goes anywhere in its tree, and says how branches differ."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import transformer_core as tc
from tests.decoding.test_beam_tree import ARCHITECTURES, wide_awake
from tests.model.building import random_tokens
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.session import DecodingSession
from transformer_core.decoding.settings import Sampling
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import TextError

PAD, BOS, EOS, VOCAB = 0, 1, 2, 13
each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES)


def text(seed: int = 0) -> Tensor:
    return random_tokens([4], vocab_size=VOCAB, seed=seed)


def endless(architecture: str = "decoder_only", **changes: Any) -> tc.Transformer:
    """A model that never generates an <eos>."""
    model = wide_awake(architecture, unembed_bias=True, **changes)
    with torch.no_grad():
        model.unembed.bias[EOS] = -100
    return model


ENDLESS = endless()


def tokens_of(steps: "list[DecodingStep] | tuple[DecodingStep, ...]") -> list[int]:
    return [step.token for step in steps]


@each_architecture
@pytest.mark.parametrize("seed", range(6))
def test_greedy_is_greedy_decoding(architecture: str, seed: int):
    model, given = wide_awake(architecture, seed=seed), text(seed)
    end = DecodingSession(model, given).to_end()
    assert tokens_of(end.path()) == tc.greedy_decode(model, given).tokens[0].tolist()


@each_architecture
def test_samples_are_drawn_from_a_plain_forward(architecture: str):
    model, given = endless(architecture), text()
    sampling = Sampling(temperature=0.8, top_k=6, top_p=0.9, repetition_penalty=1.2, seed=5)
    end = DecodingSession(model, given, sampling=sampling).to_end()
    tokens = [BOS] if model.encoder else given[0].tolist()
    with torch.no_grad():
        while len(tokens) < 12:
            now = torch.tensor([tokens])
            logits = (model(given, now) if model.encoder else model(now))[0, -1]
            logits[PAD] = -math.inf
            tokens.append(draw(next_log_probs(logits, tokens, sampling), seed=5, position=len(tokens)))
    assert tokens_of(end.path()) == tokens


def test_the_seed_says_what_is_written_whoever_wrote_before():
    model, given = endless(), text()
    texts = {}
    shared = DecodingTree(model, given)
    for seed in (1, 2, 3):
        alone = DecodingSession(model, given, sampling=Sampling(seed=seed))
        beside = DecodingSession.of(shared, sampling=Sampling(seed=seed))
        step_by_step = [alone.forward(), alone.forward()]
        alone.back()
        assert [alone.forward()] == step_by_step[1:]
        texts[seed] = tokens_of(alone.to_end().written())
        assert tokens_of(beside.to_end().written()) == texts[seed]
        assert tokens_of([*beside.follow({})]) == texts[seed]
    assert len({tuple(written) for written in texts.values()}) == 3


def test_a_fork_is_a_branch_of_its_own():
    session = DecodingSession(endless(), text())
    end = session.to_end(max_new_tokens=4)
    first, second, *_ = end.written()
    session.jump(first)
    other = session.fork(next(token for token in range(3, VOCAB) if token != second.token))
    assert other.parent is first and session.tips == [end, other]
    longer = session.forward()
    assert session.tips == [end, longer] and session.back() is other
    assert session.jump(first) is first
    assert session.forward() is other, "one goes forward along the branch that was begun last"
    session.jump(first)
    assert session.fork(second.token) is second and session.tips == [end, longer], "this branch is there already"
    assert session.forward() is end.written()[2]


def test_a_text_of_one_s_own_is_read_in_one_forward():
    session = DecodingSession(endless(), text())
    session.fork(5, 6, 7, 8)
    assert [step.prediction.n_read for step in session.at.written() if step.prediction] == [3, 3, 3]
    at, tips = session.at, session.tips
    with pytest.raises(TextError, match="token id 13 is not in the vocabulary"):
        session.fork(5, VOCAB)
    assert session.at is at and session.tips == tips and not at.children


def test_a_jump_goes_anywhere_in_the_tree_and_nowhere_else():
    tree = DecodingTree(endless(), text())
    one, other = DecodingSession.of(tree), DecodingSession.of(tree)
    end = one.fork(5, 6)
    assert other.jump(end) is end and other.tips == [tree.start]
    assert other.forward().parent is end and other.tips == [other.at]
    assert tree.start.parent is not None
    for step in (tree.start.parent, DecodingTree(endless(), text()).start):
        with pytest.raises(TextError, match=r"^this step belongs to another tree or to the prompt; choose one"):
            one.jump(step)


def test_where_the_text_has_ended_nothing_comes_next():
    session = DecodingSession(endless(), text())
    end = session.fork(EOS)  # the first token
    assert session.has_ended and session.to_end() is end
    for act in (session.forward, lambda: session.choice(end), lambda: session.distribution(end)):
        with pytest.raises(TextError, match=r"^the text ends here; go back to continue"):
            act()
    session.back()
    assert session.forward() is end and session.has_ended


forced_texts = st.lists(st.integers(3, VOCAB - 1), min_size=1, max_size=3)


@settings(max_examples=20)
@given(st.dictionaries(st.integers(0, 7), forced_texts, max_size=3), st.integers(0, 20))
def test_forced_tokens_stand_where_they_belong(forced: dict[int, list[int]], seed: int):
    session = DecodingSession(ENDLESS, text(), sampling=Sampling(seed=seed))
    expected: list[int] = []
    waiting: list[int] = []
    for place in range(5):
        waiting = [*forced.get(place, waiting)]
        last = session.tree.teacher_force(session.tree.start, expected)
        expected.append(waiting.pop(0) if waiting else session.choice(last))
    assert tokens_of([*session.follow({k: v for k, v in forced.items() if k < 5}, max_new_tokens=5)]) == expected


def test_forced_tokens_that_have_no_place():
    session = DecodingSession(ENDLESS, text())
    refused: dict[str, list[int]] = {
        "token id 13 is not in the vocabulary": [5, VOCAB],
        "the text ends here": [5, EOS, 6],
        "leaves room for 8, not 9": [5] * 9,
    }
    for message, forced in refused.items():
        with pytest.raises(TextError, match=message):
            [*session.follow({0: forced})]
    assert tokens_of([*session.follow({0: [5, EOS], 2: [7]})]) == [5, EOS], "tokens after the end are left out"
    assert [*session.follow({0: [5]}, max_new_tokens=0)] == []


def test_branches_are_compared():
    session = DecodingSession(ENDLESS, text())
    one = session.fork(5, 6, 7)
    session.jump(one.written()[0])
    other = session.fork(8)
    comparison = session.compare(one, other)
    assert (tokens_of(comparison.shared), tokens_of(comparison.a), tokens_of(comparison.b)) == ([5], [6, 7], [8])
    assert comparison.parting == 5  # after a prompt of 4 tokens and one that they share
    within = session.compare(one.written()[1], one)
    assert (tokens_of(within.shared), within.a, tokens_of(within.b)) == ([5, 6], (), [7])
    assert within.parting is None and session.compare(one, one).parting is None


@each_architecture
def test_led_and_free(architecture: str):
    model, given = endless(architecture), text()
    free = tc.greedy_decode(model, given, max_new_tokens=6).tokens[0, -6:].tolist()
    target = free.copy()
    target[3] = next(token for token in range(3, VOCAB) if token != free[3])
    session = DecodingSession(model, given)
    comparison = session.compare_with_free_running(target)
    assert tokens_of(comparison.whole[0]) == target
    assert tokens_of(comparison.shared) == free[:3]
    assert tokens_of(comparison.a) == target[3:] and tokens_of(comparison.b) == free[3:]
    assert comparison.parting == session.tree.start.position + 4
    same = session.compare_with_free_running(free)
    assert tokens_of(same.shared) == free and same.parting is None


def test_forward_back_and_the_branch_between():
    session = DecodingSession(endless(), text())
    start = session.at
    first, second = session.forward(), session.forward()
    assert session.back() is first and session.back() is start and session.back() is start
    assert session.forward() is first and session.forward() is second
    assert session.tips == [second]
