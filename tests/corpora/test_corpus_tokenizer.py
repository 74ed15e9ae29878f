"""The tokenizer of a corpus: its own, trained once; or one from elsewhere, with its special tokens, hash and errors."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from tokenizers import AddedToken, processors
from tokenizers import Tokenizer as Backend

from headlight.corpora.analysis import stats_of
from headlight.corpora.corpus_stats import kept_stats
from tests.corpora.test_corpus import corpus
from tests.text.hub_folders import byte_level
from transformer_core.config import Architecture, TokenizerKind
from transformer_core.corpora import Corpus, CorpusReading, Text, corpus_tokenizer
from transformer_core.corpora.corpus_tokenizer import fingerprint_of_source, foreign_tokenizer, tokenizer_of
from transformer_core.errors import CorpusError
from transformer_core.text.load import load_tokenizer
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

pytestmark = pytest.mark.usefixtures("cache")

STORIES = [f"The {size} fox said “Voilà, {i} eggs!”\nand ran." for i, size in enumerate(["red", "small", "old"] * 4)]


def stories(kind: TokenizerKind, *texts: str) -> Corpus:
    return corpus(
        train=(*map(Text, STORIES), *map(Text, texts)), held_out=(Text("No fox."),), tokenizer_kind=kind, vocab_size=300
    )


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Trains tokenizers, and counts how often."""
    train = Mock(wraps=train_tokenizer)
    monkeypatch.setattr(corpus_tokenizer, "train_tokenizer", train)
    return train


def saved(tokenizer: Tokenizer, folder: Path) -> str:
    tokenizer.save(folder / "tokenizer.json")
    return (folder / "tokenizer.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "architecture"),
    [("word", "encoder_decoder"), ("character", "decoder_only"), ("byte_bpe", "encoder_only")],
)
def test_the_kept_one_is_the_one_that_was_trained(
    tmp_path: Path, trained: Mock, kind: TokenizerKind, architecture: Architecture
):
    is_encoder = architecture == "encoder_only"
    expected = train_tokenizer(STORIES, kind=kind, vocab_size=300, mask=is_encoder)
    for _ in range(3):
        tokenizer = tokenizer_of(stories(kind), architecture)
        assert saved(tokenizer, tmp_path) == saved(expected, tmp_path)
        assert tokenizer.kind == kind and (tokenizer.mask_id is None) != is_encoder
    assert trained.call_count == 1


def test_what_it_depends_on_tells_them_apart(trained: Mock, monkeypatch: pytest.MonkeyPatch):
    first = stories("byte_bpe")
    for other in (
        first,
        replace(first, tokenizer_kind="word"),
        replace(first, vocab_size=280),
        stories("byte_bpe", "One more."),
    ):
        for architecture in ("decoder_only", "encoder_only"):
            tokenizer_of(other, architecture)
    assert trained.call_count == 8
    tokenizer_of(first, "encoder_decoder")  # as for a decoder
    assert trained.call_count == 8
    monkeypatch.setattr(corpus_tokenizer, "CODE_OF_TEXT", "0" * 64)
    tokenizer_of(first, "decoder_only")
    monkeypatch.setattr(corpus_tokenizer, "version", lambda package: "99.0")
    tokenizer_of(first, "decoder_only")
    assert trained.call_count == 10


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
def like_gpt2(tmp_path: Path) -> Path:
    """A folder as GPT-2's: one special token begins and ends texts, and nothing fills up."""
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
    written = Backend.from_file(str(like_gpt2 / "tokenizer.json"))
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
    stats = stats_of(name, reading=reading)
    assert (stats.tokenizer_kind, stats.vocab_size, stats.unknown_share) == ("foreign", 301, 0.0)
    assert kept_stats(name, reading, "decoder_only") == stats
    (like_gpt2 / "README.md").write_text("not a part of it")
    assert fingerprint_of_source(str(like_gpt2)) == before
    (like_gpt2 / "tokenizer_config.json").write_text("{}")
    assert fingerprint_of_source(str(like_gpt2)) != before
    assert kept_stats(name, reading, "decoder_only") is None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{folder}/nothing here", "there is no folder .*nothing here with a tokenizer; .*owner/name"),
        ("{folder}/empty", "the folder .*empty contains no tokenizer; give a folder with a tokenizer.json"),
        ("{folder}/broken", "tokenizer.json is damaged or of an unsupported type; copy it again"),
        ("no-such/model", "no-such/model.* (connection|offline|reached)"),
    ],
)
def test_what_is_no_tokenizer_is_refused_in_a_sentence(tmp_path: Path, source: str, message: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{")
    with pytest.raises(CorpusError, match=message) as caught:
        foreign_tokenizer(source.format(folder=tmp_path), "decoder_only")
    assert "\n" not in str(caught.value)
