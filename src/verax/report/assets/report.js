"use strict";
// Filters and pages the instances. The page is whole without it: everything is in the document and merely hidden here.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const field = (name) => document.getElementById("filter-" + name);
  const rows = Array.from(document.querySelectorAll("#instances-list > .instance"), (element) => ({
    element,
    text: element.textContent.toLowerCase(),
    labels: [element.dataset.gold, element.dataset.predicted],
    wrong: "wrong" in element.dataset,
    skipped: "skipped" in element.dataset,
  }));
  const show = listPages(rows, document.getElementById("instances-pages"), document.getElementById("instances"));

  const filter = () => {
    const words = field("text").value.toLowerCase().trim();
    const label = field("label").value;
    const method = field("method").value;
    const found = rows.filter(
      (row) =>
        row.text.includes(words) &&
        (label === "" || row.labels.includes(label.slice(1))) &&
        (!field("wrong").checked || row.wrong) &&
        (!field("skipped").checked || row.skipped),
    );
    for (const line of document.querySelectorAll("[data-method]")) {
      line.hidden = method !== "" && line.dataset.method !== method.slice(1);
    }
    field("count").textContent = `${found.length} of ${rows.length} instances`;
    show(found);
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
