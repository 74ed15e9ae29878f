"""Images and sounds: opened within a budget, prepared by the model's processor, and read like a text."""

import json
import struct
import wave
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image as Pillow

import headlight as hl
from headlight.viewing.eager import eager_attention
from headlight.viewing.folder import write_viewed
from headlight.viewing.media import EXAMPLES, MOST_BYTES, MOST_SECONDS, Image, Sound
from tests.headlight.viewing.test_reading import IMAGE, WAV2VEC2, WHISPER, small
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.errors import ArgumentError, CheckpointError, TextError

PIXELS = np.random.default_rng(0).integers(0, 256, (30, 20, 3), dtype=np.uint8)
SIZE = {"height": 12, "width": 12}


def image(name: str = "PNG", pixels: np.ndarray = PIXELS, **options: Any) -> bytes:
    file = BytesIO()
    Pillow.fromarray(pixels).save(file, name, **options)
    return file.getvalue()


def sound(samples: Any, rate: int = 16_000, width: int = 2, channels: int = 1) -> bytes:
    """A WAV file of whole numbers."""
    raw = b"".join(int(n).to_bytes(width, "little", signed=width > 1) for n in samples)
    file = BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(channels)
        written.setsampwidth(width)
        written.setframerate(rate)
        written.writeframes(raw)
    return file.getvalue()


def test_an_image_is_opened_upright_and_on_white(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(image())
    opened = hl.open_media(tmp_path / "image.png", "image")
    assert isinstance(opened, Image)
    np.testing.assert_array_equal(opened.pixels, PIXELS)
    turned = Pillow.Exif()
    turned[0x0112] = 6  # turned to the right by the camera
    upright = hl.open_media(image("WEBP", lossless=True, exif=turned), "image")
    assert isinstance(upright, Image)
    np.testing.assert_array_equal(upright.pixels, np.rot90(PIXELS, -1))
    transparent = np.dstack([PIXELS, np.zeros((30, 20), dtype=np.uint8)])
    on_white = hl.open_media(image(pixels=transparent), "image")
    assert isinstance(on_white, Image) and (on_white.pixels == 255).all()


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_all_widths_are_shares_of_full_scale(width: int) -> None:
    full = 1 << (8 * width - 1)
    values = np.array([0, full // 2, -full, full - 1])
    opened = hl.open_media(sound(values + (128 if width == 1 else 0), width=width), "audio")
    assert isinstance(opened, Sound)
    np.testing.assert_allclose(opened.samples, values / full, atol=1e-7)
    stereo = hl.open_media(sound([100, 300, -100, -300], channels=2), "audio")
    assert isinstance(stereo, Sound)
    np.testing.assert_allclose(stereo.samples, [200 / 32768, -200 / 32768], atol=1e-7)


def test_another_rate_keeps_a_tone_and_folds_none() -> None:
    time = np.arange(48_000) / 48_000
    tone = Sound(samples=np.sin(2 * np.pi * 440 * time).astype(np.float32), rate=48_000).at(16_000)
    np.testing.assert_allclose(tone.samples, np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000), atol=1e-3)
    high = Sound(samples=np.sin(2 * np.pi * 15_000 * time).astype(np.float32), rate=48_000)
    assert abs(high.at(16_000).samples).max() < 1e-3


def huge_png(n: int) -> bytes:
    """The header of an image of n rows and columns, and next to no pixels."""
    header = struct.pack(">IIBBBBB", n, n, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"0")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(of)) + name + of + struct.pack(">I", zlib.crc32(name + of)) for name, of in parts
    )


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "text": (b"no image", "image", "no PNG, JPEG or WebP"),
    "gif": (image("GIF"), "image", "no PNG, JPEG or WebP"),
    "cut": (image()[:200], "image", "it is damaged"),
    "large": (huge_png(6_000), "image", "more than 25,000,000 pixels"),
    "huge": (huge_png(1_000_000), "image", "more than 25,000,000 pixels"),
    "file": (bytes(MOST_BYTES + 1), "image", "at most 10 are read"),
    "image": (image(), "audio", "no WAV file"),
    "silence": (sound([]), "audio", "sound is empty"),
    "long": (sound([0] * (MOST_SECONDS * 100 + 200), rate=100), "audio", "lasts 62 seconds"),
    "missing": ("/nowhere.wav", "audio", "cannot be read"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_too_large_or_damaged_is_refused_in_a_sentence(why: str) -> None:
    content, medium, match = REFUSED[why]
    with pytest.raises(ArgumentError, match=match):
        hl.open_media(content, medium)


def vit(**options: Any) -> Any:
    return transformers.ViTImageProcessorPil(size=SIZE, **options)


def ears() -> Any:
    return transformers.Wav2Vec2FeatureExtractor()


LABELS = {"id2label": {0: "cat", 1: "dog", 2: "owl"}}
SOUNDS = WAV2VEC2 | {"conv_dim": (8, 8), "conv_kernel": (400, 3), "conv_stride": (320, 2)}
SPEECH = WHISPER | {"max_source_positions": 150}
MODELS: dict[str, tuple[Any, Any, tuple[str, ...], int]] = {  # model, processor, first labels, number of all
    "ViT": (lambda: small("ViT", IMAGE, kind="ForImageClassification", **LABELS), vit, ("[CLS]", "0, 0"), 10),
    "DeiT": (
        lambda: small("DeiT", IMAGE),
        lambda: transformers.DeiTImageProcessorPil(size=SIZE, crop_size=SIZE),
        ("[CLS]", "[DIST]", "0, 0"),
        11,
    ),
    "registers": (
        lambda: small("Dinov2WithRegisters", IMAGE, num_register_tokens=2),
        lambda: transformers.BitImageProcessorPil(size=SIZE, crop_size=SIZE),
        ("[CLS]", "[REG 1]", "[REG 2]", "0, 0"),
        12,
    ),
    "two towers": (
        lambda: small("CLIP", {"text_config": {"vocab_size": 9}, "vision_config": IMAGE, "projection_dim": 8}),
        lambda: transformers.CLIPImageProcessorPil(size=SIZE, crop_size=SIZE),
        ("[CLS]", "0, 0"),
        10,
    ),
    "samples": (lambda: small("Wav2Vec2", SOUNDS), ears, ("0.00 s", "0.04 s"), 49),
    "Whisper": (
        lambda: small("Whisper", SPEECH, kind="ForConditionalGeneration"),
        lambda: transformers.WhisperFeatureExtractor(feature_size=8, chunk_length=3),
        ("0.00 s", "0.02 s"),
        100,
    ),
}


def imported(folder: Path, name: str) -> tuple[Any, Any, Any]:
    """A small model, and what `load_for_viewing` returns of it."""
    build, processor, *_ = MODELS[name]
    model = build().eval()
    model.save_pretrained(folder / "theirs")
    processor().save_pretrained(folder / "theirs")
    bring_in(str(folder / "theirs"), folder / "ours", otherwise=write_viewed)
    return model, *hl.load_for_viewing(folder / "ours")


@pytest.mark.parametrize("name", MODELS)
def test_patterns_are_those_of_the_class_itself(name: str, tmp_path: Path) -> None:
    model, ours, processor = imported(tmp_path, name)
    _, prepare, first, n = MODELS[name]
    example = hl.example_media(EXAMPLES[processor.medium][0])
    run = hl.run_media(ours, processor, example)
    assert run.source[: len(first)] == first and len(run.source) == n
    assert run.special["source"] == tuple(label.startswith("[") for label in run.source)
    part = model.vision_model if name == "two towers" else model
    if isinstance(example, Image):
        given = prepare()(Pillow.fromarray(example.pixels), return_tensors="pt")
    else:
        given = prepare()(example.samples, sampling_rate=example.rate, return_tensors="pt")
    if run.target:
        ids = [WHISPER["decoder_start_token_id"], *map(int, run.output.split())][: len(run.target)]
        given = dict(given) | {"decoder_input_ids": torch.tensor([ids])}
    with eager_attention(part):
        output = part(**given, output_attentions=True)
    fields = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    for attention, patterns in run.patterns.items():
        theirs = torch.stack(output[fields[attention] if run.target else "attentions"])[:, 0]
        n_queries, n_keys = patterns.shape[2:]
        np.testing.assert_allclose(patterns, theirs[:, :, :n_queries, :n_keys], atol=1e-6)
    assert run.left_out == range(n, 150 if run.target else n)
    if name == "ViT":
        best = output.logits[0].softmax(dim=-1)
        assert run.output == LABELS["id2label"][int(best.argmax())]
        assert run.blanks[0].candidates[0].probability == pytest.approx(best.max().item(), abs=1e-5)
    if run.target:
        best = output.logits[0].log_softmax(dim=-1).max(dim=-1).values
        np.testing.assert_allclose(run.log_probs, best, atol=1e-4)
        forced = hl.run_media(ours, processor, example, target="5 9 7")
        assert forced.target[:4] == ("1", "5", "9", "7") and forced.following[:3] == ("5", "9", "7")
        with pytest.raises(ArgumentError, match=r"lasts 4\.0 seconds, and this model reads at most 3\.0"):
            hl.run_media(ours, processor, Sound(samples=np.zeros(64_000, dtype=np.float32), rate=16_000))


def test_a_processor_is_needed_and_its_settings_are_checked(tmp_path: Path) -> None:
    def again(**values: Any) -> None:
        (tmp_path / "theirs" / "preprocessor_config.json").write_text(json.dumps(values))
        bring_in(str(tmp_path / "theirs"), tmp_path / "again", otherwise=write_viewed)

    _, ours, processor = imported(tmp_path, "ViT")
    with pytest.raises(ArgumentError, match="reads images alone"):
        hl.run_media(ours, processor, hl.example_media("sweep"))
    with pytest.raises(TextError, match="takes no target"):
        hl.run_media(ours, processor, hl.example_media("shapes"), target="a cat")
    for kind, match in (("CHMv2", "needs torchvision, which is not installed"), ("No", "has no processor")):
        with pytest.raises(CheckpointError, match=match):
            again(image_processor_type=f"{kind}ImageProcessor")
    with pytest.raises(CheckpointError, match=r"its preprocessor_config\.json has size = 90,?000"):
        again(image_processor_type="ViTImageProcessor", size={"height": 90000, "width": 9})
    (tmp_path / "theirs" / "preprocessor_config.json").unlink()
    with pytest.raises(CheckpointError, match=r"no preprocessor_config\.json"):
        bring_in(str(tmp_path / "theirs"), tmp_path / "again", otherwise=write_viewed)
