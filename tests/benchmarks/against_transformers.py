"""Plain forwards and captures at GPT-2-small size, beside transformers and TransformerLens, with the same weights.

Each library has its own process, as where people use it, and they take turns.
"""

import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row, interleaved, row_of, speed_up
from tests.benchmarks.own_process import kept_processes, measured, report

TITLE = "GPT-2-small size: plain forward and capture of all 144 patterns, 128 and 512 tokens"
LENGTHS = (128, 512)
MEMORY_LENGTH = 2048
VOCAB_SIZE = 50257


def peer_folder() -> str:
    """Make a GPT-2 with random weights once, in a temporary folder that all contestants load."""
    import transformers

    folder = tempfile.mkdtemp(prefix="headlight-bench-")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_positions=MEMORY_LENGTH)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokens = {"<|endoftext|>": VOCAB_SIZE - 1} | {f"w{i}": i for i in range(VOCAB_SIZE - 1)}
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordLevel(tokens, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    ).save_pretrained(folder)
    return folder


def ours(folder: str) -> tuple[Callable[[torch.Tensor], object], Callable[[torch.Tensor], object]]:
    """Return our plain forward, and our capture of every pattern."""
    model, _ = tc.load(folder)

    def capture(tokens: torch.Tensor) -> object:
        with tc.capture(model, "*.hook_pattern") as acts:
            model(tokens)
        return acts

    return model, capture


def transformers_(folder: str) -> tuple[Callable[[torch.Tensor], object], Callable[[torch.Tensor], object]]:
    """Return transformers' plain forward (sdpa), and its forward with output_attentions (eager)."""
    from transformers import GPT2LMHeadModel

    load = partial(GPT2LMHeadModel.from_pretrained, folder, dtype=torch.float32)
    plain = load(attn_implementation="sdpa").eval()
    eager = load(attn_implementation="eager").eval()
    return (lambda x: plain(x, use_cache=False).logits), (
        lambda x: eager(x, output_attentions=True, use_cache=False).attentions
    )


def transformer_lens(folder: str) -> tuple[Callable[[torch.Tensor], object], Callable[[torch.Tensor], object]]:
    """Return TransformerLens' plain forward, and its run_with_cache of the patterns."""
    from transformer_lens.model_bridge import TransformerBridge

    bridge: Any = TransformerBridge.boot_transformers(folder, device="cpu", dtype=torch.float32)
    bridge.eval()
    return bridge, lambda x: bridge.run_with_cache(x, names_filter=lambda name: name.endswith("hook_pattern"))


CONTESTANTS = {"ours": ours, "transformers": transformers_, "TransformerLens": transformer_lens}
_FORWARDS: dict[str, Callable[[torch.Tensor], object]] = {}  # of the library of this process


def run() -> list[Row]:
    """Time everything in turn, then measure each capture's peak memory in a separate process."""
    folder = peer_folder()
    lines = []
    with kept_processes(CONTESTANTS, _prepare, folder) as processes:
        for length in LENGTHS:
            timed = {
                f"{name}, {what}": partial(_ask, process, what, length)
                for what in ("plain", "capture")
                for name, process in processes.items()
            }
            times = interleaved(timed, rounds=40 if length < 256 else 16)
            lines += _rows(times, length)
    return [*lines, *(_memory(name, folder) for name in CONTESTANTS)]


def _prepare(name: str, folder: str) -> None:
    _FORWARDS["plain"], _FORWARDS["capture"] = CONTESTANTS[name](folder)


def _ask(process: ProcessPoolExecutor, what: str, length: int) -> None:
    process.submit(_forward, what, length).result()


@torch.inference_mode()
def _forward(what: str, length: int) -> None:
    """Run a forward pass of `length` tokens, and free what it has returned."""
    _FORWARDS[what](torch.randint(0, VOCAB_SIZE, (1, length), generator=torch.Generator().manual_seed(0)))


def _rows(times: dict[str, list[float]], length: int) -> list[Row]:
    """Return a row per contestant with the ratios that count."""
    rows = []
    for name, values in times.items():
        to_plain = speed_up(values, times["ours, plain"])
        note = "" if name == "ours, plain" else f"{to_plain:.2f} times the time of our plain forward"
        if name.endswith("capture") and not name.startswith("ours"):
            note += f"; our capture is {speed_up(values, times['ours, capture']):.2f} times as fast"
        rows.append(row_of(f"{length} tokens: {name}", values, note))
    return rows


def _memory(name: str, folder: str) -> Row:
    """Measure the memory that a capture of `MEMORY_LENGTH` tokens takes above the loaded model, in a fresh process."""
    _, mebibytes = measured("tests.benchmarks.against_transformers", name, folder)
    return Row(
        name=f"{MEMORY_LENGTH} tokens: {name}, capture",
        median_ms=float("nan"),
        slowest_ms=float("nan"),
        note=f"peak {mebibytes:,.0f} MiB above the loaded model",
    )


@torch.inference_mode()
def _measure(name: str, folder: str) -> None:
    tokens = torch.randint(0, VOCAB_SIZE, (1, MEMORY_LENGTH), generator=torch.Generator().manual_seed(0))
    _, capture = CONTESTANTS[name](folder)
    capture(tokens[:, :16])
    report(lambda: capture(tokens))


if __name__ == "__main__":
    _measure(sys.argv[1], sys.argv[2])
