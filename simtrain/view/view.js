// Keyboard, toggles, theme, and lists that fill in while a run is played. Nothing here is needed to read a page.
"use strict";
const root = document.documentElement, body = document.body;
const kept = (name, value) => { try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; } };

const theme = kept("theme");
if (theme) root.dataset.theme = theme;
const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function turnTheme() { root.dataset.theme = dark() ? "light" : "dark"; kept("theme", root.dataset.theme); }

for (const box of document.querySelectorAll("input[data-hides]")) {
  const hide = () => { body.classList.toggle("no-" + box.dataset.hides, !box.checked); kept("no-" + box.dataset.hides, box.checked ? "" : "1"); };
  box.checked = !kept("no-" + box.dataset.hides);
  box.addEventListener("change", hide);
  hide();
}

const all = (selector) => [...document.querySelectorAll(selector)];
function move(by) {
  const places = all("[data-place]");
  if (!places.length) return;
  const now = places.findIndex((one) => one.getAttribute("aria-current") === "true");
  const next = places[Math.min(Math.max(now + by, 0), places.length - 1)];
  for (const one of places) one.removeAttribute("aria-current");
  next.setAttribute("aria-current", "true");
  next.scrollIntoView({ block: "nearest" });
  (next.querySelector("a") ?? next).focus({ preventScroll: true });
}
const follow = (rel) => document.querySelector(`a[rel=${rel}]`)?.click();
const help = document.querySelector("dialog");
const keys = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), j: () => move(1), k: () => move(-1),
  ArrowLeft: () => follow("prev"), ArrowRight: () => follow("next"),
  "/": () => document.querySelector("input[type=search]")?.focus(),
  "?": () => help?.showModal(), t: turnTheme,
  u: () => follow("up"),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
  if (event.target.closest("input, textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
  const act = keys[event.key];
  if (act) { event.preventDefault(); act(); }
});
document.querySelector("[data-theme-button]")?.addEventListener("click", turnTheme);
document.querySelector("[data-help-button]")?.addEventListener("click", () => help.showModal());

// A run that is being played: the page asks how many episodes there are, and fetches itself again when that changes.
const live = document.querySelector("[data-live]");
if (live) {
  let count = live.dataset.count;
  setInterval(async () => {
    if (document.hidden || document.activeElement?.matches("input, textarea")) return;
    try {
      const now = await (await fetch(live.dataset.live)).text();
      if (now === count) return;
      count = now;
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      live.replaceChildren(...page.querySelector("[data-live]").childNodes);
    } catch { /* The viewer has ended. */ }
  }, 2000);
}
