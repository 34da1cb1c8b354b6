/** Pointer and keys: what is pointed at lights up with its kin and says what it is. */

import { html } from "./dom.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
const GAP = 14; // between a pointer and the tip

/**
 * Light up what is pointed at or focused, and move the focus by arrow keys: left and right inside a
 * row, up and down between rows. Escape leaves.
 * @param {HTMLElement} host
 * @param {(element: Element) => {side: import("./view_model.js").Side, element: Element}} sideOf
 * @param {AbortSignal} signal  Ends it.
 */
export function listen(host, sideOf, signal) {
  const tip = html(host.ownerDocument, "div", { class: "tip", role: "tooltip", hidden: "" });
  host.append(tip);
  const leave = () => {
    tip.hidden = true;
    for (const element of host.querySelectorAll(".lit")) element.classList.remove("lit");
  };
  const enter = (event) => {
    const target = event.target.closest("[data-key], [data-keys]");
    leave();
    if (!target) return;
    const { side, element } = sideOf(target);
    light(element, keysOf(target, side));
    if (target.dataset.key) show(tip, side, target, event);
  };
  const on = (name, heard) => host.addEventListener(name, heard, { signal });
  on("pointerover", enter);
  on("pointerleave", leave);
  on("focusin", enter);
  on("focusout", leave);
  on("keydown", (event) => press(host, event, leave));
}

function keysOf(target, side) {
  return target.dataset.keys?.split(" ") ?? side.kin(target.dataset.key);
}

function light(element, keys) {
  const lit = new Set(keys);
  for (const part of element.querySelectorAll("[data-key]")) {
    if (lit.has(part.dataset.key)) part.classList.add("lit");
  }
}

function show(tip, side, target, event) {
  const { key } = target.dataset;
  const item = (key[0] === "l" ? side.links : side.marks)[Number(key.slice(1))];
  const lines = side.text.describe(item);
  tip.replaceChildren(
    ...lines.map((line) => html(tip.ownerDocument, "div", { dir: "auto" }, line)),
  );
  tip.hidden = false;
  const box = target.getBoundingClientRect();
  const [x, y] =
    event.clientX === undefined ? [box.left, box.bottom] : [event.clientX, event.clientY];
  const { innerWidth, innerHeight } = tip.ownerDocument.defaultView;
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const below = y + GAP + height < innerHeight ? y + GAP : Math.max(0, y - GAP - height);
  tip.style.left = `${Math.max(0, Math.min(x + GAP, innerWidth - width - GAP))}px`;
  tip.style.top = `${below}px`;
}

function press(host, event, leave) {
  const item = event.target.closest(".item");
  if (event.key === "Escape") {
    leave();
    item?.blur();
  }
  if (item?.matches(".foldable") && ["Enter", " "].includes(event.key)) {
    event.preventDefault();
    item.dispatchEvent(new event.view.Event("click", { bubbles: true }));
  }
  if (!item || !(event.key in STEPS)) return;
  const next = ["ArrowLeft", "ArrowRight"].includes(event.key)
    ? neighbour(itemsOf(item.closest("svg")), item, STEPS[event.key])
    : neighbour(entries(host), itemsOf(item.closest("svg"))[0], STEPS[event.key]);
  if (!next) return;
  event.preventDefault();
  moveTo(next);
}

/** Return the first item of each row. */
function entries(host) {
  return [...host.querySelectorAll("svg")].flatMap((row) => itemsOf(row).slice(0, 1));
}

/** Return the boxes of a row from left to right, then its arcs. */
function itemsOf(row) {
  return [...row.querySelectorAll(".box"), ...row.querySelectorAll(".arc")];
}

/** Have the tab key find the first item of a row. */
export function enterable(row) {
  itemsOf(row)[0]?.setAttribute("tabindex", 0);
}

function neighbour(items, item, step) {
  return items[items.indexOf(item) + step];
}

/** Focus an item, which the tab key finds again when it comes back to its row. */
export function moveTo(item) {
  for (const sibling of itemsOf(item.closest("svg"))) sibling.setAttribute("tabindex", -1);
  item.setAttribute("tabindex", 0);
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest", inline: "nearest" });
}
