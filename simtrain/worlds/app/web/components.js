// Plays the components that pages declare by data attributes; see docs/apps.md. The engine plays the same (components.py).
"use strict";

const byId = (id) => (id ? document.getElementById(id) : null);

function show(button, target, shown) {
  target.hidden = !shown;
  button.setAttribute("aria-expanded", shown ? "true" : "false");
}

function menus() {
  return [...document.querySelectorAll("[data-opens]")]
    .map((button) => [button, byId(button.dataset.opens)])
    .filter(([, target]) => target && target.getAttribute("role") === "menu" && !target.hidden);
}

function swap(name, editing) {
  const form = byId(name);
  if (form) form.hidden = !editing;
  for (const view of document.querySelectorAll("[data-view]"))
    if (view.dataset.view === name) view.hidden = editing;
}

const clicks = {
  "data-dialog": (button) => byId(button.dataset.dialog)?.show(),
  "data-close": (button) => button.closest("dialog")?.close(),
  "data-edit": (button) => swap(button.dataset.edit, true),
  "data-cancel": (button) => swap(button.dataset.cancel, false),
  "data-dismiss": (button) => button.closest("[data-toast]")?.remove(),
};

function choose(option) {
  const list = option.closest("[id]");
  for (const field of document.querySelectorAll("[data-suggest]"))
    if (list && field.dataset.list === list.id) {
      field.value = option.dataset.value;
      show(field, list, false);
    }
}

function turn(tab) {
  for (const other of tab.closest("[data-tabs]").querySelectorAll("[role=tab]")) {
    other.setAttribute("aria-selected", other === tab ? "true" : "false");
    const panel = byId(other.getAttribute("aria-controls"));
    if (panel) panel.hidden = other !== tab;
  }
}

document.addEventListener("click", (event) => {
  const node = event.target;
  if (!(node instanceof Element)) return;
  const asked = node.closest("[data-confirm]");
  if (asked && !window.confirm(asked.dataset.confirm)) {
    event.preventDefault();
    return;
  }
  const opener = node.closest("[data-opens]");
  for (const [button, target] of menus()) if (button !== opener) show(button, target, false);
  if (opener) {
    const target = byId(opener.dataset.opens);
    if (target) show(opener, target, target.hidden);
    return;
  }
  for (const [name, play] of Object.entries(clicks)) {
    const holder = node.closest(`[${name}]`);
    if (holder) return play(holder);
  }
  const option = node.closest("[data-value]");
  if (option) return choose(option);
  const tab = node.closest("[role=tab]");
  if (tab && tab.closest("[data-tabs]")) turn(tab);
});

let asked = 0;

document.addEventListener("input", async (event) => {
  const field = event.target;
  const counter = byId(field.dataset.counter);
  if (counter) counter.textContent = `${field.value.length} / ${field.getAttribute("maxlength") ?? ""}`;
  const list = byId(field.dataset.list);
  if (field.dataset.suggest === undefined || !list) return;
  const number = ++asked;
  const text = field.value.trim();
  const found = text ? await (await fetch(field.dataset.suggest + encodeURIComponent(text))).text() : "";
  if (number !== asked) return; // A later letter has been typed meanwhile.
  list.innerHTML = found.trim();
  show(field, list, found.trim() !== "");
});

document.addEventListener("change", (event) => {
  const control = event.target;
  if (control.dataset.checkAll !== undefined && control.form)
    for (const other of control.form.elements)
      if (other.type === "checkbox" && other.name === control.dataset.checkAll) other.checked = control.checked;
  if (control.dataset.submit !== undefined && control.form) control.form.requestSubmit();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const [button, target] of menus()) show(button, target, false);
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
});

// Browsers fill fields again when one goes back or reloads; what the server says counts.
window.addEventListener("pageshow", () => {
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") return;
  for (const form of document.forms) form.reset();
});
