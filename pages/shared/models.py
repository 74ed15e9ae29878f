"""Which models are here, and the one way to load them."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import headlight as hl
import transformer_core as tc
from headlight.analysis.blueprint.plan import weights_of
from headlight.analysis.trace.attentions import Attention, attentions_of
from headlight.language import ENGLISH, language, say, say_message, say_number
from headlight.viewing.media import EXAMPLES, Medium
from pages.shared import cache, devices, prose
from pages.shared.devices import CPU, PRECISIONS
from transformer_core.checkpoints.folder import reading
from transformer_core.config import ModelConfig
from transformer_core.errors import HeadlightError, Message, mark
from transformer_core.model.presets import transformer_base
from transformer_core.shipped import APP, IS_INSTALLED, MODELS, shipped_model

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer

ROOT = Path.cwd() if IS_INSTALLED else APP  # of the users' own: models, runs and lessons
SHIPPED = ("en-fr", "dates", "stories", "induction", "fill-in")  # the first is what a new visitor sees
PAPER_BASE = "paper-base"  # name and path of the paper's base model, which is built with random weights when chosen
ON_PAGES_OF_SIZES = ("steps", "architecture")  # where it is offered: its shapes are the paper's
TRAIN_COMMAND = (  # of the first one, as its card has it
    "python -m transformer_core train --corpus en-fr --preset tiny --run runs/en-fr --steps 3000 "
    "--set guided_head=encoder.1.0"
)
GUIDED = mark(
    "Encoder self-attention L{layer}.H{head} was guided: in training, an extra loss told it which noun each pronoun "
    "refers to (Garg et al. 2019), so it attends from “it” to that noun. Trained without this guidance, en-fr "
    "translates equally well, but the best encoder head finds the correct noun for only 38% of pronouns: the "
    "decoder resolves them. (The same command without guided_head trains that model; its card reports the share on "
    "held-out sentences as “antecedent”.)"
)
MOST_TITLE, MOST_EXAMPLE = 200, 2_000  # characters that are read of a card
MOST_LISTED = 200  # examples, and heads


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What the app knows about a model before it is loaded."""

    name: str  # its folder's name, which is also its name in the URL
    path: str  # as one writes it at the project's root
    version: str  # changes with every file of its folder; part of the key of every cached result
    title: str
    description: str
    corpus: str
    examples: tuple[str, ...]
    heads: tuple[str, ...]  # one sentence for each head whose function is known
    guided_head: tuple[int, int] | None  # encoder layer and head guided to pronoun antecedents
    least_usual: float  # mean token probability that 99 % of its outputs on held-out texts reach; 0: not measured
    n_parameters: int
    success: str  # its result on held-out data, in a few words; "": not measured
    is_imported: bool  # somebody else trained it
    reads_ids: bool  # it came without a tokenizer, and its texts are token ids
    is_program: bool  # compiled from a program, or trained to compute one: it has no mask token
    is_viewed: bool = False  # transformers computes it, not the core: there are patterns and predictions alone
    medium: Medium | None = None  # an image or a sound that it reads; None: it reads texts
    config: ModelConfig

    @property
    def kind(self) -> str:
        """Return "encoder-decoder", "decoder-only" or "encoder-only"."""
        return self.config.architecture.replace("_", "-")

    @property
    def takes_pairs(self) -> bool:
        """Return whether it reads two texts, as BERT does."""
        is_encoder = self.config.architecture == "encoder_only" and self.medium is None
        return is_encoder and _takes_pairs(self.path, self.version)

    @property
    def label(self) -> str:
        """Return its title as shown in lists of models."""
        if self.is_viewed:
            return say("{title} (viewing only)", title=self.title)
        return say("{title} (imported)", title=self.title) if self.is_imported else self.title

    @property
    def is_shipped(self) -> bool:
        """Return whether it comes with Headlight; else it is the users' own."""
        return is_shipped(self.name)

    @property
    def continues(self) -> bool:
        """Return whether it generates by default; third-party decoder-only models are too slow."""
        return self.config.architecture != "decoder_only" or not self.is_imported

    @property
    def attentions(self) -> Mapping[str, Attention]:
        """Return the attentions that the model has, by name; the last is the one to look at first."""
        return attentions_of(self.config)

    def n_layers(self, attention: str) -> int:
        """Return the number of layers that contain an attention."""
        return self.attentions[attention].n_layers(self.config)

    @property
    def training(self) -> str:
        """Return a short description of its training."""
        if self.corpus:
            return say("trained on {corpus}", corpus=Path(self.corpus).name[:MOST_TITLE])
        return say("trained elsewhere") if self.is_imported else say("not trained")

    def claim(self) -> str:
        """Return one line about the model: its kind, size, training and results."""
        n_layers = max(self.config.n_encoder_layers, self.config.n_decoder_layers)
        parts = [
            say(self.kind),
            say_number(n_layers, "{n} layer", "{n} layers"),
            say_number(self.config.n_heads, "{n} head", "{n} heads"),
            say("{n} parameters", n=prose.amount(self.n_parameters)),
            self.training,
        ]
        return ", ".join([*parts, self.success] if self.success else parts)


def folder() -> Path:
    """Return the folder of the users' own models: HEADLIGHT_CHECKPOINTS, by default `checkpoints`.

    In a checkout the models that come with Headlight are there too.
    """
    return Path(os.environ.get("HEADLIGHT_CHECKPOINTS", ROOT / MODELS)).resolve()


def place_of(path: str) -> Path:
    """Return the folder of a model from its path as one writes it at the project's root."""
    place = ROOT / path
    return place if place.exists() else shipped_model(path) or place


def is_shipped(name: str) -> bool:
    """Return whether the model of this name comes with Headlight."""
    return name in SHIPPED and folder() == ROOT / MODELS


def at_root(path: Path) -> str:
    """Return the path as one writes it at the project's root."""
    return next((str(path.relative_to(root)) for root in (ROOT, APP) if path.is_relative_to(root)), str(path))


def available(page: str = "") -> dict[str, ModelCard]:
    """Return the models in the checkpoints folder by name; a folder without a readable card is not a model.

    Those that come with Headlight are first, in their order. Models of the same title are distinguished by name.

    Args:
        page: on the pages of shapes and sizes, the paper's base model is there too.
    """
    places = {place.name: place for place in folder().glob("[!.]*")}
    if folder() == ROOT / MODELS:
        places = {name: APP / MODELS / name for name in SHIPPED} | places
    cards = {}
    shipped = [places.pop(name) for name in SHIPPED if name in places]
    for place in (*shipped, *sorted(places.values(), key=lambda place: place.name)):
        try:
            cards[place.name] = _card(place)
        except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
            continue  # no file, or one that says something else
    if page in ON_PAGES_OF_SIZES and (cut := cards.get(SHIPPED[0])):
        cards[PAPER_BASE] = _paper_base(cut)
    titles = Counter(card.title for card in cards.values())
    return {
        name: replace(card, title=f"{card.title} ({name})") if titles[card.title] > 1 else card
        for name, card in cards.items()
    }


def _paper_base(cut: ModelCard) -> ModelCard:
    """Return the paper's base model with the vocabulary and the examples of another one; it is not trained.

    Source: Vaswani et al. 2017, table 3.
    """
    config = transformer_base(cut.config.vocab_size)
    return replace(
        cut,
        name=PAPER_BASE,
        path=PAPER_BASE,
        version=cut.version,
        title=say("The paper’s base model (untrained)"),
        description=say(
            "N = 6, d_model = 512, 8 heads of 64, as in table 3 of the paper, with random weights, to show its sizes."
        ),
        corpus="",
        heads=(),
        guided_head=None,
        least_usual=0.0,
        n_parameters=sum(
            {weight.name: weight.n_parameters for of in weights_of(config).values() for weight in of}.values()
        ),
        success="",
        config=config,
    )


@cache.by_arguments(mark("models"))
def load(path: str, version: str, device: str = CPU, precision: str = PRECISIONS[0]) -> "tuple[Transformer, Tokenizer]":
    """Load a model once for all sessions.

    Args:
        path: its folder.
        version: distinguishes successive models of the same folder.
        device: where it runs.
        precision: of its weights and activations.

    Raises:
        HeadlightError: the folder is damaged, or the device is not there, too small, or fails.
    """
    with devices.on(device):
        if path == PAPER_BASE:
            return _built_paper_base(device, precision)
        if is_viewed(path, version):
            viewed = hl.load_for_viewing(place_of(path), device=device, dtype=precision)
            return cast("tuple[Transformer, Tokenizer]", viewed)  # for `run_text`; other pages refuse it
        return tc.load(place_of(path), device=device, dtype=precision)


@cache.by_arguments(mark("models"))
def not_finite(path: str, version: str, device: str = CPU, precision: str = PRECISIONS[0]) -> Message | None:
    """Return a sentence on which weights of a model are NaN or infinite; None if all are finite.

    The arguments are those of `load`, and so are the errors.
    """
    from transformer_core.instrument.finite import not_finite_weights, note_on_weights

    model, _ = load(path, version, device, precision)
    return note_on_weights(not_finite_weights(model))


def is_viewed(path: str, version: str) -> bool:
    """Return whether transformers computes a model, and not the core; arguments as for `load`."""
    return bool(_reads(path, version))


def medium_of(path: str, version: str) -> Medium | None:
    """Return the medium that a model reads; None: texts; arguments as for `load`."""
    return _medium(_reads(path, version))


@lru_cache(maxsize=256)
def _reads(path: str, version: str) -> str:
    """Return the input of a model that transformers computes, "text", "image" or "audio"; "" for other models."""
    try:
        viewed = json.loads((place_of(path) / "card.json").read_text(encoding="utf-8")).get("viewed")
        return "" if viewed is None else str(viewed.get("reads", "text"))
    except (AttributeError, OSError, RecursionError, TypeError, ValueError):  # loading it will report the problem
        return ""


def _medium(reads: str) -> Medium | None:
    return cast(Medium, reads) if reads in EXAMPLES else None


def _built_paper_base(device: str, precision: str) -> "tuple[Transformer, Tokenizer]":
    from transformer_core.devices import choose_precision

    _, tokenizer = tc.load(place_of(at_root(folder() / SHIPPED[0])))
    model = tc.build(transformer_base(tokenizer.vocab_size), seed=0).eval()
    return model.to(device, choose_precision(precision)), tokenizer


def _card(place: Path) -> ModelCard:
    """Read the description of a model, without loading torch.

    Raises:
        Exception: a file is missing or invalid; the caller skips the folder.
    """

    def read(folder: Path) -> tuple[str, str, str]:
        if not all((folder / name).is_file() for name in ("card.json", "config.json")):  # a pipe would block forever
            raise ValueError(folder)
        card, config = ((folder / name).read_text(encoding="utf-8") for name in ("card.json", "config.json"))
        if not any(folder.glob("*.safetensors")):
            raise ValueError(folder)
        return card, config, cache.version(*sorted(folder.iterdir()))

    card, config, version = reading(place, read)
    values = json.loads(card)
    viewed = values.get("viewed")
    config = config if viewed is None else json.dumps(viewed["config"])
    corpus = str(values.get("corpus", {}).get("name", ""))[:MOST_EXAMPLE]
    title = say_message(Message.from_json(values["title"])) if values.get("title") else ""
    return ModelCard(
        name=place.name,
        path=at_root(place),
        version=version,
        title=title.strip()[:MOST_TITLE] or place.name,
        description=say_message(Message.from_json(values.get("description", ""))),
        corpus=corpus,
        examples=tuple(
            text for text in map(str, values.get("examples", ())[:MOST_LISTED]) if len(text) <= MOST_EXAMPLE
        ),
        heads=tuple(_does(head)[:MOST_EXAMPLE] for head in values.get("heads", ())[:MOST_LISTED]),
        guided_head=_guided_head(values, _config(config)),
        least_usual=float(values.get("usual", {}).get("least_probability", 0)),
        n_parameters=int(values.get("parameters", 0)),
        success=_success(values.get("metrics", {}), _config(config).architecture),
        is_imported="source" in values,
        reads_ids=values.get("tokenizer") == "ids",
        is_program="program" in values or corpus.startswith("program:"),
        is_viewed=viewed is not None,
        medium=_medium(str((viewed or {}).get("reads"))),
        config=_config(config),
    )


def _does(head: Mapping[str, Any]) -> str:
    """Return a card's description of a head; in other languages than the card's, composed from its scores."""
    if language() != ENGLISH:
        from headlight.analysis.heads.measures import HeadScore
        from headlight.figures.head_words import sentence

        with suppress(KeyError, TypeError, ValueError):  # a third-party card
            known = {field.name: head[field.name] for field in fields(HeadScore) if field.name in head}
            return say_message(sentence(HeadScore(**known)))
    return str(head["does"])


def _guided_head(values: Mapping[str, Any], config: ModelConfig) -> tuple[int, int] | None:
    """Return the layer and head of a card's guided head, such as "encoder.1.0"; None if the model lacks it."""
    match = re.fullmatch(r"encoder\.(\d+)\.(\d+)", str(values.get("trained", {}).get("guided_head", "")))
    layer, head = map(int, match.groups()) if match else (0, 0)
    return (layer, head) if match and layer < config.n_encoder_layers and head < config.n_heads else None


@lru_cache(maxsize=64)
def _takes_pairs(path: str, version: str) -> bool:
    """Return whether a model's tokenizer has a template for two texts; False if its file is damaged."""
    from transformer_core.text.load import load_tokenizer

    with suppress(HeadlightError):
        return reading(place_of(path), lambda place: load_tokenizer(place / "tokenizer.json")).takes_pairs
    return False


@lru_cache(maxsize=256)
def _config(text: str) -> ModelConfig:
    """Return the configuration of a file; each is checked once, because pages need all models at every click."""
    return ModelConfig.from_dict(json.loads(text))


_SUCCESSES = {  # measures on held-out texts, the most informative first
    "exact_match": mark("{share:.1%} exact match on held-out texts"),
    "coherent": mark("{share:.1%} of generated stories are coherent"),
    "continued": mark("{share:.1%} accuracy on repeated tokens"),
}
_OF_BLANKS = {"accuracy": mark("{share:.1%} accuracy on masked tokens")}


def _success(metrics: Mapping[str, Any], architecture: object) -> str:
    telling = _SUCCESSES | (_OF_BLANKS if architecture == "encoder_only" else {})
    results = {name: float(metrics[name]) for name in telling if name in metrics}
    return next((say(telling[name], share=share) for name, share in results.items() if 0 <= share <= 1), "")
