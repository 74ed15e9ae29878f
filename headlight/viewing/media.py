"""Images and sounds as inputs of a model: opened within a budget, and the examples, which are drawn here."""

import io
import os
import wave
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from transformer_core.errors import ArgumentError
from transformer_core.reasons import reason

Medium = Literal["image", "audio"]
FORMATS = {"image": ("png", "jpg", "jpeg", "webp"), "audio": ("wav",)}  # endings of files
MOST_BYTES = 10 << 20  # of a file
MOST_PIXELS = 25_000_000  # 75 MB once decoded
MOST_SECONDS = 60
_SIDE, _RATE = 224, 16_000  # of the examples: pixels, and samples per second
_FULL_SCALE = {1: 1 << 7, 2: 1 << 15, 3: 1 << 23, 4: 1 << 31}  # of samples by their width in bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Image:
    """A picture in red, green and blue."""

    pixels: UInt8[np.ndarray, "row column 3"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sound:
    """A sound of one channel."""

    samples: Float[np.ndarray, " sample"]  # in [-1, 1]
    rate: int  # samples per second

    @property
    def seconds(self) -> float:
        """Its duration."""
        return len(self.samples) / self.rate

    def at(self, rate: int) -> "Sound":
        """Return it at another rate, by cutting or padding its Fourier transform, so that no frequency is folded."""
        if rate == self.rate:
            return self
        n = max(1, round(len(self.samples) * rate / self.rate))
        spectrum = np.fft.rfft(self.samples)
        samples = np.fft.irfft(spectrum[: n // 2 + 1], n) * (n / len(self.samples))
        return Sound(samples=samples.astype(np.float32), rate=rate)


Media = Image | Sound


def open_media(file: str | os.PathLike[str] | bytes, medium: Medium) -> Media:
    """Open a PNG, JPEG or WebP image, or a WAV sound, whose channels are averaged.

    Args:
        file: a path, or the content of a file.
        medium: "image" or "audio".

    Raises:
        ArgumentError: the file is missing or damaged, has another format, or is too large.
    """
    try:
        size = len(file) if isinstance(file, bytes) else Path(file).stat().st_size
        if size > MOST_BYTES:
            raise ArgumentError(
                "the file has {size:.1f} MiB, and at most {most} are read; save it smaller",
                size=size / 2**20,
                most=MOST_BYTES >> 20,
            )
        content = file if isinstance(file, bytes) else Path(file).read_bytes()
    except OSError as error:
        raise ArgumentError("the file cannot be read ({error})", error=reason(error)) from error
    return _image(content) if medium == "image" else _sound(content)


def _image(content: bytes) -> Image:
    from PIL import Image as Pillow
    from PIL import ImageOps

    try:
        with Pillow.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP")) as opened:  # reads no pixels yet
            if opened.width * opened.height > MOST_PIXELS:
                raise Pillow.DecompressionBombError
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise ArgumentError("the image has more than {most:,} pixels; save it smaller", most=MOST_PIXELS) from error
    except Exception as error:  # of any decoder, for any content
        raise ArgumentError("this is no PNG, JPEG or WebP image, or it is damaged") from error
    ground = Pillow.new("RGBA", upright.size, "white")
    return Image(pixels=np.asarray(Pillow.alpha_composite(ground, upright).convert("RGB")))


def _sound(content: bytes) -> Sound:
    try:
        with wave.open(io.BytesIO(content)) as opened:
            n_channels, width, rate, n, *_ = opened.getparams()
            if rate < 1 or n > MOST_SECONDS * rate:
                raise ArgumentError(
                    "the sound lasts {n:,.0f} seconds, and at most {most} are read; save a part of it",
                    n=n / max(1, rate),
                    most=MOST_SECONDS,
                )
            raw = np.frombuffer(opened.readframes(n), dtype=np.uint8)
    except ArgumentError:
        raise
    except Exception as error:  # of the parser, for any content
        raise ArgumentError("this is no WAV file with PCM samples, or it is damaged; save it as 16-bit WAV") from error
    whole = raw[: len(raw) // (n_channels * width) * n_channels * width].reshape(-1, n_channels, width)
    if not len(whole):
        raise ArgumentError("the sound is empty")
    signed = whole ^ np.uint8(0x80) if width == 1 else whole  # 8-bit samples have no sign
    padded = np.zeros((*whole.shape[:2], 4), dtype=np.uint8)  # little-endian: the sign is in the last byte
    padded[..., 4 - width :] = signed
    samples = (padded.view("<i4")[..., 0] >> (8 * (4 - width))) / _FULL_SCALE[width]
    return Sound(samples=samples.mean(axis=1).astype(np.float32), rate=rate)


def example_media(name: str) -> Media:
    """Return an example: "shapes" or "stripes", which are images, or "sweep" or "tones", which are sounds.

    Raises:
        ArgumentError: there is no such example.
    """
    if name not in _DRAWN:
        raise ArgumentError("there is no example {name!r}; there are {names}", name=name, names=", ".join(_DRAWN))
    return _DRAWN[name]()


def _shapes() -> Image:
    """Draw a red disc, a blue square and a yellow triangle on a gray gradient."""
    row, column = np.mgrid[:_SIDE, :_SIDE] / _SIDE
    pixels = np.repeat((200 + 40 * row)[..., None], 3, axis=2)
    pixels[(row - 0.3) ** 2 + (column - 0.3) ** 2 < 0.03] = (200, 45, 45)
    pixels[(abs(row - 0.35) < 0.14) & (abs(column - 0.74) < 0.14)] = (40, 80, 190)
    pixels[(row > 0.6) & (row < 0.9) & (abs(column - 0.5) < (row - 0.6) * 0.7)] = (235, 190, 40)
    return Image(pixels=pixels.astype(np.uint8))


def _stripes() -> Image:
    """Draw diagonal stripes, and a disc with a checkerboard in the middle."""
    row, column = np.mgrid[:_SIDE, :_SIDE] / _SIDE
    stripes = np.where((row + column) * 6 % 1 < 0.5, 235, 60)
    checks = np.where((row * 14 // 1 + column * 14 // 1) % 2 == 0, 250, 20)
    is_disc = (row - 0.5) ** 2 + (column - 0.5) ** 2 < 0.07
    pixels = np.stack([np.where(is_disc, checks, stripes * tint) for tint in (0.4, 0.75, 0.7)], axis=2)
    return Image(pixels=pixels.astype(np.uint8))


def _sweep() -> Sound:
    """Return two seconds of a tone that rises from 200 to 2,000 Hz."""
    time = np.arange(2 * _RATE) / _RATE
    return Sound(samples=(0.5 * np.sin(2 * np.pi * (200 * time + 450 * time**2))).astype(np.float32), rate=_RATE)


def _tones() -> Sound:
    """Return four tones of 0.3 s at 440, 660, 440 and 880 Hz, each before a pause of 0.2 s."""
    time = np.arange(round(0.3 * _RATE)) / _RATE
    pause = np.zeros(round(0.2 * _RATE))
    fade = np.minimum(1, 20 * np.minimum(time, time[::-1]))
    parts = [part for pitch in (440, 660, 440, 880) for part in (0.5 * fade * np.sin(2 * np.pi * pitch * time), pause)]
    return Sound(samples=np.concatenate(parts).astype(np.float32), rate=_RATE)


EXAMPLES: Mapping[Medium, tuple[str, ...]] = {"image": ("shapes", "stripes"), "audio": ("sweep", "tones")}
_DRAWN: Mapping[str, Callable[[], Media]] = {
    "shapes": _shapes,
    "stripes": _stripes,
    "sweep": _sweep,
    "tones": _tones,
}
