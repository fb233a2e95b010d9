"use strict";
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
