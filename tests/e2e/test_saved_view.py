"""A view of all heads that was saved as a file: it opens without a network, and everything in it responds."""

import re
from base64 import b64encode
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import headlight as hl
import transformer_core as tc
from headlight.notebook.bundle import widget_module

pytestmark = pytest.mark.browser
AS_WIDGET = """\
async ([code, header, packed]) => {
  // As anywidget calls a module: a head is clicked, then another chosen in Python; return all messages to Python.
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const traits = { header, packed: new DataView(bytes.buffer) };
  const el = document.body.appendChild(document.createElement("div"));
  const [sent, listeners] = [[], []];
  const model = { get: (name) => traits[name], on: (_, listener) => listeners.push(listener), save_changes() {} };
  model.set = (_, value) => sent.push([value, root.querySelector(".of-head strong").textContent]);
  const { default: widget } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  await widget.render({ model, el });
  const root = el.firstElementChild.shadowRoot;
  [...root.querySelector(".part").shadowRoot.querySelectorAll(".head")].at(-1).click();
  traits.chosen = { attention: "decoder", layer: 0, head: 2 };
  for (const listener of listeners) listener();
  return sent;
}
"""


def test_a_saved_view_works_offline(browser: Browser, tmp_path: Path) -> None:
    model, _ = tc.load("checkpoints/en-fr")
    view = hl.show(model, "the small cats sleep", attention="cross")
    file = view.save(tmp_path / "heads.html")
    context = browser.new_context(offline=True, color_scheme="dark", viewport={"width": 1100, "height": 700})
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))

    page.goto(file.as_uri())
    heads = page.get_by_role("button", name=re.compile("^Cross-attention L"))
    expect(heads).to_have_count(8)
    expect(page.locator(".of-head strong")).to_have_text("L0.H0")
    heads.nth(6).click()
    expect(page.locator(".of-head strong")).to_have_text("L1.H2")
    expect(heads.nth(6)).to_have_attribute("aria-pressed", "true")

    cells = page.get_by_role("application")
    n_keys = len(view.record.attentions["cross"].keys)
    pattern = view.record.attentions["cross"].patterns[1, 2]
    cells.focus()
    page.keyboard.press("ArrowRight")
    weight = page.locator(".heatmap .tip .weight")
    expect(weight).to_have_text(f"{pattern[0, 0]:.4f}")
    frame = page.locator(".frame").bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + 1.5 * frame["width"], frame["y"] + 2.5 * frame["height"])
    expect(weight).to_have_text(f"{pattern[2, 1]:.4f}")
    page.mouse.move(0, 0)
    expect(weight).not_to_be_visible()

    with page.expect_download() as download:
        page.get_by_role("button", name="Save picture").click()
    assert download.value.suggested_filename == "L1.H2.png"

    page.get_by_label("Measure").select_option("Attention entropy")
    page.get_by_label("Order of the heads").select_option("ascending")
    names = [head.get_attribute("aria-label") or "" for head in heads.all()]
    entropies = [float(re.findall(r"attention entropy ([\d.]+)", name)[0]) for name in names]
    assert entropies == sorted(entropies) and len(entropies) == 8
    heads.nth(0).click(modifiers=["Shift"])
    heads.nth(1).click(modifiers=["Shift"])
    page.get_by_role("button", name="Lines").click()
    expect(page.locator(".lines .item")).to_have_count(2)
    expect(page.locator(".lines .key .token")).to_have_count(n_keys)

    view_of_all = page.locator(".attention-view")
    expect(view_of_all).to_have_css("background-color", "rgb(18, 20, 26)")
    page.emulate_media(color_scheme="light")
    expect(view_of_all).to_have_css("background-color", "rgb(255, 255, 255)")
    page.add_style_tag(
        content=":root { --vscode-editor-background: #1f1f1f } :root, body { background: none !important }"
    )
    page.locator("body").evaluate("body => (body.className = 'vscode-dark')")
    expect(view_of_all).to_have_css("background-color", "rgb(18, 20, 26)")
    page.locator("html").evaluate("html => html.style.setProperty('--vscode-editor-background', 'white')")
    expect(view_of_all).to_have_css("background-color", "rgb(255, 255, 255)")
    page.locator("html").evaluate("html => html.setAttribute('theme', 'dark')")  # as in Colab
    expect(view_of_all).to_have_css("background-color", "rgb(18, 20, 26)")

    sent = context.new_page().evaluate(AS_WIDGET, [widget_module("en"), view.header, b64encode(view._packed).decode()])
    expected = [{"attention": "cross", "layer": 1, "head": 3}, {"attention": "decoder", "layer": 0, "head": 2}]
    assert sent == [[expected[0], "L1.H3"], [expected[1], "L0.H2"]]
    context.close()
    assert not troubles and {url.partition(":")[0] for url in requests} <= {"file", "data"}
