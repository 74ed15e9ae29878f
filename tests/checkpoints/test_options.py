"""Options of a foreign config.json: nothing in it is ignored silently; settings of generation are used or reported."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

import transformer_core as tc
from tests.german import in_german
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.checkpoints.options import Options, with_generation
from transformer_core.errors import CheckpointError, Message, TextError

IGNORED = """
    unsloth_version transformers.js_config task_specific_params _attn_implementation_internal mask_token_id
    bad_words_ids attn_implementation id2label torch_dtype
"""


def test_unknown_options():
    """One that is off, or speaks of nothing that is computed, changes nothing; others are refused with their value."""
    for value in (None, False, 0, 0.0, "", [], {}):
        Options({"attention_sinks": value}, where="config.json").finish()
    for name in IGNORED.split():
        Options({name: {"a": 1}}, where="config.json").finish()
    for value in (True, 1, 0.5, "post", [1], {"a": 1}):
        with pytest.raises(CheckpointError, match=r"^config\.json: normType = .* may change the model's output"):
            Options({"normType": value}, where="config.json").finish()
    with pytest.raises(CheckpointError) as caught:
        Options({"layer_names": ["layer"] * 1000}, where="config.json").finish()
    assert len(str(caught.value)) < 300
    assert in_german(caught.value).startswith("config.json: layer_names = ")
    assert "wird nicht unterstützt" in in_german(caught.value)


def test_what_was_read_or_named_idle_is_not_unknown():
    options = Options({"attn_scale": 2.0, "mlp_dropout": 0.1, "norm": True, "none": None}, where="config.json")
    assert options.number("attn_scale") == 2.0
    options.idle("mlp_dropout")
    assert options.switch("norm", False) is True
    assert "none" not in options  # null counts as absent, but where it means "none"
    assert options.whole("none", 3) == options.whole_or_null("absent", 3) == 3
    assert options.whole_or_null("none", 3) is None
    options.finish()


N_NEW, VOCAB = 20, 50
ENDS = [7, 8, 9, 22, 23, 24]  # enough that most texts end


def random_model(kind: str, **values: Any) -> Any:
    """A tiny model of transformers whose texts differ."""
    import transformers

    sizes: dict[str, Any] = {"vocab_size": VOCAB}
    config: Any
    model_class: Any
    if kind == "t5":
        sizes |= {"d_model": 32, "d_ff": 48, "d_kv": 16, "num_layers": 1, "num_heads": 2}
        config, model_class = transformers.T5Config, transformers.T5ForConditionalGeneration
    else:
        sizes |= {"n_positions": 64, "n_embd": 32, "n_layer": 1, "n_head": 2}
        config, model_class = transformers.GPT2Config, transformers.GPT2LMHeadModel
    torch.manual_seed(0)
    model = model_class(config(**sizes | values))
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter) * 0.3
    return model.eval()


def saved(folder: Path, model: Any, generation: dict[str, Any] | None) -> Any:
    """The model as transformers reads it again, with another generation_config.json, or without one."""
    model.save_pretrained(folder)
    path = folder / "generation_config.json"
    path.unlink() if generation is None else path.write_text(json.dumps(generation))
    return type(model).from_pretrained(folder).eval()


@pytest.mark.parametrize(
    ("kind", "values", "generation"),
    [
        ("gpt2", {"eos_token_id": ENDS}, None),
        ("gpt2", {"eos_token_id": 2}, {"eos_token_id": [*ENDS, 99]}),  # the file counts, and 99 is beyond
        ("gpt2", {"eos_token_id": ENDS}, {}),  # nothing ends a text then
        ("t5", {"decoder_start_token_id": 0}, {"eos_token_id": [1, *range(6, 36)], "decoder_start_token_id": 5}),
    ],
)
def test_texts_end_where_generate_ends_them(
    kind: str, values: dict[str, Any], generation: dict[str, Any] | None, tmp_path: Path
):
    theirs = saved(tmp_path, random_model(kind, **values), generation)
    ours, _ = tc.load(tmp_path)
    torch.manual_seed(1)
    lengths = set()
    for row in torch.randint(3, VOCAB, (8, 1, 5)):
        options: dict[str, Any] = {"max_new_tokens": N_NEW, "do_sample": False, "pad_token_id": 0}
        for n_beams in (1, 3):
            expected = theirs.generate(row, attention_mask=torch.ones_like(row), num_beams=n_beams, **options)[
                0
            ].tolist()
            if n_beams > 1:
                assert tc.beam_search(ours, row, n_beams=n_beams, max_new_tokens=N_NEW).tokens[0].tolist() == expected
                continue
            assert tc.greedy_decode(ours, row, max_new_tokens=N_NEW).tokens[0].tolist() == expected
            session = tc.DecodingSession(ours, row)
            session.to_end(max_new_tokens=N_NEW)
            assert [step.token for step in session.at.path()] == expected
            lengths.add(len(expected))
    assert min(lengths) < N_NEW or generation == {}  # some end on their own


def test_an_option_with_the_name_of_generation_settings_is_not_taken_for_them():
    assert with_generation({"generation": 3, "n_layer": 1}, None) == {"n_layer": 1}


def test_what_is_not_taken_over_is_named_when_a_model_is_imported(tmp_path: Path):
    generation = {"eos_token_id": [2, 99], "num_beams": 4, "temperature": 0.7, "length_penalty": 0.8, "max_length": 500}
    generation |= {"no_repeat_ngram_size": 3, "bad_words_ids": [[4]], "repetition_penalty": 1.0, "top_k": 5}
    saved(tmp_path / "theirs", random_model("gpt2"), generation)
    vocabulary = {f"w{i}": i for i in range(VOCAB)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["[PAD]"])
    tokenizer.save(str(tmp_path / "theirs" / "tokenizer.json"))
    card = bring_in(str(tmp_path / "theirs"), tmp_path / "ours")
    description = str(Message.from_json(card["description"]))
    for words in ("bos_token_id = 50256", "eos_token_id = 99", "num_beams = 4", "length_penalty = 0.8", "[PAD]"):
        assert words in description
    for words in ("no_repeat_ngram_size = 3", "bad_words_ids = [[4]]"):
        assert words in description
    assert not any(name in description for name in ("temperature", "top_k", "repetition_penalty", "max_length"))
    ours, kept = tc.load(tmp_path / "ours")
    assert (ours.config.bos_id, ours.config.eos_ids, kept.vocab_size, kept.pad_id) == (None, (2,), VOCAB, None)
    assert kept.encode_for("w3 w49", "decoder_only") == [3, 49]
    for text in ("[PAD]", "w1 [PAD] w2"):
        with pytest.raises(TextError, match=r"the text has \[PAD\], which this model’s tokenizer has"):
            kept.encode_for(text, "decoder_only")
        with pytest.raises(TextError, match=r"\[PAD\]"):
            kept.encode_batch(["w1", text])
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCAB + 1)}, unk_token="w0"))
    tokenizer.save(str(tmp_path / "theirs" / "tokenizer.json"))  # a word that the model lacks: another model's
    with pytest.raises(CheckpointError, match=f"tokenizer has {VOCAB + 1} tokens and the model {VOCAB}"):
        tc.load(tmp_path / "theirs")


@torch.no_grad()
def test_a_model_in_memory_is_copied():
    theirs = random_model("gpt2", eos_token_id=[2, 38])
    ours, tokenizer = tc.load(theirs)
    tokens = torch.randint(VOCAB, (2, 6))
    torch.testing.assert_close(ours(tokens), theirs(tokens).logits, rtol=1e-4, atol=1e-4)
    assert (ours.config.eos_ids, tokenizer.kind) == ((2, 38), "ids")
    next(ours.parameters()).zero_()
    assert next(theirs.parameters()).any()
    quantized = random_model("gpt2")
    quantized.register_state_dict_post_hook(lambda module, values, *_: values.update(dtype=torch.qint8))
    for other in (torch.nn.Linear(2, 2), 5, None, ["checkpoints/en-fr"], theirs.to("meta"), quantized):
        with pytest.raises(CheckpointError, match=r"of no known layout|got |meta device|quantized weights"):
            tc.load(other)
