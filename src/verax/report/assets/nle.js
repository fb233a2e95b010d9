"use strict";
// Filters and pages the cards of free-text explanations: tests that do not fit are hidden, then what is left empty.
(() => {
  const form = document.getElementById("nle-filter");
  if (!form) return;
  const field = (name) => document.getElementById("nle-" + name);
  const rows = Array.from(document.querySelectorAll("#nle-list > .explained"), (element) => ({
    element,
    text: element.textContent.toLowerCase(),
    setups: Array.from(element.querySelectorAll(".set-up"), (setup) => ({
      element: setup,
      tests: Array.from(setup.querySelectorAll(".test")),
    })),
  }));
  const show = listPages(rows, field("pages"), field("cards"));

  const filter = () => {
    const words = field("text").value.toLowerCase().trim();
    const verdict = field("verdict").value;
    const setup = field("setup").value;
    const test = field("test").value;
    const fits = (one) =>
      (verdict === "" || one.dataset.verdict === verdict) && (test === "" || one.dataset.test === test.slice(1));
    const found = rows.filter((row) => {
      let any = false;
      for (const one of row.setups) {
        for (const tested of one.tests) tested.hidden = !fits(tested);
        const left = (verdict === "" && test === "") || one.tests.some((tested) => !tested.hidden);
        one.element.hidden = !left || (setup !== "" && one.element.dataset.setup !== setup.slice(1));
        any = any || !one.element.hidden;
      }
      return any && row.text.includes(words);
    });
    field("count").textContent = `${found.length} of ${rows.length} instances`;
    show(found);
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
