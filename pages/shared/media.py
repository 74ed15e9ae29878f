"""An image or a sound of the view as code: an example, or a file that a person opened."""

import headlight as hl
from headlight.viewing.media import EXAMPLES, Medium, open_media
from pages.shared.recipe import Expression, call, through
from pages.shared.view import files


def recipe(key: str, medium: Medium) -> Expression:
    """Return the image or sound of this name in the view as code."""
    if key in EXAMPLES[medium]:
        return call(hl.example_media, key)
    opened = call(hl.open_media, files.label(key), medium)
    return through(opened, lambda _: open_media(files.find(key).content, medium), version=key)
