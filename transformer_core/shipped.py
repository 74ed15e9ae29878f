"""The folders of the app and of the models that come with Headlight, in a checkout and in an installation."""

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parents[1]  # a checkout, or the site-packages folder
IS_INSTALLED = (_HERE / "headlight" / "app" / "app.py").is_file()
APP = _HERE / "headlight" / "app" if IS_INSTALLED else _HERE  # app.py, pages/ and checkpoints/
MODELS = "checkpoints"


def shipped_model(path: str | os.PathLike[str]) -> Path | None:
    """Return the folder of a model that comes with Headlight ("checkpoints/en-fr"), or None for other paths."""
    folder = Path(path)
    place = APP / folder
    return place if folder.parent == Path(MODELS) and (place / "card.json").is_file() else None
