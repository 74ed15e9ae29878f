"""A model whose blocks lie on several devices, or on the disk, computes what it computes in one place."""

import copy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import odd_config, random_tokens, shaken_model
from transformer_core.checkpoints.placement import connect_devices, plan, spread
from transformer_core.errors import CheckpointError, ConfigError

ROOT = Path(__file__).resolve().parents[2]
GIB = 1 << 30
CPU = torch.device("cpu")

MODELS: dict[str, dict[str, Any]] = {
    "sines": {},
    "relative buckets": {"positions": "relative_buckets", "norm": "rms", "norm_position": "pre"},
    "rotary": {"positions": "rotary_halves", "architecture": "decoder_only", "n_kv_heads": 1, "qk_norm": True},
    "alibi": {"positions": "alibi", "architecture": "decoder_only", "sliding_window": 3, "pad_id": None},
    "learned": {"positions": "learned", "architecture": "encoder_only", "n_segments": 2, "unembed_transform": True},
}
TWO_DEVICES = ("relative buckets", "rotary", "alibi")  # of these, each attention gets something else from outside
ALONE = {"decoder_only": {"n_encoder_layers": 0}, "encoder_only": {"n_decoder_layers": 0}}


def config_of(name: str, **changes: Any) -> tc.ModelConfig:
    """A configuration with three layers in each stack that it has."""
    values = MODELS[name] | changes
    alone = ALONE.get(values.get("architecture", ""), {})
    tying = {"tie_embeddings": "target"} if alone else {}
    return odd_config(**({"n_encoder_layers": 3, "n_decoder_layers": 3} | tying | values | alone))


def batch(config: tc.ModelConfig, seed: int = 0) -> tuple[Tensor, ...]:
    texts = random_tokens((9, 5, 1), vocab_size=config.vocab_size, seed=seed)
    return (texts, texts[:, :7]) if config.architecture == "encoder_decoder" else (texts,)


def half_on_disk(config: tc.ModelConfig) -> dict[str, str]:
    """A map that leaves the middle block of each stack in memory."""
    stacks = [name for name, there in (("encoder", config.has_encoder), ("decoder", config.has_decoder)) if there]
    return {"": "cpu"} | {f"{name}.blocks": "disk" for name in stacks} | {f"{name}.blocks.1": "cpu" for name in stacks}


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    """Saves a small model, and returns its folder."""

    def save(config: tc.ModelConfig, dtype: torch.dtype = torch.float32) -> Path:
        tokenizer = tc.train_tokenizer(map(chr, range(200, 300)), kind="character", vocab_size=config.vocab_size)
        tc.save(tmp_path / "model", shaken_model(config).to(dtype), tokenizer)
        return tmp_path / "model"

    return save


@pytest.mark.parametrize(  # in the precision in which it is saved, and in others
    ("name", "dtype"), [*zip(MODELS, ("bfloat16", "float32", "float32", "float32", "float64"), strict=True)]
)
def test_half_of_it_on_the_disk(name: str, dtype: str, saved: Any):
    config = config_of(name)
    folder = saved(config)
    whole, _ = tc.load(folder, dtype=dtype)
    split, _ = tc.load(folder, dtype=dtype, device_map=half_on_disk(config))
    tokens = batch(config)
    with torch.inference_mode(), tc.capture(whole, "*") as expected:
        logits = whole(*tokens)
    with torch.inference_mode(), tc.capture(split, "*") as captured:
        assert torch.equal(split(*tokens), logits)
    assert [*captured] == [*expected]
    assert all(torch.equal(captured[site], expected[site]) for site in expected)
    assert tc.site_names(split) == tc.site_names(whole)
    assert [name for name, _ in split.named_parameters()] == [name for name, _ in whole.named_parameters()]
    assert {parameter.dtype for parameter in split.parameters()} == {getattr(torch, dtype)}
    weights = split.state_dict()
    tc.save(folder, split, tc.load(folder)[1])  # onto the files that it reads from
    assert all(torch.equal(weight, weights[key]) for key, weight in tc.load(folder)[0].state_dict().items())


def test_several_threads_share_it(saved: Any):
    config = config_of("relative buckets")
    model, _ = tc.load(saved(config), device_map=half_on_disk(config))
    texts = [batch(config, seed) for seed in range(4)]
    with torch.inference_mode(), tc.capture(model, "*.hook_result"):
        expected = [model(*tokens) for tokens in texts]

    def look(i: int) -> bool:
        with torch.inference_mode(), tc.capture(model, "*.hook_result") as acts:
            return torch.equal(model(*texts[i]), expected[i]) and len(acts) == 9

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(look, [*range(4)] * 5))


def test_a_block_on_the_disk_takes_no_memory(saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In the precision of the file it is the file; in another one it lies in a file without a name."""
    config = config_of("rotary")
    folder = saved(config)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    tc.load(folder, device_map="auto")
    tc.load(folder, device_map=half_on_disk(config))
    with pytest.raises(CheckpointError, match=r"could not be written to .*nowhere \(No such file.*set TMPDIR"):
        tc.load(folder, device_map=half_on_disk(config), dtype="bfloat16")
    with open("/dev/full", "w+b", buffering=0) as full, monkeypatch.context() as patch:  # takes what is opened there
        patch.setattr(tempfile, "TemporaryFile", lambda **settings: full)
        with pytest.raises(CheckpointError, match="No space left on device"):
            tc.load(folder, device_map=half_on_disk(config), dtype="bfloat16")
    (tmp_path / "somewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "somewhere"))
    model, _ = tc.load(folder, device_map=half_on_disk(config), dtype="bfloat16")
    assert list((tmp_path / "somewhere").iterdir()) == []
    assert model(*batch(config)).isfinite().all()


def test_a_model_that_is_spread_can_be_copied_and_trained(saved: Any):
    config = config_of("learned")
    model, _ = tc.load(saved(config), device_map=half_on_disk(config))
    connect_devices(model)
    twin = copy.deepcopy(model).train()
    twin(*batch(config)).sum().backward()
    assert all(parameter.grad is not None for parameter in twin.parameters())
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.sub_(0.1)
    assert not torch.equal(twin.eval()(*batch(config)), model(*batch(config)))
    assert torch.equal(model(*batch(config)), tc.load(saved(config))[0](*batch(config)))


def test_everything_meets_on_the_right_device():
    command = [sys.executable, "-m", "tests.checkpoints.two_devices"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert answer.stdout.splitlines() == [*TWO_DEVICES], answer.stderr


PARTS = {"": 2 * GIB, "decoder.blocks.0": GIB, "decoder.blocks.1": GIB, "decoder.blocks.2": GIB}


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        ([("cuda:0", 6)], "0000"),
        ([("cuda:0", 4), ("cpu", 9)], "00cc"),  # a tenth of what is free is left
        ([("cuda:0", 4), ("cuda:1", 1.2), ("cpu", 9)], "001c"),
        ([("cuda:0", 1), ("cpu", 4)], "ccdd"),  # all begins where what is outside the blocks has room
        ([("cpu", 2.5)], "cddd"),
    ],
)
def test_devices_are_filled_in_their_order(room: list[tuple[str, float | None]], expected: str):
    free = [(torch.device(name), None if size is None else int(size * GIB)) for name, size in room]
    names = {"0": torch.device("cuda:0"), "1": torch.device("cuda:1"), "c": CPU, "d": "disk"}
    assert [*spread(PARTS, free).values()] == [names[place] for place in expected]
    with pytest.raises(ConfigError, match=r"need 2\.0 GiB, which no device.*dtype=\"bfloat16\""):
        spread(PARTS, [(CPU, GIB)])


def placement(config: tc.ModelConfig, device_map: str | Mapping[str, Any] | None, device: str = "cpu") -> Any:
    return plan(config, device=device, device_map=device_map, dtype=torch.float32, where="the model")


@pytest.mark.parametrize(
    ("device_map", "message"),
    [
        ({"": "cpu", "decoder.block": "disk"}, "did you mean 'decoder.blocks'?"),
        ({"": "cpu", "lm_head": "disk"}, "its parts are decoder.blocks, decoder.blocks.0"),
        ({"": "disk"}, 'must give a device for ""'),
        ({"": "cpu", "decoder.blocks": "cuda:7"}, "there is no device 'cuda:7'"),
        ("balanced", "must be \"auto\" or map part names to devices; got 'balanced'"),
    ],
)
def test_a_map_that_does_not_fit(device_map: str | dict[str, str], message: str):
    with pytest.raises(ConfigError) as caught:
        placement(config_of("rotary"), device_map)
    assert message in str(caught.value)
    given = {"": "cpu", "decoder.blocks": "disk", "decoder.blocks.2": "cpu"}  # the longest name counts
    actual = placement(config_of("rotary"), given)
    assert actual.home == CPU
    assert actual.blocks == {"decoder.blocks.0": "disk", "decoder.blocks.1": "disk", "decoder.blocks.2": CPU}


def test_a_model_that_is_too_large_is_refused_before_it_is_read():
    """Ten thousand times as wide as memory; its shapes cost nothing."""
    config = odd_config(d_model=1 << 20, n_heads=1 << 10, d_ff=1 << 22, positions="none")
    with pytest.raises(ConfigError) as caught:
        placement(config, None)
    sentence = str(caught.value)
    assert sentence.startswith("the model needs ")
    assert "GiB in float32, and cpu has " in sentence
    assert 'device_map="auto"' in sentence
    assert "bfloat16" not in sentence  # half of it is too large too
    assert "disk" in placement(config, "auto").blocks.values()
