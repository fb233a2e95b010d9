// The viewer in the browser. Every page works without it, except that results appear behind links; markup comes only
// from this server, which escapes whatever is data.
const policy = globalThis.trustedTypes?.createPolicy("verax", { createHTML: (html) => html }) ?? { createHTML: (html) => html };
const announce = (text) => { document.getElementById("announce").textContent = text; };

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(html);
  return template.content;
}

async function get(url, options) {
  const answer = await fetch(url, options);
  if (answer.ok) return answer;
  const alarm = parse(await answer.text()).querySelector(".alarm");
  throw new Error(alarm ? alarm.textContent : `The viewer answered ${answer.status}.`);
}

function complain(place, error) {
  const line = document.createElement("p");
  line.className = "alarm";
  line.setAttribute("role", "alert");
  line.textContent = error.message;
  place.replaceChildren(line);
}

// Content that takes longer than a page may take.
async function load(place) {
  place.setAttribute("aria-busy", "true");
  try {
    place.replaceChildren(parse(await (await get(place.dataset.load)).text()));
    place.querySelectorAll(".sheet table").forEach(equip);
    place.querySelectorAll("[data-watch]").forEach(watch);
    reachable();
  } catch (error) {
    complain(place, error);
  }
  place.setAttribute("aria-busy", "false");
}

// Tables: sorting by a column, and a filter of rows.
function equip(table) {
  const heads = Array.from(table.tHead.rows[0].cells, (cell, place) => ({ cell, place })).filter(
    ({ cell }) => !cell.classList.contains("axis"),
  );
  const name = document.getElementById(table.getAttribute("aria-labelledby"))?.textContent ?? "table";
  const rows = Array.from(table.tBodies[0].rows);
  const tools = document.createElement("div");
  tools.className = "table-tools";
  const field = document.createElement("input");
  field.type = "search";
  const choice = document.createElement("select");
  choice.append(new Option("as given", ""));
  const labelled = (text, control, look) => {
    const label = document.createElement("label");
    label.className = look;
    label.append(text, control);
    control.setAttribute("aria-label", `${text}: ${name}`);
    tools.append(label);
  };
  if (rows.length > 3) labelled("Filter rows", field, "filter-rows");
  labelled("Sort by", choice, "sort-choice");
  const sort = (place, direction) => {
    for (const { cell, place: other } of heads) {
      if (other === place && direction) cell.setAttribute("aria-sort", direction);
      else cell.removeAttribute("aria-sort");
    }
    choice.value = direction ? `${place} ${direction}` : "";
    const sign = direction === "descending" ? -1 : 1;
    const ordered = direction ? rows.toSorted((a, b) => compare(a.cells[place], b.cells[place], sign)) : rows;
    table.tBodies[0].append(...ordered);
  };
  for (const { cell, place } of heads) {
    const title = cell.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...cell.childNodes);
    button.addEventListener("click", () => {
      const next = { null: "descending", descending: "ascending", ascending: null }[cell.getAttribute("aria-sort")];
      sort(place, next);
      announce(next ? `${name}: sorted by ${title}, ${next}` : `${name}: in the given order`);
    });
    cell.append(button);
    for (const direction of ["descending", "ascending"]) {
      choice.append(new Option(`${title}, ${direction}`, `${place} ${direction}`));
    }
  }
  choice.addEventListener("change", () => {
    const [place, direction] = choice.value.split(" ");
    sort(Number(place), direction);
  });
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    announce(`${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`);
  });
  table.closest(".scroll").before(tools);
}

// Numbers by size, then texts, and empty cells last in either direction.
function compare(a, b, sign) {
  const [x, y] = [a, b].map((cell) => cell.dataset.value);
  if (x !== undefined && y !== undefined) return sign * (Number(x) - Number(y));
  if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
  return sign * a.textContent.localeCompare(b.textContent);
}

// A run in progress.
function watch(line) {
  let version = line.dataset.version;
  let reloaded = Date.now();
  const look = async () => {
    if (!line.isConnected) return; // it was loaded again, and is watched there
    let now;
    try {
      now = await (await get(line.dataset.watch)).json();
    } catch {
      setTimeout(look, 5000); // the server was stopped; it may come back
      return;
    }
    const shown = [line, document.querySelector("header.top")].map((place) => place.querySelector(".status-line"));
    for (const place of shown) if (place) place.textContent = now.line;
    const bar = line.querySelector("progress");
    bar.max = Math.max(now.planned, 1);
    bar.value = now.done;
    const places = [...document.querySelectorAll("[data-load]")].filter((place) =>
      place.dataset.load.startsWith(line.dataset.watch.replace(/status$/, "")),
    );
    const idle = places.every((place) => place.getAttribute("aria-busy") === "false");
    if (now.version !== version && idle && (now.finished || Date.now() - reloaded > 5000)) {
      version = now.version;
      reloaded = Date.now();
      places.forEach(load);
    }
    if (!now.finished) setTimeout(look, 1000);
    else if (now.version !== version) setTimeout(look, 1000);
    else bar.remove();
  };
  setTimeout(look, 1000);
}

// A form whose answer, all that follows it, changes while one types.
function answering(form) {
  let waiting;
  let latest = 0;
  const place = form.parentElement;
  const show = async () => {
    const mine = ++latest;
    const url = `${location.pathname}?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value))}`;
    place.setAttribute("aria-busy", "true");
    try {
      const made = parse(await (await get(url)).text()).getElementById("search").parentElement;
      if (mine !== latest) return;
      const { name, value } = document.activeElement;
      while (form.nextSibling) form.nextSibling.remove();
      while (made.lastElementChild.id !== "search") form.after(made.lastElementChild);
      printScores();
      reachable();
      const again = [...form.elements].find((one) => one.name === name && one.value === value && !form.contains(one));
      again?.focus();
      history.replaceState(null, "", url);
      announce(document.getElementById("found").textContent);
    } catch (error) {
      announce(error.message);
    }
    if (mine === latest) place.setAttribute("aria-busy", "false");
  };
  place.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 200);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    show();
  });
}

// Keys: links are followed, so that whatever a key does can be done without it too.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  const cards = [...document.querySelectorAll(".run h2 a, .results a")];
  const near = (relation) => document.querySelector(`a[rel="${relation}"]`);
  const step = (by, relation) => {
    if (!cards.length) return near(relation)?.click();
    const place = cards.indexOf(document.activeElement);
    cards[Math.min(Math.max(place + by, 0), cards.length - 1)].focus();
  };
  const actions = {
    "/": () => document.querySelector("main input[type=search]")?.focus(),
    j: () => step(1, "next"),
    k: () => step(-1, "prev"),
    n: () => near("next")?.click(),
    p: () => near("prev")?.click(),
    "?": () => document.getElementById("keys").showModal(),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

document.querySelectorAll("[data-load]").forEach(load);
document.querySelectorAll("[data-watch]").forEach(watch);
document.querySelectorAll(".sheet table").forEach(equip);
const search = document.getElementById("search");
if (search) answering(search);
