"use strict";
// Shows the elements of a list that fit the controls of a form, ten at a time, with buttons in `nav` to turn pages.
function filterList(form, rows, fits, output, nav, top) {
  const PER_PAGE = 10;
  let found = rows;
  let page = 0;
  const button = (label, step) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => {
      page += step;
      turn();
      top.scrollIntoView();
    });
    return made;
  };
  const back = button("Previous", -1);
  const place = document.createElement("span");
  const next = button("Next", 1);
  nav.append(back, place, next);
  const turn = () => {
    const last = Math.max(0, Math.ceil(found.length / PER_PAGE) - 1);
    page = Math.min(page, last);
    const shown = new Set(found.slice(page * PER_PAGE, (page + 1) * PER_PAGE));
    for (const row of rows) row.element.hidden = !shown.has(row);
    back.disabled = page === 0;
    next.disabled = page === last;
    place.textContent = `page ${page + 1} of ${last + 1}`;
    nav.hidden = last === 0;
  };
  const filter = () => {
    found = rows.filter(fits);
    page = 0;
    output.textContent = `${found.length} of ${rows.length} instances`;
    turn();
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
