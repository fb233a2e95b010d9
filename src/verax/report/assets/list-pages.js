"use strict";
// Shows the elements of a list ten at a time, with buttons in `nav` to turn pages. Every script of the page can use it.
function listPages(rows, nav, top) {
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
  return (some) => {
    found = some;
    page = 0;
    turn();
  };
}
