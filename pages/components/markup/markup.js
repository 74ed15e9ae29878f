// HTML with MathML in it, escaped by Python; data: the HTML.

import { mount } from "../kit/mount.js";

export default await mount(import.meta.url, {
  make: (root) => root,
  update(root, data) {
    root.innerHTML = data;
  },
});
