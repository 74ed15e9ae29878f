"""The parts of the Masks page, drawn without an app."""

from collections.abc import Callable

from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from tests.pages.learn.bare import looking

Look = Callable[..., MasksData]
look = looking(view_fields.FIELDS, MasksData)
