"""A view as a widget of a running notebook, by anywidget."""

from typing import Any

from headlight.language import language
from headlight.notebook.bundle import widget_module
from transformer_core.errors import ArgumentError

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ArgumentError("a widget needs anywidget; install it with: pip install anywidget") from error


class AttentionWidget(anywidget.AnyWidget):
    """All heads of a model on one text; `chosen` is the head that is shown, here and in the notebook."""

    _esm = traitlets.Unicode().tag(sync=True)
    header = traitlets.Dict().tag(sync=True)
    packed = traitlets.Bytes().tag(sync=True)
    chosen = traitlets.Dict().tag(sync=True)

    def __init__(self, picture: str, **traits: Any) -> None:
        """Take the traits, and as HTML what is shown where no widgets run, as in an exported notebook."""
        super().__init__(**traits)
        self._picture = picture

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**options)  # type: ignore[misc]  # None only without a view
        return data | {"text/html": self._picture}, metadata

    @traitlets.default("_esm")
    def _default_module(self) -> Any:
        return widget_module(language())
