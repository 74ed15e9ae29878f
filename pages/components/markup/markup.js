// HTML with MathML in it; data: well-formed, and escaped by Python.

import { mount } from "../kit/mount.js";

const READER = new DOMParser(); // which runs no script

export default await mount(import.meta.url, {
  make: (root) => root,
  update(root, data) {
    const { documentElement } = READER.parseFromString(`<div xmlns="http://www.w3.org/1999/xhtml">${data}</div>`, "application/xhtml+xml");
    root.replaceChildren(...documentElement.childNodes);
  },
});
