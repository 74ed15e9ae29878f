"""The arithmetic of the candidates, run under node: it leaves of a distribution what next_log_probs leaves of it."""

import base64
import itertools
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import ROOT
from transformer_core.decoding.sampling import next_log_probs
from transformer_core.decoding.settings import Sampling

ARITHMETIC = ROOT / "pages/components/sampling/sampling.js"
NAMES = ("temperature", "top_k", "top_p", "min_p")
N = 300  # tokens of the vocabulary
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "ordinary": lambda rng, n: rng.normal(0, 3, n),
    "flat": lambda rng, n: rng.normal(0, 0.2, n),
    "ties": lambda rng, n: rng.normal(0, 2, n).round(),
    "even": lambda rng, n: np.zeros(n),
    "some never written": lambda rng, n: np.where(rng.random(n) < 0.3, -np.inf, rng.normal(0, 3, n)),
    "one alone": lambda rng, n: np.where(np.arange(n) == n // 3, 1.5, -np.inf),
}
GRID = list(itertools.product((0, 0.05, 0.7, 1, 2), (0, 1, 7, 5 * N), (1, 0.913, 0.011), (0, 0.05, 1)))
SETTINGS = [Sampling(temperature=t, top_k=k, top_p=p, min_p=m) for t, k, p, m in GRID]
SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import {{ leave, shareOf }} from {json.dumps(ARITHMETIC.as_uri())};

const answers = JSON.parse(readFileSync(0, "utf-8")).map(([scores, settings]) => {{
  const ordered = new Float32Array(Uint8Array.from(Buffer.from(scores, "base64")).buffer);
  return settings.map((sampling) => {{
    const left = leave(ordered, sampling);
    const shares = Float64Array.from(ordered, (_, place) => shareOf(left, place));
    const {{ first, end, entropy, held }} = left;
    return {{ first, end, entropy, held, shares: Buffer.from(shares.buffer).toString("base64") }};
  }});
}});
process.stdout.write(JSON.stringify(answers));
"""


def logits_of(kind: str) -> torch.Tensor:
    return torch.from_numpy(KINDS[kind](np.random.default_rng(3), N).astype(np.float32))


@pytest.fixture(scope="module")
def reckoned() -> Mapping[str, list[dict[str, Any]]]:
    """For each kind of logits, and each setting: probabilities by token, and the rest that is known of them."""
    node = shutil.which("node", path=str(ROOT / ".venv" / "bin")) or shutil.which("node")
    assert node is not None
    request, orders = [], {}
    for kind in KINDS:
        logits = logits_of(kind).numpy()
        orders[kind] = np.argsort(logits, kind="stable")[::-1]
        scores = base64.b64encode(logits[orders[kind]].tobytes()).decode()
        request.append([scores, [{name: getattr(sampling, name) for name in NAMES} for sampling in SETTINGS]])
    command = [node, "--input-type=module", "--eval", SCRIPT]
    ran = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answers = dict(zip(orders, json.loads(ran.stdout), strict=True))
    for kind, answer in answers.items():
        for actual in answer:
            shares = np.frombuffer(base64.b64decode(actual["shares"]))
            actual["by_token"] = np.empty_like(shares)
            actual["by_token"][orders[kind]] = shares
    return answers


@pytest.mark.parametrize("kind", KINDS)
def test_the_browser_leaves_what_next_log_probs_leaves(reckoned: Mapping[str, list[dict[str, Any]]], kind: str):
    logits = logits_of(kind)
    for sampling, actual in zip(SETTINGS, reckoned[kind], strict=True):
        wanted = next_log_probs(logits, (), sampling)
        probs = wanted.double().exp().numpy()
        assert actual["end"] - actual["first"] == int(wanted.isfinite().sum()), sampling
        np.testing.assert_array_equal(actual["by_token"] > 0, probs > 0, err_msg=str(sampling))
        np.testing.assert_allclose(actual["by_token"], probs, rtol=2e-4, atol=1e-30, err_msg=str(sampling))
        some = probs[probs > 0]
        assert actual["entropy"] == pytest.approx(-float((some * np.log(some)).sum()), abs=1e-4), sampling
        without_filters = next_log_probs(logits, (), Sampling(temperature=sampling.temperature)).double().exp()
        assert actual["held"] == pytest.approx(float(without_filters[wanted.isfinite()].sum()), abs=1e-5), sampling
