// Sets what a person chose before anything of a page is drawn: the theme, and what is hidden. A choice counts from the first
// sight of its box, which may come before view.js.
"use strict";
const root = document.documentElement;
const kept = (name, value) => { try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; } };

const theme = kept("theme");
if (theme) root.dataset.theme = theme;
for (const name of ["reasoning", "calls", "metadata"]) root.classList.toggle("no-" + name, Boolean(kept("no-" + name)));
document.addEventListener("change", ({ target }) => {
  if (!target.dataset.hides) return;
  root.classList.toggle("no-" + target.dataset.hides, !target.checked);
  kept("no-" + target.dataset.hides, target.checked ? "" : "1");
});
