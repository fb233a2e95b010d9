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
  const fits = (row) => {
    const [verdict, setup, test] = ["verdict", "setup", "test"].map((name) => field(name).value);
    let any = false;
    for (const { element, tests } of row.setups) {
      for (const one of tests) {
        const other = test !== "" && one.dataset.test !== test.slice(1);
        one.hidden = other || (verdict !== "" && one.dataset.verdict !== verdict);
      }
      const left = (verdict === "" && test === "") || tests.some((one) => !one.hidden);
      element.hidden = !left || (setup !== "" && element.dataset.setup !== setup.slice(1));
      any = any || !element.hidden;
    }
    return any && row.text.includes(field("text").value.toLowerCase().trim());
  };
  filterList(form, rows, fits, field("count"), field("pages"), document.getElementById("texts"));
})();
