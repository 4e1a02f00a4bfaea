// Opens an episode of the report: its page lies in the file, compressed with others, and is shown for the number behind the # of the
// address.
"use strict";
const list = document.getElementById("list"), shown = document.getElementById("episode"), root = document.documentElement;
const rows = () => [...document.querySelectorAll("#rows tr")].filter((row) => !row.hidden);
const number = (row) => row.querySelector("a").hash.slice(1);
let lists = 0;

async function page(wanted) {
  const packed = Number(list.dataset.packed), place = Number(wanted) - 1;
  const pack = document.getElementById("pack-" + Math.floor(place / packed));
  return pack && JSON.parse(await inflated(pack.textContent))[place % packed];
}
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
function point(rel, row) {
  const link = document.querySelector(`header a[rel=${rel}]`);
  link.hidden = !row;
  if (row) link.href = "#" + number(row); else link.removeAttribute("href");
}
async function open() {
  const wanted = location.hash.slice(1);
  // The address of a call in the episode that is shown.
  if (wanted.startsWith("step-") && !shown.hidden) return document.getElementById(wanted)?.scrollIntoView();
  const html = /^[1-9]\d{0,6}$/.test(wanted) && await page(wanted);
  if (location.hash.slice(1) !== wanted) return;
  if (html) {
    if (list.hidden === false) lists = scrollY;
    shown.innerHTML = html;
    const all = rows(), place = all.findIndex((row) => number(row) === wanted);
    point("prev", all[place - 1]);
    point("next", place < 0 ? undefined : all[place + 1]);
    for (const box of shown.querySelectorAll("input[data-hides]")) {
      box.checked = !root.classList.contains("no-" + box.dataset.hides);
      box.addEventListener("change", () => root.classList.toggle("no-" + box.dataset.hides, !box.checked));
    }
  } else { point("prev"); point("next"); }
  list.hidden = Boolean(html);
  shown.hidden = !html;
  shown.dataset.shown = html ? wanted : "";
  scrollTo(0, html ? 0 : lists);
}
const search = document.querySelector("input[type=search]");
search.form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const row of document.querySelectorAll("#rows tr")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
});
function turnTheme() {
  const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
}
function move(by) {
  const places = [...(list.hidden ? shown : list).querySelectorAll("[data-place]")].filter((one) => one.checkVisibility());
  const now = places.find((one) => one.getAttribute("aria-current") === "true");
  const next = places[Math.min(Math.max(places.indexOf(now) + by, 0), places.length - 1)];
  now?.removeAttribute("aria-current");
  next?.setAttribute("aria-current", "true");
  next?.scrollIntoView({ block: "nearest" });
  (next?.matches(".step") ? next : next?.querySelector("a"))?.focus({ preventScroll: true });
}
const help = document.querySelector("dialog");
const follow = (rel) => document.querySelector(`header a[rel=${rel}]`).click();
const keys = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), j: () => move(1), k: () => move(-1),
  ArrowLeft: () => follow("prev"), ArrowRight: () => follow("next"), u: () => follow("up"),
  "/": () => { location.hash = ""; list.hidden = false; search.focus(); },
  "?": () => help.showModal(), t: turnTheme,
};
document.querySelector("[data-theme-button]").addEventListener("click", turnTheme);
document.querySelector("[data-help-button]").addEventListener("click", () => help.showModal());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target.closest("input:not([type=checkbox]), textarea")) { if (event.key === "Escape") event.target.blur(); return; }
  const act = keys[event.key];
  if (act) { event.preventDefault(); act(); }
});
addEventListener("hashchange", open);
open();
