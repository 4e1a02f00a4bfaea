// Opens an episode of the report: its page lies in the file, compressed, and is shown for the number behind the # of the address.
"use strict";
const list = document.getElementById("list"), shown = document.getElementById("episode"), root = document.documentElement;
const rows = () => [...document.querySelectorAll("#list tbody tr")].filter((row) => !row.hidden);
const number = (row) => row.querySelector("a").hash.slice(1);

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
  const wanted = location.hash.slice(1), data = /^\d+$/.test(wanted) && document.getElementById("data-" + wanted);
  if (data) {
    shown.innerHTML = await inflated(data.textContent);
    const all = rows(), place = all.findIndex((row) => number(row) === wanted);
    point("prev", all[place - 1]);
    point("next", place < 0 ? undefined : all[place + 1]);
    for (const box of shown.querySelectorAll("input[data-hides]")) {
      box.checked = !document.body.classList.contains("no-" + box.dataset.hides);
      box.addEventListener("change", () => document.body.classList.toggle("no-" + box.dataset.hides, !box.checked));
    }
    scrollTo(0, 0);
  } else { point("prev"); point("next"); }
  list.hidden = Boolean(data);
  shown.hidden = !data;
}
const search = document.querySelector("input[type=search]");
search.form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const row of document.querySelectorAll("#list tbody tr")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
});
document.querySelector("[data-theme-button]").addEventListener("click", () => {
  const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
});
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea")) return;
  const rel = { ArrowLeft: "prev", ArrowRight: "next", u: "up" }[event.key];
  if (rel) document.querySelector(`header a[rel=${rel}]`).click();
  if (event.key === "/") { event.preventDefault(); location.hash = ""; search.focus(); }
});
addEventListener("hashchange", open);
open();
