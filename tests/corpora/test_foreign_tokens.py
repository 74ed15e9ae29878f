"""A tokenizer from a folder or the Hub in a training: its special tokens, its hash, and what is refused."""

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, processors

from tests.text.hub_folders import byte_level
from transformer_core.config import Architecture
from transformer_core.corpora import CorpusReading
from transformer_core.corpora.analysis import stats_of
from transformer_core.corpora.corpus_stats import kept_stats
from transformer_core.corpora.foreign_tokens import fingerprint_of_source, foreign_tokenizer
from transformer_core.errors import CorpusError
from transformer_core.text.load import load_tokenizer

TEXT = "".join(f"Line {i} of a bright cold day in April, and the clocks struck {i % 13}.\n" for i in range(60))
END = "<|endoftext|>"


def write_tokenizer(folder: Path, *, special: tuple[str, ...] = (END,), **settings: str | None) -> Path:
    """A small byte-level tokenizer as GPT-2's lies in its folder, made by the library."""
    backend = byte_level([], vocab_size=300)
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def like_gpt2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as GPT-2's: one special token begins and ends texts, and nothing fills up."""
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    return write_tokenizer(tmp_path / "Like GPT-2", bos_token=END, eos_token=END, unk_token=END, pad_token=None)


def write_text(folder: Path) -> str:
    path = folder / "lines.txt"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("architecture", "added", "reads"),
    [
        ("decoder_only", [], "{end}{text}"),
        ("encoder_decoder", ["<pad>"], "{text}{end}"),
        ("encoder_only", ["<pad>", "<mask>"], "{end}{text}{end}"),
    ],
)
def test_what_a_tokenizer_lacks_is_added_behind_its_vocabulary(
    like_gpt2: Path, tmp_path: Path, architecture: Architecture, added: list[str], reads: str
):
    n_tokens = len(json.loads((like_gpt2 / "tokenizer.json").read_text())["model"]["vocab"]) + 1
    tokenizer = foreign_tokenizer(str(like_gpt2), architecture)
    end = n_tokens - 1
    assert (tokenizer.bos_id, tokenizer.eos_id) == (end, end)
    assert tokenizer.vocab_size == n_tokens + len(added)
    assert tokenizer.pad_id == (n_tokens if added else None)
    assert tokenizer.mask_id == (n_tokens + 1 if "<mask>" in added else None)
    assert tokenizer.tokens(range(n_tokens, n_tokens + len(added))) == added

    tokenizer.save(tmp_path / "tokenizer.json")
    text = "It was a bright cold day"
    written = Tokenizer.from_file(str(like_gpt2 / "tokenizer.json"))
    expected = written.encode(reads.format(end=END, text=text), add_special_tokens=False).ids
    for same in (tokenizer, load_tokenizer(tmp_path / "tokenizer.json")):
        assert same.encode_for(text, architecture) == expected
        assert same.labels_for(text, architecture)[-2:] == same.labels(expected)[-2:]
        assert same.decode(same.encode_for(text, architecture)) == text


def test_a_tokenizer_without_any_special_token_gets_those_that_it_needs(tmp_path: Path):
    folder = write_tokenizer(tmp_path / "t", special=())
    tokenizer = foreign_tokenizer(str(folder), "encoder_only")
    special = [tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id, tokenizer.mask_id]
    assert tokenizer.tokens([i for i in special if i is not None]) == ["<bos>", "<eos>", "<pad>", "<mask>"]
    assert len({*special}) == 4
    folder = write_tokenizer(tmp_path / "u", bos_token=END, eos_token=END, pad_token=END)  # the end is no padding
    assert foreign_tokenizer(str(folder), "decoder_only").pad_id is None
    of_pairs = foreign_tokenizer(str(folder), "encoder_decoder")
    assert of_pairs.pad_id not in (None, of_pairs.eos_id) and of_pairs.tokens([of_pairs.pad_id or 0]) == ["<pad>"]


def test_stats_belong_to_the_files_of_the_tokenizer(like_gpt2: Path, tmp_path: Path):
    name, reading = write_text(tmp_path), CorpusReading(tokens=str(like_gpt2), division="lines")
    before = fingerprint_of_source(str(like_gpt2))
    made = stats_of(name, reading=reading)
    assert (made.tokenizer_kind, made.vocab_size, made.unknown_share) == ("foreign", 301, 0.0)
    assert kept_stats(name, reading, "decoder_only") == made
    (like_gpt2 / "README.md").write_text("not a part of it")
    assert fingerprint_of_source(str(like_gpt2)) == before
    (like_gpt2 / "tokenizer_config.json").write_text("{}")
    assert fingerprint_of_source(str(like_gpt2)) != before
    assert kept_stats(name, reading, "decoder_only") is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{folder}/nothing here", "there is no folder .*nothing here with a tokenizer; .*owner/name"),
        ("{folder}/empty", "the folder .*empty contains no tokenizer; give a folder with a tokenizer.json"),
        ("{folder}/broken", "tokenizer.json is damaged or of an unsupported type; copy it again"),
        ("no-such/model", "no-such/model.* (connection|offline|reached)"),
    ],
)
def test_what_is_no_tokenizer_is_refused_in_a_sentence(tmp_path: Path, source: str, said: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{")
    with pytest.raises(CorpusError, match=said) as caught:
        foreign_tokenizer(source.format(folder=tmp_path), "decoder_only")
    assert "\n" not in str(caught.value)
