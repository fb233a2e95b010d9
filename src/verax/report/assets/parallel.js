"use strict";
// Shows the pairs of one language, painted for one method. Without it the page shows all pairs for the first method.
(() => {
  const form = document.getElementById("parallel-choice");
  if (!form) return;
  const LEVELS = 10;
  const language = document.getElementById("parallel-language");
  const method = document.getElementById("parallel-method");
  const pairs = Array.from(document.querySelectorAll(".pair"), (element) => ({
    element,
    painted: JSON.parse(element.dataset.painted),
    words: Array.from(element.querySelectorAll(".scored"), (word) => [word, ...word.dataset.at.split(" ").map(Number)]),
    links: Array.from(element.querySelectorAll(".link"), (link) => [link, ...link.dataset.ends.split(" ").map(Number)]),
  }));

  const levels = (scores) => {
    const strongest = Math.max(...scores.map((score) => Math.abs(score ?? 0)), 0);
    return scores.map((score) => (strongest ? Math.round((LEVELS * Math.abs(score ?? 0)) / strongest) : 0));
  };
  const look = (score, level, signed) => {
    if (score === null) return "unscored";
    if (level === 0 || (!signed && score < 0)) return "neither";
    return !signed ? "size" : score > 0 ? "for" : "against";
  };

  const paint = (pair, place) => {
    const [scores, value, signed] = pair.painted[place];
    const steps = scores.map(levels);
    const looks = scores.map((side, number) => side.map((score, word) => look(score, steps[number][word], signed)));
    for (const [word, side, number] of pair.words) {
      const score = scores[side][number];
      const share = steps[side][number] / LEVELS;
      word.setAttribute("class", "scored " + looks[side][number]);
      word.querySelector("title").textContent = score === null ? "not scored" : (signed && score > 0 ? "+" : "") + score;
      word.querySelector("rect").setAttribute("fill-opacity", (0.6 * share).toFixed(2));
      word.querySelector("line").setAttribute("stroke-width", (2 + 2 * share).toFixed(1));
    }
    for (const [link, above, below] of pair.links) {
      const both = looks[0][above] === looks[1][below] && ["for", "against", "size"].includes(looks[0][above]);
      const weight = (steps[0][above] * steps[1][below]) / (LEVELS * LEVELS);
      link.setAttribute("class", "link " + (both ? looks[0][above] : "neither"));
      link.setAttribute("stroke-opacity", (0.25 + 0.75 * weight).toFixed(2));
    }
    pair.element.querySelector(".method").textContent = method.selectedOptions[0].textContent;
    pair.element.querySelector(".value").textContent = value;
  };

  const show = () => {
    for (const pair of pairs) {
      pair.element.hidden = language.value !== "" && pair.element.dataset.lang !== language.value.slice(1);
    }
  };
  // Pointing at a word brings out its links.
  const meet = (pair, event) => {
    const word = event.type === "pointerover" ? event.target.closest(".scored") : null;
    const [side, number] = word ? word.dataset.at.split(" ").map(Number) : [0, -1];
    for (const [link, ...ends] of pair.links) link.classList.toggle("met", ends[side] === number);
  };
  for (const pair of pairs) {
    for (const kind of ["pointerover", "pointerout"]) pair.element.addEventListener(kind, (event) => meet(pair, event));
  }
  language.addEventListener("input", show);
  method.addEventListener("input", () => pairs.forEach((pair) => paint(pair, Number(method.value))));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
})();
