// Keyboard, toggles, theme, and pages that fill in while a run is played. Nothing here is needed to read a page.
"use strict";
const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function turnTheme() { root.dataset.theme = dark() ? "light" : "dark"; kept("theme", root.dataset.theme); }

for (const box of document.querySelectorAll("input[data-hides]")) box.checked = !root.classList.contains("no-" + box.dataset.hides);

const all = (selector) => [...document.querySelectorAll(selector)];
const current = () => document.querySelector("[data-place][aria-current=true]");
function move(by) {
  const places = all("[data-place]").filter((one) => one.checkVisibility());
  if (!places.length) return;
  const next = places[Math.min(Math.max(places.indexOf(current()) + by, 0), places.length - 1)];
  current()?.removeAttribute("aria-current");
  next.setAttribute("aria-current", "true");
  next.scrollIntoView({ block: "nearest" });
  (next.matches(".step, .row") ? next : next.querySelector("a") ?? next).focus({ preventScroll: true });
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
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
  const act = keys[event.key];
  if (act) { event.preventDefault(); act(); }
});
document.querySelector("[data-theme-button]")?.addEventListener("click", turnTheme);
document.querySelector("[data-help-button]")?.addEventListener("click", () => help.showModal());

// A run that is being played: the page asks how many episodes there are, and fetches itself again when that changes. What was
// opened, checked and walked to stays so.
const live = document.querySelector("[data-live]");
async function refill() {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const fresh = page.querySelector("[data-live]");
  for (const one of fresh.querySelectorAll("details[data-key]")) {
    const old = [...live.querySelectorAll("details[data-key]")].find((other) => other.dataset.key === one.dataset.key);
    if (old) one.open = old.open;
  }
  for (const one of fresh.querySelectorAll("input[type=checkbox]")) {
    const old = [...live.querySelectorAll("input[type=checkbox]")].find((other) => other.value === one.value);
    if (old) one.checked = old.checked;
  }
  const place = current()?.querySelector("a")?.getAttribute("href");
  live.replaceChildren(...fresh.childNodes);
  const link = place && [...live.querySelectorAll("[data-place] a")].find((one) => one.getAttribute("href") === place);
  if (link) { link.closest("[data-place]").setAttribute("aria-current", "true"); link.focus({ preventScroll: true }); }
}
if (live) {
  let count = live.dataset.count;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const now = await (await fetch(live.dataset.live)).text();
      if (now === count) return;
      count = now;
      await refill();
    } catch { /* The viewer has ended. */ }
  }, 2000);
}

// Words that are being indexed: a bar fills, and at its end the page is fetched anew.
const words = document.querySelector("[data-words]");
if (words) {
  const ask = async () => {
    try {
      const found = await (await fetch(words.dataset.words)).json();
      if (!found.running) return location.reload();
      words.querySelector("progress").value = found.done;
      words.querySelector("[role=status]").textContent = `${found.done.toLocaleString("en")} of ${found.total.toLocaleString("en")}`;
      setTimeout(ask, 300);
    } catch { /* The viewer has ended. */ }
  };
  setTimeout(ask, 300);
}
