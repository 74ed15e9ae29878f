"""A tree of steps: in any order, each step equals reading its path again, and is read once."""

import math
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Barrier
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import transformer_core as tc
from tests.model.building import DECODER, ENCODER, VARIATIONS, odd_config, random_tokens, shaken_model, varied_model
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import ConfigError, TextError
from transformer_core.hooks import active_hooks, named_hook_points

PAD, BOS, EOS, VOCAB = 0, 1, 2, 37
WRITERS = [name for name in VARIATIONS if not name.startswith("encoder")]


@cache
def writer(variation: str) -> tc.Transformer:
    return varied_model(variation).double()


def given_tokens(n: int = 5) -> Tensor:
    return random_tokens([n], vocab_size=VOCAB)


def all_steps(tree: DecodingTree) -> list[DecodingStep]:
    actual = [tree.start.path()[0]]
    for step in actual:
        actual.extend(step.children.values())
    return actual


def tokens_of(step: DecodingStep) -> list[int]:
    return [one.token for one in step.path()]


@torch.no_grad()
def check(tree: DecodingTree, given: Tensor) -> None:
    """Every step that was read says what one forward over its path says, without a cache."""
    model = tree.model
    for end in (step for step in all_steps(tree) if not any(child.prediction for child in step.children.values())):
        if end.prediction is None:
            continue
        text = torch.tensor([tokens_of(end)])
        with tc.capture(model, "decoder.*.hook_pattern") as acts:
            logits = model(given, text) if model.encoder else model(text)
        log_probs = logits[0].log_softmax(dim=-1)
        for step in end.path():
            assert step.prediction is not None
            if step.position:
                message = float(log_probs[step.position - 1, step.token])
                assert step.log_prob == pytest.approx(message, abs=1e-5)
            written = torch.tensor([token != model.config.suppressed_token_id for token in range(VOCAB)])
            torch.testing.assert_close(
                step.prediction.log_probs[written],
                log_probs[step.position, written].float(),
                rtol=0,
                atol=1e-5,
            )
            assert (step.prediction.logits[~written] == -math.inf).all()
            for kind, rows in (("self", step.prediction.self_rows), ("cross", step.prediction.cross_rows)):
                if rows is None:
                    assert kind == "cross" and model.encoder is None
                    continue
                patterns = [acts[f"decoder.blocks.{i}.{kind}_attn.hook_pattern"] for i in range(2)]
                n_keys = step.position + 1 if kind == "self" else given.shape[1]
                expected = torch.stack([pattern[0, :, step.position, :n_keys] for pattern in patterns])
                torch.testing.assert_close(torch.from_numpy(rows), expected.float(), rtol=1e-5, atol=1e-6)


@contextmanager
def counting(model: tc.Transformer, site: str = "decoder.hook_embed", *, axis: int = 1) -> Iterator[list[int]]:
    """The positions that pass a site, those of all texts of a forward, one number a forward."""
    passed: list[int] = []

    def count(value: Tensor) -> Tensor:
        passed.append(value.shape[0] * value.shape[axis])
        return value

    with active_hooks({named_hook_points(model)[site]: count}):
        yield passed


tokens = st.integers(3, VOCAB - 1)
places = st.integers(0, 30)  # of a step, among those there are
walks = st.lists(
    st.one_of(
        st.tuples(st.just("go on"), places, tokens),
        st.tuples(st.just("lead"), places, st.lists(tokens, max_size=4)),
        st.tuples(st.just("read"), st.lists(places, min_size=1, max_size=4), st.just(None)),
        st.tuples(st.just("fan"), places, st.lists(tokens, min_size=2, max_size=4)),  # several ends side by side
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25)
@given(st.sampled_from(WRITERS), st.integers(1, 4), walks)
def test_any_walk_reads_each_step_once_and_as_if_anew(variation: str, n_given: int, walk: list[tuple[str, Any, Any]]):
    model, source = writer(variation), given_tokens(n_given)
    with counting(model) as n_read:
        tree = DecodingTree(model, source)
        steps = [tree.start]
        for what, where, news in walk:
            if what == "read":
                tree.read(*(steps[place % len(steps)] for place in where))
                continue
            step = steps[where % len(steps)]
            if what == "lead" and len(news) <= tree.room_after(step):
                steps.append(tree.teacher_force(step, news))
            elif what == "go on" and tree.has_room(step):
                steps.append(tree.child(step, news))
            elif what == "fan" and tree.has_room(step):
                fan = [tree.child(step, token) for token in news]
                tree.read(*fan)
                steps += fan
    assert sum(n_read) == sum(step.prediction is not None for step in all_steps(tree))
    check(tree, source)


@pytest.mark.parametrize("variation", WRITERS)
def test_every_variation_forks_leads_and_fans(variation: str):
    model, source = writer(variation), given_tokens()
    tree = DecodingTree(model, source)
    end = tree.teacher_force(tree.start, [5, 6, 7, 8, 9, 10])
    fork = tree.teacher_force(end.path()[tree.start.position + 3], [11, 12])
    beams = [tree.child(tree.child(step, 13), 14) for step in (end, fork, tree.start)]
    tree.read(*beams)
    tree.read(*(tree.child(beam, 15) for beam in (beams[2], beams[0])))
    check(tree, source)


def test_the_memory_is_made_once_and_its_keys_too():
    model = writer("the paper's")
    with (
        counting(model, "encoder.hook_embed") as encoded,
        counting(model, "decoder.blocks.1.cross_attn.hook_k", axis=2) as projected,
    ):
        tree = DecodingTree(model, given_tokens(7))
        for token in (5, 6, 7):
            tree.read(tree.child(tree.start, token), tree.teacher_force(tree.start, [token, token, token]))
    assert encoded == projected == [7]


def test_ends_at_one_place_are_read_side_by_side():
    model = writer("decoder")
    with counting(model) as n_read:
        tree = DecodingTree(model, given_tokens(4))
        fan = [tree.child(tree.start, token) for token in (5, 6, 7)]
        longer = tree.child(fan[0], 8)
        tree.read(*fan, *fan, longer)
    assert n_read == [4, 1, 2, 1]
    predictions = [step.prediction for step in (tree.start, *fan, longer) if step.prediction]
    assert [one.n_rows for one in predictions] == [1, 1, 2, 2, 1]
    assert [one.n_cached for one in predictions] == [0, 4, 4, 4, 5]
    assert [one.n_read for one in predictions] == [4, 1, 1, 1, 1]
    assert all(one.ms > 0 for one in predictions)


def test_candidates_are_all_tokens_in_the_order_of_their_probability():
    prediction = DecodingTree(writer("the paper's"), given_tokens()).start.prediction
    assert prediction is not None
    log_probs = prediction.log_probs.tolist()
    best = sorted(range(1, VOCAB), key=lambda token: -log_probs[token])
    actual = prediction.candidates(1000)
    assert [one.token for one in actual] == best  # padding is never written
    assert [one.rank for one in actual] == [*range(VOCAB - 1)]
    assert [one.log_prob for one in actual] == [log_probs[token] for token in best]
    assert prediction.candidates(3) == actual[:3]
    assert all(prediction.candidate(one.token) == one for one in actual)
    assert actual[0].probability == pytest.approx(math.exp(actual[0].log_prob))
    assert prediction.entropy == pytest.approx(-sum(p * math.exp(p) for p in log_probs if p > -math.inf), abs=1e-5)


def test_the_tree_has_each_step_once_and_follows_what_was_read():
    tree = DecodingTree(writer("decoder"), given_tokens())
    end = tree.teacher_force(tree.start, [5, 6])
    assert tree.teacher_force(tree.start, [5, 6]) is end is tree.child(tree.child(tree.start, 5), 6)
    assert tree.teacher_force(end, []) is end
    assert [*tree.follow([5, 6])] == end.written()
    assert [*tree.follow([5, 6, 7])] == end.written()  # goes as far as there is something
    assert [*tree.follow([9])] == []


def test_memory_is_counted_and_nothing_else_is_held():
    tree = DecodingTree(writer("the paper's"), given_tokens())
    tree.teacher_force(tree.start, [5, 6, 7, 8, 9])
    tree.read(*(tree.child(tree.start, token) for token in (10, 11, 12)))
    read = [step for step in all_steps(tree) if step.prediction is not None]
    tensors = [tensor for step in read if step.prediction for tensor in (step.prediction.logits, step.kept)]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if t is not None}
    rows = [x for step in read if step.prediction for x in (step.prediction.self_rows, step.prediction.cross_rows)]
    assert all(x is not None and x.base is None for x in rows)
    assert tree.n_bytes == sum(storages.values()) + sum(x.nbytes for x in rows if x is not None)


def test_a_forward_that_is_broken_off_leaves_nothing_wrong():
    model, source = writer("the paper's"), given_tokens()
    tree = DecodingTree(model, source)
    step = tree.child(tree.start, 5)

    def stop(value: Tensor) -> Tensor:
        raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        active_hooks({named_hook_points(model)["decoder.blocks.1.hook_mlp_out"]: stop}),
    ):
        tree.teacher_force(step, [7, 8])
    assert step.prediction is None
    assert [*tree.follow([5, 7, 8])] == [step], "nothing after it was read yet"
    tree.read(tree.child(step, 6))
    check(tree, source)


def test_who_looks_from_outside_sees_the_model_s_own_logits():
    """Padding is taken out of what is kept, not of what another capture holds."""
    model = varied_model("decoder")
    with tc.capture(model, "hook_logits") as acts:
        tree = DecodingTree(model, given_tokens())
    assert acts["hook_logits"].isfinite().all()
    assert tree.start.prediction is not None and tree.start.prediction.logits[PAD] == -math.inf


def test_half_of_the_bits():
    model = varied_model("decoder, rotary").to(torch.bfloat16)
    tree = DecodingTree(model, given_tokens())
    tree.read(*(tree.child(tree.start, token) for token in (5, 6)))
    prediction = tree.start.children[6].prediction
    assert prediction is not None and prediction.logits.dtype == torch.float32
    assert prediction.self_rows.dtype == "float32" and prediction.self_rows.sum(-1) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("variation", ["the paper's", "decoder"])
def test_threads_that_share_a_tree_read_each_step_once(variation: str):
    model, source = writer(variation), given_tokens()
    texts = [[random.Random(f"{place} {i}").randint(3, 6) for place in range(6)] for i in range(8)]
    with counting(model) as first:
        tree = DecodingTree(model, source)
    barrier = Barrier(4, timeout=300)

    def write(worker: int) -> tuple[int, dict[int, DecodingStep]]:
        ends = {}
        barrier.wait()
        with counting(model) as n_read:
            for i in random.Random(worker).sample(range(8), 8):
                step = tree.start
                for token in texts[i]:
                    step = tree.child(step, token)
                tree.read(step)
                ends[i] = step
        return sum(n_read), ends

    with ThreadPoolExecutor(4) as threads:
        n_read, ends = zip(*threads.map(write, range(4)), strict=True)
    assert ends[0] == ends[1] == ends[2] == ends[3]
    assert sum(first) + sum(n_read) == len(all_steps(tree))
    check(tree, source)


def test_what_is_known_waits_for_nobody():
    """While one thread computes, another reads existing steps and begins a branch after them."""
    model = writer("decoder")
    tree = DecodingTree(model, given_tokens())
    begun, ended = Barrier(2, timeout=300), Barrier(2, timeout=20)

    def compute() -> None:
        def wait(value: Tensor) -> Tensor:
            begun.wait()
            ended.wait()
            return value

        with active_hooks({named_hook_points(model)["decoder.hook_embed"]: wait}):
            tree.read(tree.child(tree.start, 5))

    with ThreadPoolExecutor(1) as threads:
        computed = threads.submit(compute)
        begun.wait()
        tree.read(tree.start)
        assert tree.child(tree.start, 6).parent is tree.start
        ended.wait()
        computed.result()
    assert tree.start.children[5].prediction is not None


def test_what_cannot_begin():
    for variation in ("the paper's", "decoder"):
        model = writer(variation)
        with pytest.raises(TextError, match=r"^there are no tokens to continue from; give at least one$"):
            DecodingTree(model, torch.empty(1, 0, dtype=torch.int64))
        with pytest.raises(TextError, match=r"^a tree starts from one text, got 2; make one tree per text$"):
            DecodingTree(model, random_tokens([3, 3], vocab_size=VOCAB))
        with pytest.raises(TextError, match=r"^token id -1 is not in the vocabulary; ids go from 0 to 36$"):
            DecodingTree(model, torch.tensor([[5, -1]]))
    with pytest.raises(TextError, match="the text has 25 tokens, and this model takes at most 24; shorten the text"):
        DecodingTree(writer("the paper's"), given_tokens(25))
    with pytest.raises(
        ConfigError, match=r"24 tokens and the model 24 positions, so no token can be generated; shorten"
    ):
        DecodingTree(writer("decoder"), given_tokens(24))
    with pytest.raises(TextError, match=r"^the prompt contains padding \(token 0\); leave it out$"):
        DecodingTree(writer("decoder"), torch.tensor([[5, 6, PAD]]))
    with pytest.raises(ConfigError, match=r"^this model is encoder-only"):
        DecodingTree(shaken_model(odd_config(**ENCODER)), given_tokens())


def test_what_cannot_come_next():
    tree = DecodingTree(writer("decoder"), given_tokens(4), max_new_tokens=3)
    start, ended = tree.start, tree.child(tree.start, EOS)
    refused: list[tuple[DecodingStep, list[int], str]] = [
        (start, [-1], r"^token id -1 is not in the vocabulary"),
        (start, [5, PAD], r"^token 0 is padding and cannot be generated; choose another$"),
        (start, [5, EOS, 6], r"^the text ends here; go back to continue differently$"),
        (ended, [5], r"^the text ends here"),
        (start, [5, 6, 7, 8], r"^a text has at most 7 tokens here, which leaves room for 3, not 4; go back, or"),
    ]
    for step, written, message in refused:
        with pytest.raises(TextError, match=message):
            tree.teacher_force(step, written)
    assert [*start.children] == [EOS] and not ended.children, "what is refused leaves nothing behind"
    full = tree.teacher_force(start, [5, 6, 7])
    tree.read(full)  # the last position can be read, but nothing can be generated after it
    assert tree.is_over(full) and not tree.has_ended(full) and not tree.has_room(full)
    with pytest.raises(TextError, match="leaves room for 0, not 1"):
        tree.child(full, 8)
    assert tree.has_ended(ended) and tree.has_room(ended) and tree.is_over(ended)


def test_an_end_that_was_given_ends_nothing():
    """Some models begin their texts with the token that ends them."""
    tree = DecodingTree(writer("decoder"), torch.tensor([[5, EOS]]))
    assert not tree.has_ended(tree.start)
    assert tree.has_ended(tree.child(tree.start, EOS))


@pytest.mark.parametrize("pad_id", [BOS, EOS, None])
def test_padding_that_is_another_token_too(pad_id: int | None):
    """Where padding also begins texts it may be given, and where it also ends them it may be written."""
    model = shaken_model(odd_config(**DECODER, pad_id=pad_id)).double()
    given = torch.tensor([[BOS, 5, 6]])
    tree = DecodingTree(model, given)
    tree.read(tree.teacher_force(tree.start, [7, 8]))
    if pad_id != BOS:
        assert tree.has_ended(tree.child(tree.start, EOS))
    check(tree, given)
    if pad_id is not None:
        with pytest.raises(TextError, match="the prompt contains padding"):
            DecodingTree(model, torch.tensor([[5, pad_id, 6]]))
