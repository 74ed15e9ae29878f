"""The figures of lessons that show how a model is trained: targets, losses, learning rates."""

import numpy as np

from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.hues import WARM
from headlight.language import localized, say
from pages.learn.tour.lesson_engine.drawn import FigureData, Plot
from pages.learn.tour.lesson_engine.six_words import SENTENCES, STEPS, WORDS, smoothed_target
from pages.learn.tour.lesson_engine.value import plain_number
from transformer_core.training.schedule import warmup_learning_rate

_N_POINTS = 400  # of the learning rate's curve
_NARROW = 340  # px, beside the text in a narrow window: slanted labels leave room for the first panel's name


def draw_distributions(data: FigureData) -> Plot:
    """Draw what is correct beside what the untrained and the trained model say."""
    result = data.evidence.six_words(data.given.get("smoothing", 0.0), steps=STEPS if data.is_trained else 0)
    panels = {say("target"): result.target, say("untrained"): result.untrained}
    if data.is_trained:
        panels[say("trained")] = result.trained
    figure = number_panels(
        panels,
        TokenGrid(result.to_say, WORDS, query_name=say("target"), key_name=say("word"), width=_NARROW),
        title=data.titled(say("“i am a student <eos>”: target and predictions")),
        limits=(0.0, 1.0),
        stacked=True,
    )
    rows = [
        (name, right, *map(float, row))
        for name, panel in panels.items()
        for right, row in zip(result.to_say, panel, strict=True)
    ]
    return Plot.of(figure, ("what", "to say", *WORDS), rows)


def draw_loss(data: FigureData) -> Plot:
    """Draw the loss of the six words' training."""
    losses = data.evidence.six_words(data.given.get("smoothing", 0.0)).losses
    steps = np.arange(1, len(losses) + 1)
    figure = line_figure(
        steps,
        [Line(name="", values=losses)],
        title=data.titled(say("Loss of the six-word model")),
        x_title=say("step"),
        y_title=say("nats per token"),
        x_range=(0, STEPS),
        y_range=(0.0, 2.4),
        levels={say("random guessing: ln 6"): float(np.log(len(WORDS)))},
        height=280,
    )
    return Plot.of(figure, ("step", "loss in nats"), zip(steps.tolist(), losses.tolist(), strict=True))


def draw_smoothing(data: FigureData) -> Plot:
    """Draw a smoothed target beside the one-hot one."""
    smoothing = data.moved.get("smoothing", 0.1)
    n = data.given.get("words", len(WORDS))
    labels = WORDS if n == len(WORDS) else tuple(map(str, range(n)))
    right = WORDS.index(SENTENCES[0][1].split()[0]) if n == len(WORDS) else 0
    bars = {
        say("one-hot"): smoothed_target(right, n),
        say("smoothed"): smoothed_target(right, n, smoothing=smoothing),
    }
    figure = label_bars(
        bars,
        labels,
        title=data.titled(
            say(
                "Target for “{word}” with label smoothing {smoothing}",
                word=labels[right],
                smoothing=plain_number(smoothing, 2),
            )
        ),
        label_name=say("word"),
        value_name=say("probability"),
        limits=(0.0, 1.0),
        decimals=3,
    )
    rows = [(label, *(float(of[place]) for of in bars.values())) for place, label in enumerate(labels)]
    return Plot.of(figure, ("word", *bars), rows)


def draw_warm_up(data: FigureData) -> Plot:
    """Draw the paper's learning rate, beside that of the paper's base model."""
    d_model, warmup = int(data.moved.get("width", 512)), int(data.moved.get("steps", 4000))
    last = max(5 * warmup, 20_000)
    steps = np.unique(
        np.concatenate([np.geomspace(1, last, _N_POINTS), np.linspace(1, last, _N_POINTS), [warmup]]).astype(int)
    )
    is_base = (d_model, warmup) == (512, 4000)
    name = say("d_model {d_model}, warm-up {warmup}", d_model=d_model, warmup=localized(warmup))
    lines = [Line(name="" if is_base else name, values=_rates(steps, d_model, warmup))]
    if not is_base:
        lines.append(Line(name=say("the paper's base model"), values=_rates(steps, 512, 4000), hue=WARM))
    highest = warmup_learning_rate(warmup, d_model=d_model, warmup_steps=warmup)
    figure = line_figure(
        steps,
        lines,
        title=data.titled(
            say("Learning rate: peak {rate} at step {step}", rate=localized(highest, ".2e"), step=localized(warmup))
        ),
        x_title=say("step"),
        y_title=say("learning rate"),
        y_range=(0.0, 1.06 * max(float(line.values.max()) for line in lines)),
        y_format=".3e",
        marks={say("end of warm-up"): float(warmup)} if is_base else {},
        height=340,
    )
    rows = [(int(step), float(rate)) for step, rate in zip(steps, _rates(steps, d_model, warmup), strict=True)]
    return Plot.of(figure, ("step", "learning rate"), rows)


def _rates(steps: np.ndarray, d_model: int, warmup: int) -> np.ndarray:
    return np.array([warmup_learning_rate(int(step), d_model=d_model, warmup_steps=warmup) for step in steps])
