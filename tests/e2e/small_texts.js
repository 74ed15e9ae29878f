// Finds the texts of figures that are smaller than the presenter layout allows: those of our components, and of plotly.
(least) => {
  const isText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isRaised = (element) => element.closest("math, sub, sup, .katex, [data-testid='stDataFrame']"); // or Streamlit's own
  const sizeOf = (element) => {
    const matrix = element instanceof SVGElement ? element.getScreenCTM() : null;
    return parseFloat(getComputedStyle(element).fontSize) * (matrix ? Math.hypot(matrix.b, matrix.d) : 1);
  };
  const small = [];
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) look(element.shadowRoot);
      const isSeen = isText(element) && !element.matches("style, script, tspan") && element.checkVisibility({ visibilityProperty: true });
      if (isSeen && element.getBoundingClientRect().width > 2 && !isRaised(element) && sizeOf(element) < least - 0.05) {
        small.push(`“${element.textContent.trim().slice(0, 40)}” has ${sizeOf(element).toFixed(1)} px`);
      }
    }
  };
  look(document.querySelector('[data-testid="stMain"]'));
  return small;
}
