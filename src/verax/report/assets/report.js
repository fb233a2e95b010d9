"use strict";
// Prints scores next to their words, for readers without a mouse; they are in the titles of the words in any case.
function printScores() {
  const box = document.getElementById("print-scores");
  if (!box) return;
  document.getElementById("scores-choice").hidden = false;
  document.body.classList.toggle("with-scores", box.checked);
  if (!box.checked) return;
  for (const word of document.querySelectorAll(".part > [title]:not([data-score])")) {
    const score = parseFloat(word.title);
    const sign = word.title.startsWith("+") ? "+" : "";
    if (!Number.isNaN(score)) word.dataset.score = sign + Number(score.toPrecision(2));
  }
}
document.addEventListener("input", (event) => event.target.id === "print-scores" && printScores());
printScores();

// Places that scroll can be reached by keyboard, wherever they have no other name and place in the tab order.
function reachable() {
  for (const place of document.querySelectorAll(".scroll:not([role])")) {
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }
}
addEventListener("resize", reachable);
addEventListener("load", reachable);

// Filters and pages the instances. The page is whole without it: everything is in the document and merely hidden here.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const field = (name) => document.getElementById("filter-" + name);
  const section = document.getElementById("instances");
  const rows = Array.from(section.querySelectorAll("#instances-list > .instance"), (element) => ({
    element,
    text: element.textContent.toLowerCase(),
    labels: [element.dataset.gold, element.dataset.predicted],
    wrong: "wrong" in element.dataset,
    skipped: "skipped" in element.dataset,
  }));
  const fits = (row) =>
    row.text.includes(field("text").value.toLowerCase().trim()) &&
    (field("label").value === "" || row.labels.includes(field("label").value.slice(1))) &&
    (!field("wrong").checked || row.wrong) &&
    (!field("skipped").checked || row.skipped);
  const showMethod = () => {
    const method = field("method").value;
    for (const line of section.querySelectorAll("[data-method]")) {
      line.hidden = method !== "" && line.dataset.method !== method.slice(1);
    }
  };
  form.addEventListener("input", showMethod);
  showMethod();
  filterList(form, rows, fits, field("count"), document.getElementById("instances-pages"), section);
})();
