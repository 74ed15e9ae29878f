"""The setup of a training: the corpus, the model and the pace, with their statistics before the start."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.figures.architecture.inventory import parameters_by_part
from headlight.language import localized, say, say_message
from pages.shared import corpora, devices, prose, run_commands
from pages.shared.corpora import MADE_HERE, CorpusChoice
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train.train import batch_view, own_text, settings
from pages.train.train.model_settings import model_settings
from transformer_core.config import Architecture, ModelConfig
from transformer_core.errors import ConfigError, HeadlightError, mark
from transformer_core.model.presets import PRESETS
from transformer_core.training.config import OptimizerName, Precision, Schedule, TrainingConfig
from transformer_core.training.presets import preset_training

if TYPE_CHECKING:
    from headlight.analysis.training.estimate import Suggestion
    from headlight.corpora.corpus_stats import CorpusStats

_MADE, _OWN = mark("Built-in"), mark("Your own text")
_SOURCE, _TASK = Kept("train-source", _MADE), Kept("train-corpus", next(iter(MADE_HERE)))
USUAL_PRESETS = {"copy": "tiny-one-layer", "en-fr": "tiny-pre-norm", "induction": "tiny-attention"}  # of corpora
KINDS: dict[Architecture, str] = {
    "encoder_decoder": mark("encoder-decoder"),
    "decoder_only": mark("decoder"),
    "encoder_only": mark("encoder"),
}
LEARNS: dict[Architecture, str] = {
    "encoder_decoder": mark("reads the source and generates the target, as in the paper"),
    "decoder_only": mark("predicts the next token of a text"),
    "encoder_only": mark("predicts masked tokens of a text"),
}

_EPOCHS = {  # by what is counted
    "pairs": mark("{n} epochs of {rows:,} pairs"),
    "texts": mark("{n} epochs of {rows:,} texts"),
    "stretches": mark("{n} epochs of {rows:,} windows"),
}


@dataclass(frozen=True)
class Plan:
    """What is to be trained."""

    choice: CorpusChoice
    preset: str
    stats: "CorpusStats"
    model: ModelConfig
    training: TrainingConfig
    device: str
    suggestion: "Suggestion | None"  # suggested number of steps with these settings, for a custom text
    n_rows: int  # pairs or windows in an epoch with these settings

    @property
    def epochs(self) -> float:
        """The number of passes over the corpus."""
        return self.training.steps * self.training.batch_size / self.n_rows


def page() -> None:
    """Draw the choices on the left and the facts about them on the right."""
    with st.container(key="hl-train-new"):
        left, right = st.columns([5, 7], gap="medium")
    with left:
        choice = _corpus()
        if choice is None:
            return
        architecture, preset = _model(choice)
    with right:
        warnings = st.container()
        stats = corpora.show(choice, architecture)
    if stats is None:
        return
    with left:
        plan = _settings(choice, preset, stats)
        if plan is None:
            return
        _start(plan, warnings)
    with right:
        batch_view.show(choice, stats, plan.model, plan.training)


def _corpus() -> CorpusChoice | None:
    """Draw the choice of a corpus and return it; None while there is none."""
    _SOURCE.segmented(say("Corpus"), [_MADE, _OWN], name=say, label_visibility="visible")
    if _SOURCE.value == _OWN:
        return own_text.choose()
    in_words = {name: say(words) for name, (words, _) in MADE_HERE.items()}
    _TASK.selectbox(say("Task"), [*MADE_HERE], name=in_words.__getitem__, label_visibility="collapsed")
    name = _TASK.value
    return CorpusChoice(name=name, corpus=name, is_pairs=MADE_HERE[name][1], run_name=name)


def _model(choice: CorpusChoice) -> tuple[Architecture, str]:
    """Draw the choice of the model's architecture and of the preset with its default settings."""
    kinds = [kind for kind in KINDS if (kind == "encoder_decoder") == choice.is_pairs]
    kind = kinds[0]
    if len(kinds) > 1:
        chosen_kind = Kept("new-kind", kind)
        chosen_kind.segmented(say("Model"), kinds, name=lambda kind: say(KINDS[kind]), label_visibility="visible")
        kind = chosen_kind.value
    presets = [name for name, preset in PRESETS.items() if preset(1000).architecture == kind]
    usual = USUAL_PRESETS.get(choice.name, presets[0])
    preset = Kept(f"new-preset-{choice.name}-{kind}", usual if usual in presets else presets[0])
    preset.selectbox(
        say("Size") if len(kinds) > 1 else say("Model"),
        presets,
        name=settings.preset_in_words,
        help=say(
            "The {kind} {learns}. Everything below starts from this preset and can be changed.",
            kind=say(KINDS[kind]),
            learns=say(LEARNS[kind]),
        ),
    )
    return kind, preset.value


def _settings(choice: CorpusChoice, preset: str, stats: "CorpusStats") -> Plan | None:
    """Draw all other settings; return None, with a message on the page, if they are invalid."""
    from headlight.analysis.training.estimate import suggest
    from headlight.corpora.corpus_stats import n_rows

    usual_model, usual_training = PRESETS[preset](stats.vocab_size), preset_training(preset, choice.name)
    prefix = f"new-{preset}-{choice.name}"
    preset_steps = usual_training.steps

    def suggested(model: ModelConfig, training: TrainingConfig) -> "Suggestion":
        a_step = _seconds(model, replace(training, steps=1), stats) if len(devices.available()) == 1 else 0.0
        rows = n_rows(stats, model.max_seq_len, training.stride)
        return suggest(replace(training, steps=preset_steps), n_rows=rows, seconds_per_step=a_step)

    if not choice.is_made_here:  # presets are made for the corpora that are made here
        usual_training = suggested(usual_model, usual_training).training
        prefix = f"new-{preset}-{choice.corpus}-{sorted(choice.reading.items())}"
    try:
        with st.expander(say("Model"), icon=":material/schema:"):
            model = model_settings(prefix, usual_model)
        with st.expander(say("Training settings"), icon=":material/tune:"):
            training, device = _pace(prefix, usual_training, model, has_windows=stats.items == "stretches")
        rows = n_rows(stats, model.max_seq_len, training.stride)
        suggestion = None if choice.is_made_here else suggested(model, training)
        return Plan(choice, preset, stats, model, training, device, suggestion, rows)
    except ConfigError as error:
        prose.warning(say("Invalid settings: {error}.", error=error))
        return None


def _seconds(model: ModelConfig, training: TrainingConfig, stats: "CorpusStats") -> float:
    """Return about how long a training takes on this machine's processor."""
    from headlight.analysis.training.estimate import estimated_seconds, products_per_second

    return estimated_seconds(
        model,
        training,
        tokens_per_row=corpora.tokens_per_item(stats),
        products_per_second=products_per_second(),
    )


def _pace(prefix: str, usual: TrainingConfig, model: ModelConfig, *, has_windows: bool) -> tuple[TrainingConfig, str]:
    """Draw the settings of the pace and, for a running text, the stride of its windows.

    Raises:
        ConfigError: the settings are invalid.
    """
    fields = settings.ConfigWidgets(prefix, usual)
    with st.container(key="hl-train-pace"):
        fields.add_number("steps", mark("Steps"), 1, 10_000_000)
        fields.add_number("batch_size", mark("Batch size"), 1, 100_000)
        fields.add_number("learning_rate_factor", mark("Learning rate multiplier"), 1e-6, 1e6, step=0.1)
        fields.add_choice("schedule", mark("Schedule"), get_args(Schedule))
        fields.add_number("warmup_steps", mark("Warm-up steps"), 1, 1_000_000)
        fields.add_number("clip_norm", mark("Gradient clipping (0 = off)"), 0.0, 1e6, step=0.05)
        fields.add_choice("optimizer", mark("Optimizer"), get_args(OptimizerName))
        fields.add_number("weight_decay", mark("Weight decay (AdamW only)"), 0.0, 1.0, step=0.05)
        fields.add_number("label_smoothing", mark("Label smoothing"), 0.0, 0.9, step=0.05)
        fields.add_number("accumulate", mark("Gradient accumulation steps"), 1, 1024)
        if has_windows:
            fields.add_number("stride", mark("Window stride (0 = window length)"), 0, 4096)
        fields.add_number("seed", mark("Seed"), 0, 2**32 - 1)
        fields.add_number("film_megabytes", mark("Snapshot storage limit (MB)"), 0, 100_000)
        if len(devices.available()) > 1:
            fields.add_choice("device", mark("Device"), devices.available(), devices.available()[1])
            fields.add_choice("precision", mark("Precision"), get_args(Precision))
    values = {"stride": 0} | fields.values
    device, stride = values.pop("device", devices.CPU), values["stride"]
    values |= {"stride": stride or None, "clip_norm": values["clip_norm"] or None}
    values["weight_decay"] *= values["optimizer"] == "adamw"
    training = replace(usual, **values)
    if stride > model.max_seq_len:
        raise ConfigError(
            "stride ({stride}) must be at most max_seq_len ({most}); otherwise tokens between windows would be skipped",
            stride=stride,
            most=model.max_seq_len,
        )
    warmup_steps = training.warmup_steps
    highest = training.learning_rate_factor * (model.d_model * warmup_steps) ** -0.5
    rises = say("The learning rate rises to {rate:.2g} at step {steps:,}.", rate=highest, steps=warmup_steps)
    prose.small(rises)
    return training, device


def _start(plan: Plan, warnings: DeltaGenerator) -> None:
    """Summarize the training and offer to start it; problems of the corpus are reported beside the corpus."""
    model, training, device = plan.model, plan.training, plan.device
    n_parameters = sum(parameters_by_part(model).values())
    facts = [say("{n} parameters", n=prose.amount(n_parameters)), say("{n:,} steps", n=training.steps)]
    rows = plan.stats.items if plan.n_rows == plan.stats.n_train else "stretches"  # long texts are split
    facts.append(say(_EPOCHS[rows], n=epochs_in_words(plan.epochs), rows=plan.n_rows))
    if device == devices.CPU:
        seconds = _seconds(model, training, plan.stats)
        facts.append(say("about {time} on this machine when idle", time=prose.duration(seconds)))
    with st.container(border=True, key="hl-train-start"):
        prose.html("<p class='hl-facts'>{}</p>", " · ".join(facts))
        _say_why(plan)
        if _is_refused(plan, warnings):
            return
        if st.button(say("Start training"), type="primary", icon=":material/play_arrow:", key="start-training"):
            arguments = settings.arguments(plan.choice, plan.preset, model, training, device)
            name = run_commands.free_name(plan.choice.run_name)
            try:
                run_commands.start(name, arguments)
            except HeadlightError as error:
                prose.warning(say("The training did not start: {error}.", error=error))
                return
            run_state.choose_run(name)
            st.rerun()


def _say_why(plan: Plan) -> None:
    """Show how many steps suit a custom text and, if that many are set, why they are fewer than the preset's."""
    suggestion = plan.suggestion
    if suggestion is None:
        return
    values = {"steps": suggestion.training.steps, "usual": suggestion.usual_steps, "n": plan.epochs}
    if plan.training.steps != suggestion.training.steps:
        why = say("With these settings, {steps:,} steps are suggested.", steps=suggestion.training.steps)
    elif not suggestion.is_shorter:
        return
    elif suggestion.is_for_time:
        why = say(
            "{steps:,} steps instead of the preset’s {usual:,}, so that a first training does not take too long on "
            "this machine. More steps improve the result.",
            **values,
        )
    else:
        why = say(
            "{steps:,} steps instead of the preset’s {usual:,}: the text is short, and this is already about {n:,.0f} "
            "epochs. More steps would mostly overfit.",
            **values,
        )
    prose.small(why)


def _is_refused(plan: Plan, warnings: DeltaGenerator) -> bool:
    """Report why the corpus does not suit such a training; return whether the training cannot begin."""
    from headlight.corpora.corpus_stats import check

    training = plan.training
    result = check(
        plan.stats, max_seq_len=plan.model.max_seq_len, batch_size=training.batch_size, stride=training.stride
    )
    fatal = [say_message(finding.sentence) for finding in result if finding.is_fatal]
    reports = [say_message(finding.sentence) for finding in result if not finding.is_fatal]
    if fatal:
        prose.warning(" ".join(fatal))
    with warnings:
        for sentence in () if plan.choice.is_made_here else reports:
            prose.warning(sentence)
    return bool(fatal)


def epochs_in_words(n: float) -> str:
    """Format a number of epochs, with two significant digits below 10, else as an integer."""
    return localized(n, ".2g") if n < 9.95 else localized(n, ",.0f")
