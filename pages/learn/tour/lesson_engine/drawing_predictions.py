"""The figures of lessons that show predictions, and how a model is trained: targets, losses, learning rates."""

import numpy as np

from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.theme import WARM
from headlight.language import localized, say
from pages.learn.tour.lesson_engine import figure_kind as read
from pages.learn.tour.lesson_engine.drawn import FigureData, LessonTable, Plot
from pages.learn.tour.lesson_engine.figure_kind import POSITION, SMOOTHING, TITLE, Slider, figure
from pages.learn.tour.lesson_engine.lesson import LessonError
from pages.learn.tour.lesson_engine.outputs import next_tokens
from pages.learn.tour.lesson_engine.quantities import probabilities
from pages.learn.tour.lesson_engine.run import LessonRun
from pages.learn.tour.lesson_engine.six_words import SENTENCES, STEPS, WORDS, smoothed_target
from pages.learn.tour.lesson_engine.value import plain_number
from transformer_core.errors import mark
from transformer_core.training.optimizer import warmup_learning_rate

_N_POINTS = 400  # of the learning rate's curve
_NARROW = 340  # px, the width beside the text in a narrow window: slanted labels leave room for the first panel's name


@figure(
    "next-tokens",
    mark("the decoder's input at each position, the correct next token, and its probability"),
    POSITION,
)
def _draw_next_tokens(data: FigureData) -> LessonTable:
    run = _writing(data)
    probs = probabilities(run, run.logits)
    labels = probs.axes[1].labels
    rows = tuple(
        (reads, labels[right], plain_number(float(row[right]), 3), labels[int(row.argmax())])
        for reads, right, row in zip(run.model_run.target, next_tokens(run), probs.array, strict=True)
    )
    is_named = "pos" in data.given or "writing" in data.given
    return LessonTable(
        title=data.titled(say("What the decoder reads, and what it has to predict")),
        columns=(say("input"), say("target"), say("probability"), say("prediction")),
        rows=rows,
        marked=_position(data, run) if is_named else None,
    )


@figure(
    "top-tokens",
    mark("the most probable tokens at one position, or their logits, optionally with a slider for the temperature"),
    POSITION | {"n": read.whole(2, 20), "quantity": read.one_of("probs", "logits"), "temperature": read.number(0.1, 3)},
    Slider("temperature", mark("Temperature"), 0.1, 3.0, step=0.1, start=1.0, is_optional=True),
)
def _draw_top_tokens(data: FigureData) -> Plot:
    run = _writing(data)
    place = _position(data, run)
    temperature = data.moved.get("temperature", 1.0)
    is_logits = data.given.get("quantity", "probs") == "logits"
    logits = run.logits.astype(np.float64)
    probs = probabilities(run, logits / temperature)
    shown = logits[place] if is_logits else probs.array[place]
    best = np.argsort(-logits[place], kind="stable")[: data.given.get("n", 8)]
    labels = tuple(probs.axes[1].labels[i] for i in best)
    after = run.model_run.target[place]
    if "temperature" in data.given:
        title = say(
            "Most probable tokens after “{token}”, temperature {temperature}",
            token=after,
            temperature=plain_number(temperature, 1),
        )
    elif is_logits:
        title = say("Largest logits after “{token}”", token=after)
    else:
        title = say("Most probable tokens after “{token}”", token=after)
    figure = label_bars(
        {"": shown[best]},
        labels,
        title=data.titled(title),
        label_name=say("token"),
        value_name=say("logit") if is_logits else say("probability"),
        limits=None if is_logits else (0.0, 1.0),
        decimals=2 if is_logits else 3,
    )
    name = "logit" if is_logits else "probability"
    rows = [(label, float(value)) for label, value in zip(labels, shown[best], strict=True)]
    return Plot.of(figure, ("token", name), rows)


def _writing(data: FigureData) -> LessonRun:
    """Return the run that is drawn, after checking that its model generates text.

    Raises:
        LessonError: the model is masked and only fills in blanks.
    """
    run = data.run
    if run.model.decoder is None:
        raise LessonError("a masked model does not generate text", line=data.spec.line)
    return run


def _position(data: FigureData, run: LessonRun) -> int:
    """Return the position given by "pos" (the decoder's input) or "writing" (the token written there); 0 by default.

    Raises:
        LessonError: there is no such position.
    """
    for name in ("pos", "writing"):
        if name in data.given:
            with data.at(name):
                return run.axis("pos", "target").place(name, data.given[name])
    return 0


@figure(
    "distributions",
    mark("target distributions of the six-word model, and its predictions before and after training"),
    SMOOTHING,
    trains=True,
)
def _draw_distributions(data: FigureData) -> Plot:
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


@figure("loss", mark("the loss curve of the six-word model, trained live"), SMOOTHING, trains=True)
def _draw_loss(data: FigureData) -> Plot:
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


@figure(
    "smoothing",
    mark("a smoothed target, with a slider for label smoothing"),
    SMOOTHING | {"words": read.whole(2, 40)},
    Slider("smoothing", mark("Label smoothing"), 0.0, 0.9, step=0.01, start=0.1),
)
def _draw_smoothing(data: FigureData) -> Plot:
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


@figure(
    "warm-up",
    mark("the learning rate schedule, optionally with sliders for d_model and warm-up"),
    {"width": read.whole(1, 8192), "steps": read.whole(1, 100_000)} | TITLE,
    Slider("width", "d_model", 64, 2048, step=64, start=512, is_optional=True),
    Slider("steps", mark("Warm-up steps"), 100, 20_000, step=100, start=4000, is_optional=True),
)
def _draw_warm_up(data: FigureData) -> Plot:
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
