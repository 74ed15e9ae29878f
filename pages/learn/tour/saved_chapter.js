// The questions of a saved chapter: an answer is judged, and what follows it is shown.

const GIVEN = "\ue002"; // place of the reader's answer in a sentence

export function readNumber(typed) {
  // A number as people type it, also with a decimal comma, as a fraction, or with a root; NaN for anything else.
  const plain = typed.trim().replace(/[−–]/g, "-").replace(",", ".").replace(/√\s*\(?([\d.]+)\)?/g, "sqrt($1)");
  const [, root, above, below] = plain.match(/^(?:sqrt\(([\d.]+)\)|(-?[\d.]+)(?:\s*\/\s*([\d.]+))?)$/) ?? [];
  if (root !== undefined) return Math.sqrt(Number(root));
  return above === undefined ? NaN : Number(above) / Number(below ?? 1);
}

export function isRight(typed, value, within) {
  // 119,808 may be meant as 119.808 or as 119808.
  const grouped = /^[1-9]\d{0,2}(?:[,.'’\s]\d{3})+$/.test(typed.trim()) ? Number(typed.replace(/\D/g, "")) : NaN;
  return [readNumber(typed), grouped].some((number) => Math.abs(number - value) <= within);
}

function begin(root) {
  const questions = [...root.querySelectorAll(".question")];
  const parts = [...root.querySelectorAll(".part")];
  let answered = 0;

  const show = () => {
    for (const part of parts) {
      const { after, until } = part.dataset;
      part.hidden = Number(after) > answered || (until !== "" && answered >= Number(until));
    }
  };

  questions.forEach((form, place) => {
    const { value, within } = form.dataset;
    const verdict = form.querySelector(".hl-tour-verdict");
    const answers = [...form.querySelectorAll("[name=answer]")];
    const judge = (given, isGood) => {
      const good = isGood ?? isRight(given, Number(value), Number(within));
      const sentence = given === null ? form.dataset.shown : good ? form.dataset.correct : form.dataset.wrong;
      verdict.textContent = sentence.replace(GIVEN, given ?? "");
      verdict.dataset.right = good ? "True" : "False";
      for (const answer of answers) {
        answer.disabled = true;
        answer.dataset.mark = answer.dataset.right === "True" ? "right" : answer.value === given ? "wrong" : "other";
      }
      form.classList.add("answered");
      form.elements.reveal.hidden = true;
      form.elements.again.hidden = false;
      answered = Math.max(answered, place + 1);
      show();
    };
    const askAgain = () => {
      verdict.textContent = "";
      for (const answer of answers) {
        answer.disabled = false;
        delete answer.dataset.mark;
      }
      form.classList.remove("answered");
      form.elements.reveal.hidden = false;
      form.elements.again.hidden = true;
    };
    for (const answer of answers) answer.addEventListener("click", () => judge(answer.value, answer.dataset.right === "True"));
    form.elements.reveal.addEventListener("click", () => judge(null, false));
    form.elements.again.addEventListener("click", () => {
      for (const later of questions.slice(place)) later.dispatchEvent(new Event("again"));
      answered = place;
      show();
    });
    form.addEventListener("again", askAgain);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { value: typed } = form.elements.typed;
      if (Number.isNaN(readNumber(typed))) verdict.textContent = form.dataset.unread;
      else judge(typed);
    });
  });
  show();
}

if (globalThis.document) begin(document);
