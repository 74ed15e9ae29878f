"""The hook of properdocs.yml: README becomes the start page, and source files that pages link to join the site."""

import logging
import re
from pathlib import Path

from latex2mathml.converter import convert
from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]
LOG = logging.getLogger("properdocs.hooks.site")  # below `properdocs`, so that a strict build fails after a warning
_CODE = r"^```.*?^```$|`[^`\n]+`"
_MATH = re.compile(rf"({_CODE})|\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL | re.MULTILINE)
_SOURCE_LINK = re.compile(r"\]\(\.\./(?!README)([^)#\s]+)")  # from a page in docs/ to a file outside it
_SOURCE_PATH = re.compile(r"`((?:headlight|transformer_core|pages|tests|grammars|docs)/[\w./-]*)`")
_EXAMPLE = re.compile(r"/row\b")  # the page that a reader of "Add a page" makes
_STYLES = {"light": "default", "dark": "github-dark"}  # Pygments' style, by colour mode
_LAYOUT = "table { display: block; overflow-x: auto } math[display=block] { margin: 1rem 0 }"


def on_files(files: Files, *, config: ProperDocsConfig) -> Files:
    """Add the start page, the source files that pages link to, the style of code, and a placeholder for the API."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    generated = {
        "index.md": re.sub(r"\]\((?!https?:|#|docs/)", "](../", readme).replace("](docs/", "]("),
        "api/index.html": "`make docs` writes the API reference here.",
        "site.css": "\n".join([_LAYOUT, *(_style_of_code(*names) for names in _STYLES.items())]),
    }
    texts = [generated["index.md"], *(page.content_string for page in files.documentation_pages())]
    for name, text in generated.items():
        files.append(File.generated(config, name, content=text))
    for name in {link for text in texts for link in _SOURCE_LINK.findall(text)}:
        if (ROOT / name).is_file():
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Return a page whose links to source files lead to their copies in the site, with its formulas in MathML."""
    for path in _SOURCE_PATH.findall(markdown):
        if not (ROOT / path).exists() and not _EXAMPLE.search(path):
            LOG.warning("Doc file '%s' names `%s`, which does not exist.", page.file.src_uri, path)
    if "/" not in page.file.src_uri:  # in a folder below docs/, ../ leads to other pages
        markdown = _SOURCE_LINK.sub(r"](\1", markdown.replace("](../README.md", "](index.md"))
    return _MATH.sub(_in_mathml, markdown)


def _style_of_code(mode: str, style: str) -> str:
    definitions: str = HtmlFormatter(style=style).get_style_defs(f"[data-bs-theme={mode}] .codehilite")
    return definitions


def _in_mathml(match: re.Match[str]) -> str:
    code, block, inline = match.groups()
    return code or convert(block or inline, display="block" if block else "inline")
