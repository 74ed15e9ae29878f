"""Interventions: what happens if this head is off, or this cell is changed?"""

from pages.investigate.interventions.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(package=__name__, place=0, title=mark("Interventions"), icon="tune", fields=FIELDS, is_unchanged=True)
