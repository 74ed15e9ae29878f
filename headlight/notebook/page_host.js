// Shows the views of a page: of a file, or of a notebook's outputs. Each output brings this script along, so that it
// works alone; a view that is shown already stays unchanged.

import { showAttention } from "./attention_view.js";
import { bytesOf } from "./decode.js";

for (const place of document.querySelectorAll(".headlight-view:not([data-shown])")) {
  const view = /** @type {HTMLElement} */ (place);
  const [header, packed] = ["json", "base64"].map((kind) => view.querySelector(`script[data-kind="${kind}"]`)?.textContent ?? "");
  view.dataset.shown = "";
  const signal = new AbortController().signal; // it stays as long as its page
  showAttention(view, { header: JSON.parse(header), packed: bytesOf(packed) }, { signal }).catch((error) => {
    delete view.dataset.shown; // the picture stays
    console.error(error);
  });
}
