// Formulas, as elements of MathML, which browsers draw on their own; made of trees of [element, text or children].

export const MATH = "http://www.w3.org/1998/Math/MathML";
const TAGS = new Set(["mrow", "mi", "mo", "mn", "mtext", "msub", "msup", "msubsup", "mfrac", "msqrt"]);

export function makeMath([tag, content]) {
  if (!TAGS.has(tag)) return document.createTextNode("");
  const node = document.createElementNS(MATH, tag);
  if (typeof content === "string") node.textContent = content;
  else node.append(...content.map(makeMath));
  return node;
}
