// Finds on a page what a person would call broken: texts that lie on one another, and texts that are cut off.
//
// Those on a canvas are seen where looking_at_canvases.js was there before they were drawn.
() => {
  const texts = [];
  const elementAbove = (node) => {
    const parent = node.assignedSlot ?? node.parentNode;
    return parent instanceof ShadowRoot ? parent.host : parent;
  };

  // A box that scrolls by less than a line cuts a text as one that hides it does: nobody scrolls there. So does one
  // whose bar is not shown. The page itself is scrolled, however little.
  const LINE = 16; // px
  const isPage = (e) => e.matches("html, body, [data-testid='stMain'], [data-testid='stSidebarContent']");
  const cuts = (e, style, axis) => {
    const [overflow, sizes] =
      axis === "x" ? [style.overflowX, [e.scrollWidth, e.clientWidth]] : [style.overflowY, [e.scrollHeight, e.clientHeight]];
    if (overflow === "hidden" || overflow === "clip") return true;
    const beyond = sizes[0] - sizes[1];
    return !isPage(e) && beyond > 0 && (beyond < LINE || style.scrollbarWidth === "none");
  };

  // What of a rectangle can be seen, and whether something that hides its overflow cuts it.
  const seenPart = (box, element) => {
    let { left, top, right, bottom } = box;
    let hidden = null;
    for (let e = element; e instanceof Element; e = elementAbove(e)) {
      const style = getComputedStyle(e);
      const isSvgPart = e instanceof SVGElement && !(e instanceof SVGSVGElement);
      if (isSvgPart || (style.overflowX === "visible" && style.overflowY === "visible" && style.clipPath === "none")) {
        if (style.position === "fixed") break;
        continue;
      }
      const around = e.getBoundingClientRect();
      if (style.overflowX !== "visible") {
        if ((around.left > left + 1.5 || around.right < right - 1.5) && cuts(e, style, "x")) hidden ??= { by: e, axis: "x" };
        left = Math.max(left, around.left);
        right = Math.min(right, around.right);
      }
      if (style.overflowY !== "visible") {
        if ((around.top > top + 3 || around.bottom < bottom - 3) && cuts(e, style, "y")) hidden ??= { by: e, axis: "y" };
        top = Math.max(top, around.top);
        bottom = Math.min(bottom, around.bottom);
      }
      if (style.position === "fixed") break;
    }
    return { left, top, right, bottom, hidden };
  };

  const isShown = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });

  const name = (element) => {
    const parts = [];
    for (let e = element; e instanceof Element && parts.length < 5; e = elementAbove(e)) {
      const key = [...e.classList].find((c) => c.startsWith("st-key-"));
      if (key) { parts.push("." + key); break; }
      const label = typeof e.className === "string" ? e.className : e.className.baseVal;
      parts.push(e.tagName.toLowerCase() + (label && !/emotion|^st-/.test(label) ? "." + label.split(" ")[0] : ""));
    }
    return parts.reverse().join(" > ");
  };

  const lookAtCanvas = (canvas) => {
    const around = canvas.getBoundingClientRect();
    const [across, down] = [around.width / canvas.width, around.height / canvas.height];
    const onPage = ([x, y]) => [around.left + x * across, around.top + y * down];
    for (const { words, corners, inner } of canvas.drawnTexts) {
      const places = corners.map(onPage);
      const [xs, ys] = [0, 1].map((axis) => places.map((place) => place[axis]));
      const box = { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
      const seen = seenPart(box, canvas);
      const isCut = (beyond) => beyond > 2.5;
      if (isCut(around.left - box.left) || isCut(box.right - around.right)) seen.hidden = { by: canvas, axis: "x" };
      if (isCut(around.top - box.top) || isCut(box.bottom - around.bottom)) seen.hidden = { by: canvas, axis: "y" };
      texts.push({ words, element: canvas, box, ...seen, places: inner.map(onPage) });
    }
  };

  const look = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node instanceof Element) {
        if (node.shadowRoot) look(node.shadowRoot);
        const isTable = node.closest(".stDataFrameGlideDataEditor"); // Streamlit's own: it draws cells over each other
        if (node.drawnTexts && !isTable && isShown(node)) lookAtCanvas(node);
        continue;
      }
      const words = node.nodeValue.trim();
      const element = node.parentElement;
      if (!words || !element || !isShown(element)) continue;
      if (element.closest("title, desc, style, script, noscript, [aria-hidden='true'], [data-testid='stIconMaterial']")) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        if (box.width < 1 || box.height < 1) continue;
        const seen = seenPart(box, element);
        texts.push({ words, element, box, ...seen });
      }
    }
  };
  look(document.body);

  const isSeen = (t) => t.right - t.left > 2 && t.bottom - t.top > 3;
  const cut = [];
  for (const t of texts.filter((t) => t.hidden)) {
    const style = getComputedStyle(t.element);
    const holder = t.hidden.by;
    if (!isSeen(t) && t.hidden.axis === "y") continue; // wholly out of sight, as what is folded is
    if (t.right - t.left < 2 || t.bottom - t.top < 2) continue;
    const ellipsis = getComputedStyle(holder).textOverflow === "ellipsis" || style.textOverflow === "ellipsis";
    if (ellipsis && t.hidden.axis === "x") continue; // says by "…" that there is more
    cut.push(`“${t.words.slice(0, 60)}” is cut (${t.hidden.axis}) at ${name(t.element)}`);
  }

  // Labels of figures are turned, so four corners are compared, not boxes; a line's leading may touch its neighbour's.
  const corners = (t) => {
    if (t.places) return t.places;
    const svg = t.element instanceof SVGGraphicsElement ? t.element : null;
    const own = svg ? svg.getBBox() : { x: t.left, y: t.top, width: t.right - t.left, height: t.bottom - t.top };
    const inset = { x: Math.min(1, own.width / 4), y: own.height * 0.2 };
    const matrix = svg?.getScreenCTM();
    const [left, right] = [own.x + inset.x, own.x + own.width - inset.x];
    const [top, bottom] = [own.y + inset.y, own.y + own.height - inset.y];
    return [[left, top], [right, top], [right, bottom], [left, bottom]].map(([x, y]) =>
      matrix ? [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f] : [x, y],
    );
  };
  const isApart = (p, q) =>
    [p, q].some((shape) =>
      shape.some(([x, y], i) => {
        const [nextX, nextY] = shape[(i + 1) % 4];
        const along = ([u, v]) => u * (nextY - y) - v * (nextX - x);
        const [ofP, ofQ] = [p.map(along), q.map(along)];
        return Math.max(...ofP) <= Math.min(...ofQ) || Math.max(...ofQ) <= Math.min(...ofP);
      }),
    );
  // What is stuck to the edge of the box that scrolls it covers what is scrolled beneath it.
  const isStuck = (e, style) => {
    if (style.position !== "sticky") return false;
    let scroller = elementAbove(e);
    while (scroller && !/auto|scroll/.test(getComputedStyle(scroller).overflowY)) scroller = elementAbove(scroller);
    if (!scroller?.scrollTop) return false;
    const edge = scroller.getBoundingClientRect().top + parseFloat(style.top);
    return Math.abs(e.getBoundingClientRect().top - edge) < 1;
  };
  const floatOf = (element) => {
    for (let e = element; e instanceof Element; e = elementAbove(e)) {
      const style = getComputedStyle(e);
      if (style.position === "fixed" || isStuck(e, style) || e.matches("[role='tooltip'], .tip, .hoverlayer")) return e;
    }
    return null;
  };

  const seen = texts.filter(isSeen).map((t) => ({ ...t, corners: corners(t) }));
  seen.sort((a, b) => a.top - b.top);
  const overlapping = [];
  for (const [i, a] of seen.entries()) {
    for (let j = i + 1; j < seen.length && seen[j].top < a.bottom; j++) {
      const b = seen[j];
      if ((a.element === b.element && !a.places) || a.right <= b.left || b.right <= a.left) continue;
      const math = a.element.closest("math");
      if ((math && math === b.element.closest("math")) || floatOf(a.element) !== floatOf(b.element)) continue;
      if (isApart(a.corners, b.corners)) continue;
      overlapping.push(`“${a.words.slice(0, 40)}” (${name(a.element)}) lies on “${b.words.slice(0, 40)}” (${name(b.element)})`);
    }
  }
  return { n: texts.length, cut, overlapping };
}
