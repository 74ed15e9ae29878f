"""Encoder-decoders of well-known repositories compute the same here, from files as their programs save them."""

import argparse
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers
from torch.nn import functional as F

import transformer_core as tc
from tests.checkpoints.paper_models import ANNOTATED, HKPROJ, HYUNWOONGKO, JADORE, Layout, PaperModel
from transformer_core.checkpoints.candidates import CandidateLoss, candidate_losses, undecided_options
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.errors import CheckpointError, TextError

TIED = replace(JADORE, is_tied=True)
CASES: dict[str, tuple[Layout, tuple[int, int], int, float]] = {  # vocabularies, padding, tolerance
    "annotated": (ANNOTATED, (61, 50), 2, 2e-5),
    "annotated, changed positions": (replace(ANNOTATED, positions_base=9000.0), (61, 50), 2, 2e-5),
    "hkproj": (HKPROJ, (61, 50), 1, 2e-5),
    "hkproj's older": (replace(HKPROJ, attention_bias=True), (50, 50), 1, 2e-5),
    "jadore": (JADORE, (61, 50), 1, 1e-5),
    "jadore tied": (TIED, (50, 50), 1, 1e-5),
    "hyunwoongko": (HYUNWOONGKO, (50, 61), 1, 1e-5),
}


def saved(name: str, path: Path, sizes: tuple[int, int] = (0, 0)) -> PaperModel:
    """A small model of a layout, saved as its program does."""
    layout, usual, pad, _ = CASES[name]
    sizes = sizes if sizes[0] else usual
    theirs = PaperModel(layout, d_model=24, d_ff=40, n_heads=3, n_layers=2, sizes=sizes, pad=pad).eval()
    content: dict[str, Any] = theirs.state_dict()
    if "hkproj" in name:
        content = {"epoch": 3, "model_state_dict": content, "optimizer_state_dict": {"state": {}}, "global_step": 9}
    if "jadore" in name:
        options = {"n_head": 3, "d_k": 8, "d_v": 8, "dropout": 0.1, "scale_emb_or_prj": "prj", "trg_pad_idx": 1}
        content = {"epoch": 3, "settings": argparse.Namespace(**options), "model": content}
    torch.save(content, path)
    return theirs


def padded(n: int, size: int, pad: int) -> torch.Tensor:
    """Two texts, the second of them shorter."""
    tokens = torch.randint(4, size, (2, n))
    tokens[1, n - n // 3 :] = pad
    return tokens


@pytest.mark.parametrize("name", CASES)
def test_logits_states_patterns_and_output_are_the_same(name: str, tmp_path: Path):
    _, sizes, pad, atol = CASES[name]
    torch.manual_seed(0)
    theirs = saved(name, tmp_path / "model.pt")
    ours, tokenizer = tc.load(tmp_path / "model.pt", options={} if "jadore" in name else {"n_heads": 3})
    assert (tokenizer.vocab_size, tokenizer.target.vocab_size) == sizes
    close: dict[str, Any] = {"rtol": 0, "atol": atol}
    for n_src, n_tgt in ((9, 7), (80, 64)):
        src, tgt = padded(n_src, sizes[0], pad), padded(n_tgt, sizes[1], pad)
        with torch.inference_mode(), tc.capture(ours, "*.hook_pattern") as patterns:
            logits, expected, real = ours(src, tgt), theirs(src, tgt), tgt != pad
            assert expected.std() > 0.1
            torch.testing.assert_close(logits[real], expected[real], **close)
            memory, is_read = ours.encode(src), src != pad
            torch.testing.assert_close(memory[is_read], theirs.states("encoder", src)[is_read], **close)
        for (site, pattern), theirs_at in zip(patterns.items(), theirs.patterns, strict=True):
            rows = is_read if site.startswith("encoder") else real
            both = (one.transpose(1, 2)[rows] for one in (pattern, theirs.patterns[theirs_at]))
            torch.testing.assert_close(*both, **close)
    src, begin = padded(9, sizes[0], pad), ours.config.bos_id or 0
    written = tc.greedy_decode(ours, src, max_new_tokens=8).tokens
    for ours_row, row in zip(written.tolist(), theirs.written(src, begin, 8).tolist(), strict=True):
        assert ours.config.suppressed_token_id not in ours_row[1:]
        assert ours_row == row or ours.config.eos_id in row or pad in row


def test_losses_of_candidates_are_of_whole_targets_in_pairs(tmp_path: Path):
    torch.manual_seed(0)
    theirs = saved("hkproj", tmp_path / "model.pt").double()
    pairs = [([2, 5, 9, 7, 3], [8, 4, 6]), ([2, 6, 3], [9, 7, 7, 5])]
    text = "\n\n".join("\t".join(" ".join(map(str, side)) for side in (src[:-1], tgt)) for src, tgt in pairs)
    losses = candidate_losses(tmp_path / "model.pt", text)
    with torch.inference_mode():
        logits = [theirs(torch.tensor([src]), torch.tensor([[2, *tgt]]))[0] for src, tgt in pairs]
    expected = F.cross_entropy(torch.cat(logits), torch.tensor([i for _, tgt in pairs for i in (*tgt, 3)])).item()
    assert next(one.loss for one in losses if one.options == {"n_heads": 3}) == pytest.approx(expected, rel=1e-4)
    for without_target in ("2 5 9", "2 5 9\t", "2 5\t8\n2 6 7"):
        with pytest.raises(TextError, match="lines of a source, a tab and a target"):
            candidate_losses(tmp_path / "model.pt", without_target)


def test_close_losses_and_losses_above_chance_determine_nothing():
    candidates = [(6, "gelu", 1.5), (6, "relu", 1.55), (3, "gelu", 2.0), (3, "relu", math.inf)]
    losses = [CandidateLoss({"n_heads": n, "activation": name}, loss, 4.0) for n, name, loss in candidates]
    assert undecided_options(losses) == ["activation"]
    assert undecided_options([replace(one, loss_by_chance=1.4) for one in losses]) == ["n_heads", "activation"]


def write_tokenizer(path: Path, words: str, *, pad: str = "[PAD]") -> None:
    """A file of words as hkproj's program trains it, without a template."""
    written = ["[UNK]", pad, "[SOS]", "[EOS]", *words.split()]
    backend = Backend(models.WordLevel({word: i for i, word in enumerate(written)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.save(str(path))


def test_the_tokenizers_of_hkproj_are_read_on_the_sides_that_they_fit(tmp_path: Path):
    saved("hkproj", tmp_path / "model.pt", (7, 6))
    write_tokenizer(tmp_path / "tokenizer_it.json", "il gatto")
    assert tc.load(tmp_path / "model.pt", options={"n_heads": 3})[1].kind == "ids"
    write_tokenizer(tmp_path / "tokenizer_en.json", "the cat sleeps")
    (tmp_path / "weights").mkdir()  # below the tokenizers, where the program saves them
    place = shutil.move(tmp_path / "model.pt", tmp_path / "weights" / "model.pt")
    _, tokenizer = tc.load(place, options={"n_heads": 3})
    assert tokenizer.encode_for("the cat", "encoder_decoder") == [2, 4, 5, 3]
    assert tokenizer.target.encode_for("il cane", "encoder_decoder") == [4, 0, 3]
    assert (tokenizer.labels([6]), tokenizer.target.decode([2, 4, 5, 3])) == (["sleeps"], "il gatto")
    write_tokenizer(tmp_path / "tokenizer_en.json", "the cat sleeps", pad="[NO]")
    with pytest.raises(CheckpointError, match="not a tokenizer of this program"):
        tc.load(place, options={"n_heads": 3})


def test_vocabularies_of_one_size_are_told_apart_by_their_names(tmp_path: Path):
    """The order is a convention with a note, unless the program's config.py names the source."""
    saved("hkproj", tmp_path / "model.pt", (7, 7))
    for language, words in {"de": "die Katze schläft", "en": "the cat sleeps"}.items():
        write_tokenizer(tmp_path / f"tokenizer_{language}.json", words)
    notes: list[str] = []

    def source_words() -> list[str]:
        notes.clear()
        model, tokenizer = tc.load(tmp_path, options={"n_heads": 3}, on_note=lambda note: notes.append(str(note)))
        tc.save(tmp_path / "ours", model, tokenizer, {"name": "a", "title": "A", "kind": "encoder-decoder"})
        again = tc.load(tmp_path / "ours")[1]
        assert again.tokens([5]) == tokenizer.tokens([5]) and again.target.tokens([5]) == tokenizer.target.tokens([5])
        return tokenizer.tokens([5]) + tokenizer.target.tokens([5])

    assert source_words() == ["cat", "Katze"]
    assert any("tokenizer_en.json is read as the source's" in note for note in notes)
    (tmp_path / "config.py").write_text('return {"lang_src": "de", "lang_tgt": "en"}\nraise SystemExit')
    assert source_words() == ["Katze", "cat"] and not any("same size" in note for note in notes)
    (tmp_path / "tokenizer_en.json").unlink()
    assert tc.load(tmp_path, options={"n_heads": 3}, on_note=lambda note: notes.append(str(note)))[1].kind == "ids"
    assert any("tokenizer_de.json are not used" in note for note in notes)


def test_files_that_are_named_like_a_tokenizer_are_not_one(tmp_path: Path):
    saved("annotated", tmp_path / "model.pt")
    for name in ("tokenizer.py", "tokenizer_en.json", "vocab.bpe"):
        (tmp_path / name).write_text("def encode(): ...")
    assert tc.load(tmp_path, options={"n_heads": 3})[1].kind == "ids"


@pytest.mark.parametrize(
    ("key", "tensor"),
    [
        ("encoder.layers.0.feed_forward.w_1.weight", None),
        ("tgt_embed.0.lut.weight", torch.tensor(1.0)),
        ("src_embed.1.pe", torch.tensor(1.0)),
    ],
)
def test_a_damaged_file_is_refused(key: str, tensor: torch.Tensor | None, tmp_path: Path):
    state = dict(saved("annotated", tmp_path / "model.pt").state_dict())
    del state[key]
    state |= {} if tensor is None else {key: tensor}
    torch.save(state, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="lacks some of its tensors"):
        tc.load(tmp_path, options={"n_heads": 3})


def test_gains_in_16_bits_are_not_rounded_again(tmp_path: Path):
    theirs = saved("annotated", tmp_path / "model.pt").bfloat16()
    torch.save(theirs.state_dict(), tmp_path / "model.pt")
    ours, _ = tc.load(tmp_path, options={"n_heads": 3})
    gain = theirs.get_parameter("encoder.norm.a_2").float() * (23 / 24) ** 0.5
    torch.testing.assert_close(ours.get_parameter("encoder.ln_final.weight"), gain, rtol=1e-6, atol=0)


def test_what_the_files_leave_open_is_a_question_or_a_convention(tmp_path: Path):
    saved("annotated", tmp_path / "model.pt")
    with pytest.raises(UndecidedError) as caught:
        tc.load(tmp_path / "model.pt")
    assert [question.option for question in caught.value.questions] == ["n_heads"]
    assert 3 in caught.value.questions[0].candidates
    notes: list[str] = []
    saved("hyunwoongko", tmp_path / "model.pt")
    ours, _ = tc.load(tmp_path / "model.pt", options={"n_heads": 3}, on_note=lambda note: notes.append(str(note)))
    assert ours.config.max_seq_len == 256 and "since 2022-12-08" in notes[0] and "max_seq_len = 256" in notes[-2]
    assert notes[-1] == "n_heads is 3, as chosen."
    assert tc.load(tmp_path / "model.pt", options={"n_heads": 3, "max_seq_len": 90})[0].config.max_seq_len == 90


def test_words_are_read_from_vocabularies_beside(tmp_path: Path):
    saved("annotated", tmp_path / "model.pt", (7, 6))
    torch.save((["<s>", "</s>", "<blank>", "<unk>", *"the cat sleeps".split()], [*"abcdef"]), tmp_path / "vocab.pt")
    assert tc.load(tmp_path, options={"n_heads": 3})[1].kind == "ids"  # the second has no unknown word
    torch.save(
        (["<s>", "</s>", "<blank>", "<unk>", *"the cat sleeps".split()], [*"abcde", "<unk>"]), tmp_path / "vocab.pt"
    )
    notes: list[str] = []
    _, tokenizer = tc.load(tmp_path, options={"n_heads": 3}, on_note=lambda note: notes.append(str(note)))
    assert tokenizer.labels_for("the cat", "encoder_decoder") == ["<s>", "the", "cat", "</s>"]
    assert any("split at spaces" in note for note in notes)
