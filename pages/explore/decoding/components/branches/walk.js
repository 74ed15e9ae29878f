// Where one is in a tree: the selected token stays in sight, keys walk, and a box beside a token says more.

import { leaving } from "../../../../components/kit/mount.js";
import { tipOf, tipOfEnd } from "./words.js";

const BEFORE = 90; // px, kept in sight to the left of a token
const AHEAD = 260; // px, to its right, where the end of its branch may be
const AROUND = 8; // px, above and below

export function follow(view, { x, y, width, height }) {
  // Scrolls the tree, never the page; smoothly, but for the first time.
  const { scroller, data } = view;
  const isFirst = view.followed === undefined;
  view.followed = data.at;
  const keep = (start, size, from, to) => Math.min(Math.max(start, to - size), from);
  const ahead = Math.min(AHEAD, scroller.clientWidth / 3);
  const left = keep(scroller.scrollLeft, scroller.clientWidth, x - BEFORE, x + width + ahead);
  const [top, bottom] = [y - height / 2 - AROUND, y + height / 2 + AROUND];
  scroller.scrollTo({
    left,
    top: keep(scroller.scrollTop, scroller.clientHeight, top, bottom),
    behavior: isFirst ? "instant" : "auto",
  });
}

export function next(view, key, item) {
  const go = {
    ArrowLeft: () => view.items.get(item.node.parent),
    ArrowRight: () => after(view, item),
    ArrowUp: () => beside(view, item, -1),
    ArrowDown: () => beside(view, item, 1),
    Home: () => view.items.get(view.data.nodes[0].id),
    End: () => lastOf(view, item),
  }[key];
  return go && (go()?.button ?? null);
}

function after({ items, tree }, { node }) {
  // The next token along the branch: on the path taken where it goes through here, else straight on.
  const following = tree.children.get(node.id).map((id) => items.get(id));
  return following.find((item) => item.node.taken) ?? following[0];
}

function lastOf(view, item) {
  let last = item;
  for (let next = item; next; next = after(view, next)) last = next;
  return last;
}

function beside({ items }, { column, lane }, direction) {
  // The nearest token of a branch above or below: in the same column, else in the nearest one.
  const far = (item) => [Math.abs(item.column - column), Math.abs(item.lane - lane)];
  const nearer = (one, other) => far(one)[0] - far(other)[0] || far(one)[1] - far(other)[1];
  return [...items.values()].filter((item) => (item.lane - lane) * direction > 0).sort(nearer)[0];
}

export function point(view, place) {
  // Shows what there is to say of a token, or of the end of a branch.
  if (place?.box === view.pointed?.box) return;
  const { tip, data } = view;
  view.pointed = place;
  if (!place) {
    tip.hidePopover();
    document.removeEventListener("scroll", view.onScroll, true);
    return;
  }
  const { item, isEnd } = place;
  tip.replaceChildren(...(isEnd ? tipOfEnd(item.end) : tipOf(item, data.alternatives[item.node.alternatives])));
  tip.showPopover();
  document.addEventListener("scroll", view.onScroll, { capture: true, signal: leaving(view.root) });
  placeTip(view);
}

export function placeTip(view) {
  const { tip, pointed, scroller } = view;
  if (!pointed) return;
  const [box, around] = [pointed.box.getBoundingClientRect(), scroller.getBoundingClientRect()];
  if (box.right < around.left || box.left > around.right || box.bottom < around.top || box.top > around.bottom) {
    return point(view, null);
  }
  const fits = box.bottom + 8 + tip.offsetHeight < window.innerHeight;
  const left = Math.max(box.left, around.left);
  tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${fits ? box.bottom + 8 : Math.max(4, box.top - tip.offsetHeight - 8)}px`;
}
