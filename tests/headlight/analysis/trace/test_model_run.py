"""A model run: the same numbers as the model run by hand, with a label for every row and column."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, processors

import headlight as hl
import transformer_core as tc
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from headlight.programs import EXAMPLES, INPUTS
from tests.headlight.analysis.conftest import TEXTS, Made
from tests.headlight.programs.compiled_examples import example
from transformer_core.config import Architecture
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.separate import SeparateTokenizers

Make = Callable[..., Made]
ARCHITECTURES: tuple[Architecture, ...] = ("encoder_decoder", "decoder_only", "encoder_only")
each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES)


@pytest.fixture(scope="module")
def loaded(make: Make) -> dict[str, Made]:
    return {architecture: make(architecture) for architecture in ARCHITECTURES}


def run(model: tc.Transformer, *tokens: list[int]) -> tuple[torch.Tensor, tc.Activations]:
    """The log-probabilities [pos, vocab] and the patterns of a forward by hand."""
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        log_probs = model(*(torch.tensor([ids]) for ids in tokens)).log_softmax(-1)[0]
    return log_probs, acts


def assert_patterns(model_run: ModelRun, acts: tc.Activations, config: tc.ModelConfig) -> None:
    assert model_run.patterns.keys() == model_run.masks.keys() == attentions_of(config).keys()
    for name, attention in attentions_of(config).items():
        assert len(model_run.patterns[name]) == attention.n_layers(config)
        for layer, pattern in enumerate(model_run.patterns[name]):
            np.testing.assert_allclose(pattern, acts[attention.site(layer)][0].numpy(), atol=1e-6)


def test_a_source_and_what_the_model_writes(loaded: dict[str, Made]):
    model, tokenizer = loaded["encoder_decoder"]
    model_run = run_text(model, tokenizer, TEXTS[0])
    src = tokenizer.encode(TEXTS[0], eos=True)
    tokens = tc.greedy_decode(model, torch.tensor([src]), max_new_tokens=19).tokens[0].tolist()
    log_probs, acts = run(model, src, tokens[:-1])
    assert_patterns(model_run, acts, model.config)
    assert model_run.source == ("The", "cat", "sees", "the", "dog", ".", "<eos>")
    assert model_run.target == tuple(tokenizer.labels(tokens[:-1]))
    assert model_run.following == model_run.predicted == tuple(tokenizer.labels(tokens[1:]))
    np.testing.assert_allclose(model_run.log_probs, log_probs.max(-1).values.numpy(), atol=1e-5)
    assert model_run.output == tokenizer.decode(tokens)
    assert (model_run.n_given, model_run.is_complete) == (1, tokens[-1] == tokenizer.eos_id)
    before = run_text(model, tokenizer, TEXTS[0], max_new_tokens=0)
    assert (before.target, before.following) == (("<bos>",), model_run.following[:1])


def test_a_target_that_was_typed(loaded: dict[str, Made]):
    """Teacher forcing: each probability is that of the typed token after the typed ones before it."""
    model, tokenizer = loaded["encoder_decoder"]
    model_run = run_text(model, tokenizer, TEXTS[0], target="Le chat voit Zoé")
    typed = tokenizer.encode("Le chat voit Zoé", eos=True)
    log_probs, acts = run(model, tokenizer.encode(TEXTS[0], eos=True), [tokenizer.bos_id, *typed[:-1]])
    assert_patterns(model_run, acts, model.config)
    assert model_run.output == "Le chat voit Zoé"
    assert model_run.target == ("<bos>", "Le", "chat", "voit", "<unk> Zoé")
    assert model_run.following == ("Le", "chat", "voit", "<unk> Zoé", "<eos>")
    np.testing.assert_allclose(
        model_run.log_probs, [log_probs[i, token].item() for i, token in enumerate(typed)], atol=1e-5
    )
    likely = log_probs.index_fill(1, torch.tensor(tokenizer.pad_id), -math.inf)
    assert [label.lower().split()[0] for label in model_run.predicted] == tokenizer.tokens(likely.argmax(-1))
    assert (model_run.n_given, model_run.is_complete, model_run.unknown) == (5, True, ("Zoé",))


@pytest.mark.parametrize("seed", range(4))
def test_a_prompt_and_how_the_model_goes_on(make: Make, seed: int):
    model, tokenizer = make("decoder_only", seed=seed)
    model_run = run_text(model, tokenizer, "The cat sees", max_new_tokens=5)
    prompt = [tokenizer.bos_id, *tokenizer.encode("The cat sees")]
    tokens = list(prompt)
    while len(tokens) < 9 and tokens[-1] != tokenizer.eos_id:  # by hand, each step again
        logits = run(model, tokens)[0][-1].clone()
        logits[tokenizer.pad_id] = -math.inf
        tokens.append(int(logits.argmax()))
    is_complete = tokens[-1] == tokenizer.eos_id
    read_ones = tokens[:-1] if is_complete else tokens
    log_probs, acts = run(model, read_ones)
    assert_patterns(model_run, acts, model.config)
    assert (model_run.n_given, model_run.is_complete) == (4, is_complete)
    assert model_run.target == ("<bos>", "The", "cat", "sees", *tokenizer.labels(read_ones[4:]))
    by_hand = [log_probs[i, token].item() for i, token in enumerate(tokens[1:])]
    np.testing.assert_allclose(model_run.log_probs[: len(by_hand)], by_hand, atol=1e-5)
    assert len(model_run.log_probs) == len(model_run.following) == len(model_run.predicted) == len(model_run.target)
    assert ("The cat sees" + model_run.output).lower() == tokenizer.decode(tokens).lower()


def test_a_prompt_has_a_limit_and_leaves_room_for_an_answer(loaded: dict[str, Made]):
    model, tokenizer = loaded["decoder_only"]
    model_run = run_text(model, tokenizer, "the cat " * 50, max_tokens=9)
    assert model_run.target[:7] == ("<bos>", *["the", "cat"] * 3)
    assert model_run.left_out == range(7, 101)
    assert (model_run.n_given, len(model_run.target)) == (7, 9) or model_run.is_complete


@pytest.mark.parametrize("kind", ["word", "character", "byte_bpe"])
def test_what_stands_in_a_blank(make: Make, kind: str):
    """The probabilities by hand: the softmax of the logits at the mask, its largest numbers one by one."""
    model, tokenizer = make("encoder_only", kind)
    model_run = run_text(model, tokenizer, "The ____ sees the [MASK]!")
    ids = tokenizer.encode_for("The ____ sees the [MASK]!", "encoder_only")
    assert tokenizer.mask_id is not None and ids.count(tokenizer.mask_id) == 2
    log_probs, acts = run(model, ids)
    assert_patterns(model_run, acts, model.config)
    assert [blank.position for blank in model_run.blanks] == [i for i, t in enumerate(ids) if t == tokenizer.mask_id]
    words = []
    for blank in model_run.blanks:
        probabilities = [math.exp(x) for x in log_probs[blank.position].tolist()]
        ranked = sorted(range(len(probabilities)), key=probabilities.__getitem__, reverse=True)[:5]
        assert [c.label for c in blank.candidates] == [tokenizer.labels([i])[0] for i in ranked]
        np.testing.assert_allclose(
            [c.probability for c in blank.candidates], [probabilities[i] for i in ranked], rtol=1e-4
        )
        words.append(tokenizer.tokens([ranked[0]])[0])
    spaces = ["" if word.startswith(" ") else " " for word in words]
    assert model_run.output == f"The{spaces[0]}{words[0]} sees the{spaces[1]}{words[1]}!"
    assert model_run.unknown == (() if kind == "byte_bpe" else ("!",))


@pytest.mark.parametrize("name", [name for name, program in EXAMPLES.items() if not program.is_causal])
def test_without_a_mask_token_each_token_of_the_text_has_a_prediction(name: str):
    """What a compiled model says is what its program computes, token for token."""
    (model, tokenizer), rng = example(name), random.Random(3)
    for _ in range(5):
        tokens = INPUTS[name](rng)
        model_run = run_text(model, tokenizer, " ".join(tokens))
        output = [*map(str, hl.programs.run(EXAMPLES[name], tokens))]
        assert model_run.output == " ".join(output) and not model_run.has_mask
        assert [blank.position for blank in model_run.blanks] == [*range(1, len(tokens) + 1)]
        assert [blank.candidates[0].label for blank in model_run.blanks] == output
        assert all(blank.candidates[0].probability == pytest.approx(1, abs=1e-6) for blank in model_run.blanks)


def test_a_long_text_is_read_as_far_as_there_is_room(loaded: dict[str, Made]):
    model_run = run_text(*loaded["encoder_decoder"], "the cat " * 500, target="le chat " * 60, max_tokens=9)
    assert model_run.source == (*["the", "cat"] * 4, "<eos>")
    assert model_run.left_out == range(8, 1_000)
    assert model_run.target == ("<bos>", *["le", "chat"] * 4)
    assert model_run.target_left_out == range(8, 120)
    model_run = run_text(*loaded["encoder_only"], "the cat " * 500, max_tokens=8)
    assert model_run.source == ("<bos>", *["the", "cat"] * 3, "<eos>")
    assert model_run.left_out == range(7, 1_001)


@settings(max_examples=20)
@given(text=st.text(min_size=1, max_size=40), architecture=st.sampled_from(ARCHITECTURES))
def test_any_text_can_be_read(loaded: dict[str, Made], text: str, architecture: Architecture):
    model_run = run_text(*loaded[architecture], text)
    for name, patterns in model_run.patterns.items():
        assert tuple(map(len, model_run.labels(name))) == patterns.shape[2:]
        assert np.isfinite(patterns).all()


def test_a_foreign_tokenizer_keeps_its_template(make: Make):
    """WordPiece as BERT has it: [CLS] in front, [SEP] after also where the text is cut, [MASK] for blanks."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = Backend(
        models.WordPiece({token: i for i, token in enumerate([*special, "the", "cat", "##s"])}, unk_token="[UNK]")
    )
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.add_special_tokens(special)
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer = ForeignTokenizer(words, {"pad": 0, "unk": 1, "bos": 2, "eos": 3, "mask": 4})
    model, _ = make("encoder_only")
    model_run = run_text(model, tokenizer, "the cats ____ the Zoé")
    assert model_run.source == ("[CLS]", "the", "cat", "##s", "[MASK]", "the", "[UNK] Zoé", "[SEP]")
    assert [blank.position for blank in model_run.blanks] == [4]
    model_run = run_text(model, tokenizer, "the cats " * 9 + "____", max_tokens=6)
    assert model_run.source == ("[CLS]", "the", "cat", "##s", "the", "[SEP]")
    assert (model_run.left_out, model_run.blanks) == (range(5, 29), ())


def test_each_side_of_a_model_with_two_vocabularies_is_labelled_by_its_own():
    english, french = (
        tc.train_tokenizer([text], kind="word") for text in ("the cat sleeps here", "le chat dort ici et là")
    )
    sizes = {"vocab_size": french.vocab_size, "src_vocab_size": english.vocab_size, "tie_embeddings": "none"}
    model = tc.build(tc.presets.tiny(french.vocab_size).changed(**sizes, unembed_bias=True)).eval()
    torch.nn.init.constant_(model.unembed.bias[: french.encode("le")[0]], -99.0)  # no special token is written
    text = run_text(model, SeparateTokenizers(english, french), "the cat sleeps")
    written = {*text.target[1:], *text.following} - {"<eos>"}
    assert text.source == ("the", "cat", "sleeps", "<eos>")
    assert written and written <= {*"le chat dort ici et là <unk> <bos>".split()}
    assert {*text.output.lower().split()} <= written
    forced = run_text(model, SeparateTokenizers(english, french), "the cat", target="le chat")
    assert forced.target == ("<bos>", "le", "chat") and forced.output == "le chat"
