"""Small runs that are over: models with random weights at each snapshot, and measures of heads that are made up."""

from pathlib import Path
from typing import Any

import torch

import transformer_core as tc
from headlight.analysis.heads.measures import HeadMeasures, Share
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.training.head_history import HeadHistory
from transformer_core.config import Architecture
from transformer_core.text.tokenizer import OwnTokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.request import RunRequest

TEXTS = ("The cat sees the dog.", "The dog doesn't see the cat.", "The cat sleeps.")
EXAMPLES: dict[Architecture, tuple[str, ...]] = {
    "encoder_decoder": TEXTS,
    "decoder_only": ("The cat sees the", "The dog"),
    "encoder_only": ("The ____ sees the dog.", "The cat ____ the <mask>."),
}
STEPS = (0, 4, 20, 60)
APPEARS_AT = 20  # the decoder's head 1 of layer 0 looks at the token before
COMMAND = "python -m transformer_core train --corpus tales --preset tiny --run runs/{name} --set dropout=0.2"


def small_config(architecture: Architecture, tokenizer: OwnTokenizer) -> tc.ModelConfig:
    """Two layers a stack, four heads."""
    return tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        architecture=architecture,
        d_model=16,
        d_ff=16,
        n_heads=4,
        n_encoder_layers=0 if architecture == "decoder_only" else 2,
        n_decoder_layers=0 if architecture == "encoder_only" else 2,
        max_seq_len=24,
        tie_embeddings="target",
    )


def save_run(
    folder: Path, *, architecture: Architecture = "encoder_decoder", seed: int = 0, steps: tuple[int, ...] = STEPS
) -> list[tc.Transformer]:
    """Write a finished run with a snapshot a step, and return the models of these snapshots."""
    tokenizer = tc.train_tokenizer(TEXTS, kind="word", vocab_size=300, mask=architecture == "encoder_only")
    config = small_config(architecture, tokenizer)
    command = COMMAND.format(name=folder.name) + (f" --seed {seed}" if seed else "")
    request = RunRequest(
        corpus="tales",
        corpus_seed=0,
        corpus_fingerprint="f" * 64,
        preset="tiny",
        model=config,
        training=TrainingConfig(steps=60, batch_size=4, warmup_steps=4, seed=seed, film_megabytes=5),
        command=command,
        versions={},
    )
    directory = RunDirectory(folder, request)
    directory.create()
    results = [tc.build(config, seed=100 * seed + step).eval() for step in steps]
    directory.film.begin(results[0], tokenizer, {"examples": EXAMPLES[architecture]})
    for step, model in zip(steps, results, strict=True):
        directory.film.add(step, model)
        directory.film.heads.append(HeadHistory.to_record(step, _measures(config, step)))
        directory.metrics.append({"step": step, "loss": 4.0 - step / 20})
    directory.write_status("finished", step=60)
    directory.release()
    return results


def with_heads_turned(model: tc.Transformer, by: int) -> tc.Transformer:
    """Return the same model with the heads of every layer in another order: head i is the other's head i - by."""
    turned = tc.build(model.config).eval()
    weights = {name: values.clone() for name, values in model.state_dict().items()}
    n_heads = model.config.n_heads
    for name, values in weights.items():
        part = name.rpartition("_attn.")[2]
        if part.startswith(("q.", "k.", "v.")):
            weights[name] = values.unflatten(0, (n_heads, -1)).roll(by, dims=0).flatten(0, 1)
        elif part == "out.weight":
            weights[name] = values.unflatten(1, (n_heads, -1)).roll(by, dims=1).flatten(1, 2)
    turned.load_state_dict(weights)
    return turned


def patterns_by_hand(model: tc.Transformer, site: str, *tokens: tuple[int, ...]) -> Any:
    """Return [head, query, key] at a site of a forward by hand."""
    with torch.inference_mode(), tc.capture(model, site) as acts:
        model(*(torch.tensor([ids]) for ids in tokens))
    return acts[site][0].numpy()


def _measures(config: tc.ModelConfig, step: int) -> list[HeadMeasures]:
    """All heads, none with a habit, but for one that takes up one."""
    measures = []
    for name, attention in attentions_of(config).items():
        for layer in range(attention.n_layers(config)):
            for head in range(config.n_heads):
                is_late = (name, layer, head) == ("decoder", 0, 1) and step >= APPEARS_AT
                share = Share(score=0.8 if is_late else 0.1, chance=0.1, spread=0.01)
                measures.append(
                    HeadMeasures(
                        attention=name,
                        layer=layer,
                        head=head,
                        entropy=1.0,
                        relative_entropy=0.5,
                        diagonality=share,
                        previous=None if name == "cross" else share,
                        induction=None,
                        aligned=None,
                    )
                )
    return measures
