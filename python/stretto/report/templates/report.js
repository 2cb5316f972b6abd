"use strict";
(function () {
  const root = document.documentElement;
  root.classList.remove("no-script");

  // Pickers: the buttons of a group show the elements that carry the same key, in the element named by data-for.
  for (const group of document.querySelectorAll(".pick")) {
    const scope = document.getElementById(group.dataset.for);
    const buttons = [...group.querySelectorAll("button")];
    const show = (key) => {
      for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.key === key));
      for (const e of scope.querySelectorAll("[data-" + group.dataset.attr + "]")) {
        e.hidden = !e.getAttribute("data-" + group.dataset.attr).split(" ").includes(key);
      }
      if (scope.matches("tbody")) mark(scope);
    };
    for (const b of buttons) b.addEventListener("click", () => show(b.dataset.key));
    const first = buttons.find((b) => b.getAttribute("aria-pressed") === "true") || buttons[0];
    if (first) show(first.dataset.key);
  }

  // In a table with hidden rows, the first row that is seen of each group carries the group's name.
  function mark(body) {
    let last = null;
    for (const row of body.rows) {
      if (row.hidden) continue;
      const fresh = row.dataset.group !== last;
      row.classList.toggle("first", fresh && last !== null);
      row.cells[0].firstElementChild.hidden = !fresh;
      last = row.dataset.group;
    }
  }

  for (const row of document.querySelectorAll("tbody tr[data-group]:first-child")) mark(row.parentElement);

  const theme = document.getElementById("theme");
  const names = ["auto", "light", "dark"];
  const apply = (name) => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    theme.textContent = "colours: " + name;
  };
  let now = 0;
  theme.hidden = false;
  theme.addEventListener("click", () => { now = (now + 1) % names.length; apply(names[now]); });

  // Tooltips: every mark describes itself in its aria-label; the script only shows it.
  const tip = document.createElement("div");
  tip.id = "tip"; tip.hidden = true; tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const place = (x, y) => {
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 4)) + "px";
    tip.style.top = (y + h + 22 > innerHeight ? y - h - 12 : y + 16) + "px";
  };
  const over = (event) => {
    const mark = event.target.closest && event.target.closest("figure svg [aria-label], [data-tip]");
    const text = mark && (mark.dataset.tip || mark.getAttribute("aria-label"));
    tip.hidden = !text || !event.target.ownerSVGElement && !mark.dataset.tip;
    if (tip.hidden) return;
    tip.textContent = text.split(" | ").join("\n");
    place(event.clientX, event.clientY);
  };
  document.addEventListener("pointermove", over, { passive: true });
  document.addEventListener("pointerdown", over, { passive: true });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
