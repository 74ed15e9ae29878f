"""The server's settings: nothing leaves this machine, and the theme is the one palette."""

import tomllib
from pathlib import Path

import pytest

from headlight.figures import theme

ROOT = Path(__file__).resolve().parents[1]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))

PALETTES = {"light": theme.LIGHT, "dark": theme.DARK}
FIELD_OF = {
    "primaryColor": "accent",
    "linkColor": "accent",
    "backgroundColor": "background",
    "secondaryBackgroundColor": "surface",
    "textColor": "text",
    "grayTextColor": "muted",
    "borderColor": "border",
}


def luminance(color: str) -> float:
    """Relative luminance of "#RRGGBB" in [0, 1]. Source: WCAG 2.2."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21. Source: WCAG 2.2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_nothing_leaves_this_machine():
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert set(CONFIG["server"]["allowedHosts"]) == {"localhost", "127.0.0.1"}
    assert CONFIG["server"]["enableXsrfProtection"] is True
    assert CONFIG["server"]["enableCORS"] is True


def test_streamlit_takes_every_setting(monkeypatch: pytest.MonkeyPatch):
    """Streamlit only logs an option that it does not know; two of these are hidden ones."""
    from streamlit import config

    monkeypatch.chdir(ROOT)
    options = config.get_config_options(force_reparse=True)
    for section in ("server", "global", "browser", "client", "runner"):
        for name, value in CONFIG[section].items():
            assert options[f"{section}.{name}"].value == value
    assert config.get_option("runner.postScriptGC") is False
    assert config.get_option("global.maxCachedMessageAge") == 20


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_theme_is_the_palette(mode: str):
    colors = CONFIG["theme"][mode]
    assert {name: colors[name].upper() for name in FIELD_OF} == {
        name: getattr(PALETTES[mode], field).upper() for name, field in FIELD_OF.items()
    }


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
@pytest.mark.parametrize("writing", ["textColor", "grayTextColor", "linkColor"])
def test_writing_is_legible(mode: str, ground: str, writing: str):
    colors = CONFIG["theme"][mode]
    assert contrast(colors[writing], colors[ground]) >= 4.5
