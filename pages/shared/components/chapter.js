// Brings a chapter's beginning into sight when another one is opened.
//
// data: the chapter's name.

const lastChapter = new WeakMap(); // by the page's scrolling box

export default function ({ data, parentElement }) {
  const root = parentElement.getRootNode();
  const page = (root.host ?? parentElement).ownerDocument ?? document;
  const box = page.querySelector('[data-testid="stMain"]');
  if (!box) return;
  const before = lastChapter.get(box);
  lastChapter.set(box, data);
  if (before !== undefined && before !== data) box.scrollTo({ top: 0 });
}
