"""Small tokenizers in the layouts in which the families on Hugging Face lie there."""

import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from transformer_core.text.tokenizer import Tokenizer as Ours

Pair = tuple[Ours, Any]  # our tokenizer, and that of transformers

TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué, jusqu'à aujourd'hui.",
    "Où est l'oiseau? (Ici!) 日本語 שלום 😀 it's 1984 naïve café",
    "def f(x):\n\treturn x  # twice",
] * 8

QWEN = (  # what that family cuts texts by
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def write(folder: Path, **files: Any) -> Path:
    """Write JSON files; the name of each is its key with .json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in files.items():
        (folder / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")
    return folder


def byte_level(special: list[str], pre_tokenizer: Any = None, *, vocab_size: int = 400) -> Tokenizer:
    """A byte-level BPE tokenizer."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(TEXTS, trainer)
    return backend


def sentencepiece_model(*, vocab_size: int, texts: list[str] = TEXTS, **options: Any) -> bytes:
    """The bytes of a sentencepiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def gpt2(folder: Path) -> Path:
    """vocab.json and merges.txt."""
    byte_level(["<|endoftext|>"]).model.save(str(write(folder, config={"model_type": "gpt2"})))
    return folder


def roberta(folder: Path) -> Path:
    """vocab.json and merges.txt, with a token for a gap and a template."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    byte_level(special).model.save(str(write(folder, config={"model_type": "roberta"})))
    return folder


def qwen2(folder: Path) -> Path:
    """vocab.json and merges.txt, with its own way to cut texts."""
    cut = pre_tokenizers.Split(Regex(QWEN), "isolated")
    both = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    settings = {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "add_bos_token": False}
    settings |= dict.fromkeys(["eos_token", "pad_token", "unk_token"], "<|endoftext|>")
    write(folder, config={"model_type": "qwen2"}, tokenizer_config=settings)
    byte_level(["<|endoftext|>", "<|im_start|>"], both).model.save(str(folder))
    return folder


def bert(folder: Path) -> Path:
    """vocab.txt."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    backend.train_from_iterator(TEXTS[:2], trainer)
    vocabulary = {i: token for token, i in backend.get_vocab().items()}
    write(folder, config={"model_type": "bert"})
    lines = "".join(f"{vocabulary[i]}\n" for i in range(len(vocabulary)))
    (folder / "vocab.txt").write_text(lines, encoding="utf-8")
    return folder


def t5(folder: Path) -> Path:
    """spiece.model, of the unigram kind."""
    model = sentencepiece_model(vocab_size=90, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, texts=TEXTS[:2])
    write(folder, config={"model_type": "t5"}, tokenizer_config={"extra_ids": 10, "tokenizer_class": "T5Tokenizer"})
    (folder / "spiece.model").write_bytes(model)
    return folder


def llama(folder: Path) -> Path:
    """tokenizer.model, of the BPE kind, with single bytes for what is in no piece."""
    settings = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False}
    write(folder, config={"model_type": "llama"}, tokenizer_config=settings)
    model = sentencepiece_model(
        vocab_size=400,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        split_digits=True,
    )
    (folder / "tokenizer.model").write_bytes(model)
    return folder


def llama_2(folder: Path, converted: Path) -> Path:
    """tokenizer.json as Llama 2 and Mistral have it: spaces are made visible before anything is cut."""
    backend = Tokenizer.from_file(str(converted / "tokenizer.json"))
    backend.pre_tokenizer, backend.model.unk_token = None, "<unk>"
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": None}
    settings = special | {"tokenizer_class": "LlamaTokenizer", "legacy": True}
    write(folder, config={"model_type": "mistral"}, tokenizer_config=settings)
    backend.save(str(folder / "tokenizer.json"))
    return folder


def llama_3(folder: Path) -> Path:
    """tokenizer.json of a byte-level kind, whose special tokens are only there; SmolLM's is alike."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    backend = byte_level([], pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    backend.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    backend.add_tokens(["    "])
    begin = "<|begin_of_text|>"
    template = processors.TemplateProcessing(single=[begin, "$A"], special_tokens=[(begin, backend.token_to_id(begin))])
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    settings = {"bos_token": begin, "eos_token": "<|end_of_text|>", "tokenizer_class": "PreTrainedTokenizerFast"}
    write(folder, config={"model_type": "llama"}, tokenizer_config=settings)
    backend.save(str(folder / "tokenizer.json"))
    return folder


def marian(folder: Path) -> Path:
    """source.spm and target.spm, over one vocab.json that lacks some of their pieces and has others."""
    write(folder, config={"model_type": "marian"}, tokenizer_config={"source_lang": "en", "target_lang": "fr"})
    texts = {"source": TEXTS[::4], "target": TEXTS[1::4]}
    models_ = {side: sentencepiece_model(vocab_size=40, texts=texts[side]) for side in texts}
    for side, model in models_.items():
        (folder / f"{side}.spm").write_bytes(model)
    shared = sorted({piece for model in models_.values() for piece in pieces_of(model)[3:]} - {"q", "▁q"})
    vocabulary = ["</s>", "<unk>", ">>fra<<", *shared, "日", "<pad>"]
    return write(folder, vocab={piece: i for i, piece in enumerate(vocabulary)})


def m2m100(folder: Path) -> Path:
    """One sentencepiece model, whose special tokens are in vocab.json."""
    model = sentencepiece_model(vocab_size=60)
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(model)[3:]]
    return write(folder, vocab={piece: i for i, piece in enumerate(vocabulary)})


# Layouts of before tokenizer.json.
OLDER: dict[str, Callable[[Path], Path]] = {make.__name__: make for make in (gpt2, roberta, qwen2, bert, t5, llama)}
FAMILIES = [*OLDER, *(f"{name}.json" for name in OLDER), "llama_2", "llama_3"]


def theirs(folder: Path) -> Any:
    """What transformers makes of a folder."""
    import transformers

    with warnings.catch_warnings(action="ignore"):  # for MarianMT it recommends a package that it does not use
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
