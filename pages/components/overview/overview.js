// The overview of all heads on a page.
//
// data: as mounting.py packs it. Where the header has a film, the bytes of all its snapshots come through film.js, and
// player.js draws what chooses among them.

import { shownHead } from "../../../headlight/components/kit/channel.js";
import { fixed } from "../../../headlight/components/kit/numbers.js";
import { unpack } from "../../../headlight/components/kit/packing.js";
import { say } from "../../../headlight/components/kit/say.js";
import { makeOverview, sayName, showTip, updateOverview } from "../../../headlight/components/overview/overview.js";
import { paint } from "../../../headlight/components/overview/thumbnails.js";
import { mount } from "../kit/mount.js";
import { makePlayer, showAgain, updatePlayer } from "./player.js";

export default await mount(import.meta.url, {
  styles: [
    "../../../headlight/components/kit/tip.css",
    "../../../headlight/components/overview/overview.css",
    "./player.css",
  ],
  make: makeOverview,
  update,
});

function update(view, data, send) {
  const { header, rest } = unpack(data);
  const isSame = updateOverview(view, { header, rest }, send);
  if (header.film) {
    view.player ??= makePlayer({
      root: view.root,
      onFrame: (film, place, isChosen) => showFrame(view, film, place, isChosen),
      onChosen: (message) => view.send("snapshot", message),
    });
    if (!isSame && view.player.header?.id === header.film.id) showAgain(view.player);
    updatePlayer(view.player, header.film);
  }
}

function showFrame(view, film, place, isChosen) {
  // A snapshot of a film: other pictures under the same buttons, which get their names when the film stands still.
  const { labels } = view.header.film;
  let [offset, cell, next] = [place * film.size, 3 * place * film.heads, 0];
  for (const { attention, layers, heads, queries: rows, keys: columns } of film.groups) {
    const { queries, keys } = labels[attention];
    for (const item of view.heads.slice(next, (next += layers * heads))) {
      Object.assign(item, { levels: film.levels.subarray(offset, (offset += rows * columns)), rows, columns });
      const [query, key, hundredths] = film.strongest.subarray(cell, (cell += 3));
      item.strongest = say("“{query}” → “{key}” {weight}", {
        query: queries[query],
        key: keys[key],
        weight: fixed(hundredths / 100, 2),
      });
      if (isChosen) sayName(item);
    }
  }
  if (view.pointedAt && !view.tip.hidden) showTip(view, view.pointedAt);
  paint(view);
  const large = view.heads.find(({ button }) => button.getAttribute("aria-pressed") === "true");
  if (isChosen || !large) return; // what is chosen comes from the server, large
  shownHead.send({ ...large, step: view.header.film.steps[place] });
}
