// A number of the page Attention step by step as a person reads it: its formula from the MathML that the browser draws.
() => {
  const panel = [...document.querySelectorAll('[data-testid^="stBidiComponent"]')]
    .map((host) => (host.shadowRoot ?? host).querySelector(".steps_number"))
    .find(Boolean);
  if (!panel?.querySelector(".value")) return null;
  panel.querySelector(".more")?.click(); // the smaller terms, too
  const tree = (node) => [node.localName, node.children.length ? Array.from(node.children, tree) : node.textContent];
  const ofMath = (math) => tree(math.firstElementChild);
  return {
    place: panel.querySelector(".place").textContent,
    value: panel.querySelector(".value").textContent,
    formula: ofMath(panel.querySelector(".formula > math")),
    constants: Array.from(panel.querySelectorAll(".constant"), (constant) => [
      ofMath(constant.querySelector("math")),
      constant.lastChild.textContent,
    ]),
    terms: Array.from(panel.querySelectorAll(".term"), (term) =>
      Array.from(term.querySelectorAll(".factor"), (factor) => factor.textContent),
    ),
  };
}
