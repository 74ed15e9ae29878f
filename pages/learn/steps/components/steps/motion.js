// Moves on to another stage: the time that this takes, frame by frame.

import { paint } from "./paint.js";
import { ease } from "./travel.js";

const DURATION = 600; // ms

export function travel(view, from) {
  // Moves on to the view's stage; forward by one stage the numbers are seen to fly there.
  cancelAnimationFrame(view.frame);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden) {
    view.motion = null;
    return paint(view);
  }
  const start = performance.now();
  view.motion = { from, share: 0, time: 0, flies: view.stage === from + 1 };
  const move = (now) => {
    if (!view.root.isConnected || !view.motion) return;
    const time = Math.min(Math.max(0, now - start) / DURATION, 1);
    view.motion.time = time;
    view.motion.share = ease(time);
    if (time === 1) view.motion = null;
    else view.frame = requestAnimationFrame(move);
    paint(view);
  };
  view.frame = requestAnimationFrame(move);
}
