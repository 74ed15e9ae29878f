"""The figures of lessons that show predictions: of each position one, or of one position the best ones."""

import numpy as np

from headlight.figures.bars.label_bars import label_bars
from headlight.language import say
from pages.learn.tour.lesson_engine.changed import next_tokens
from pages.learn.tour.lesson_engine.drawn import FigureData, Plot, Table
from pages.learn.tour.lesson_engine.errors import LessonError
from pages.learn.tour.lesson_engine.getters import probabilities
from pages.learn.tour.lesson_engine.run import Run
from pages.learn.tour.lesson_engine.value import plain_number


def draw_next_tokens(data: FigureData) -> Table:
    """Tell what the decoder reads at each position, what is correct there, and what the model finds most probable."""
    run = _writing(data)
    probs = probabilities(run, run.logits)
    labels = probs.axes[1].labels
    rows = tuple(
        (reads, labels[right], plain_number(float(row[right]), 3), labels[int(row.argmax())])
        for reads, right, row in zip(run.model_run.target, next_tokens(run), probs.array, strict=True)
    )
    is_named = "pos" in data.given or "writing" in data.given
    return Table(
        title=data.titled(say("What the decoder reads, and what it has to predict")),
        columns=(say("input"), say("target"), say("probability"), say("prediction")),
        rows=rows,
        marked=_position(data, run) if is_named else None,
    )


def draw_top_tokens(data: FigureData) -> Plot:
    """Draw the logits, or the probabilities, of the best tokens at one position."""
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


def _writing(data: FigureData) -> Run:
    """Return the run that is drawn, of a model that writes.

    Raises:
        LessonError: it only fills in blanks.
    """
    run = data.run
    if run.model.decoder is None:
        raise LessonError("a masked model does not generate text", line=data.spec.line)
    return run


def _position(data: FigureData, run: Run) -> int:
    """Return the position that is meant: by the decoder's input, or by the token that is right after it; else 0.

    Raises:
        LessonError: there is none.
    """
    for name in ("pos", "writing"):
        if name in data.given:
            with data.at(name):
                return run.axis("pos", "target").place(name, data.given[name])
    return 0
