"""What was predicted in this session, and in earlier ones of this browser; and whether predictions are requested."""

import re
from collections.abc import Mapping

from pages.components import browser_storage
from pages.shared.predictions.prediction import PredictedEdit, Prediction
from pages.shared.view import visits
from pages.shared.view.fields import Kept

IS_ON = Kept("predict-first", False)
COOKIE = "headlight-predict-first"  # a page must know it before it shows what is to be predicted
STORE = "headlight-predictions"
MOST_KEPT = 1000  # predictions accepted from a browser
_GIVEN = Kept("predictions-given")  # by the edit's name; None: shown without a prediction
_NAME = re.compile(r"[0-9a-f]{16}")


def is_on() -> bool:
    """Return whether predictions are requested: the choice of this session, else of the previous one."""
    return bool(IS_ON.value) if IS_ON.is_chosen else visits.read(COOKIE) == "on"


def given() -> Mapping[str, Prediction | None]:
    """Return the predictions by the names of the edits."""
    return _GIVEN.value or {}


def predictions() -> list[Prediction]:
    """Return all predictions, without what was skipped."""
    return [one for one in given().values() if one is not None]


def is_given(edit: PredictedEdit) -> bool:
    """Return whether an edit was predicted or skipped; a prediction naming an output that it lacks does not count."""
    prediction = given().get(edit.name)
    is_of_it = prediction is None or prediction.guess is None or prediction.guess < len(edit.labels)
    return edit.name in given() and is_of_it


def give(edit: PredictedEdit, prediction: Prediction | None) -> None:
    """Record the prediction of an edit unless it already has one; None: it was skipped."""
    if not is_given(edit):
        others = {name: one for name, one in given().items() if name != edit.name}
        _GIVEN.set({**others, edit.name: prediction})


def keep() -> None:
    """Store all predictions in the browser; call at the end of a page that asks for predictions."""
    parts: dict[str, object] = {name: one and one.payload() for name, one in given().items()}
    browser_storage.keep(STORE, parts, restore)
    if IS_ON.is_chosen:
        visits.keep(COOKIE, "on" if is_on() else "off")


def restore(kept: object) -> None:
    """Add the browser's predictions of earlier sessions, checked like any input; this session's take precedence."""
    items = [*kept.items()][:MOST_KEPT] if isinstance(kept, dict) else []
    results: dict[str, Prediction | None] = {}
    for name, value in items:
        prediction = Prediction.from_payload(value)
        if isinstance(name, str) and _NAME.fullmatch(name) and (value is None or prediction is not None):
            results[name] = prediction
    _GIVEN.set(results | dict(given()))
