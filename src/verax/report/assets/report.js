"use strict";
// Filters and pages the instances. The page is whole without it: everything is in the document and merely hidden here.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const PER_PAGE = 10;
  const field = (name) => document.getElementById("filter-" + name);
  const pages = document.getElementById("instances-pages");
  const rows = Array.from(document.querySelectorAll(".instance"), (element) => ({
    element,
    text: element.textContent.toLowerCase(),
    labels: [element.dataset.gold, element.dataset.predicted],
    wrong: "wrong" in element.dataset,
    skipped: "skipped" in element.dataset,
  }));
  let found = rows;
  let page = 0;

  const button = (label, step) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => {
      page += step;
      show();
      document.getElementById("instances").scrollIntoView();
    });
    return made;
  };
  const back = button("Previous", -1);
  const place = document.createElement("span");
  const next = button("Next", 1);
  pages.append(back, place, next);

  const show = () => {
    const last = Math.max(0, Math.ceil(found.length / PER_PAGE) - 1);
    page = Math.min(page, last);
    const shown = new Set(found.slice(page * PER_PAGE, (page + 1) * PER_PAGE));
    for (const row of rows) row.element.hidden = !shown.has(row);
    back.disabled = page === 0;
    next.disabled = page === last;
    place.textContent = `page ${page + 1} of ${last + 1}`;
    pages.hidden = last === 0;
  };

  const filter = () => {
    const words = field("text").value.toLowerCase().trim();
    const label = field("label").value;
    const method = field("method").value;
    found = rows.filter(
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
    page = 0;
    show();
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
