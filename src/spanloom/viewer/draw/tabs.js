/** Analyses as tabs, one at a time, and all together. */

import { html } from "./dom.js";
import { visible } from "./text.js";
import { ALL } from "./view.js";

export const TEXTS = "drawn-texts"; // the id of what the tabs show
const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * Return the tabs, none where there is one analysis only, and what tells them of a change.
 * @param {Document} page
 * @param {import("./view.js").View} view
 * @param {(key: string) => void} chosen
 * @returns {{element: ?HTMLElement, tell: () => void}}
 */
export function drawTabs(page, view, chosen) {
  if (view.analyses.length < 2) return { element: null, tell: () => {} };
  const together = { key: ALL, title: "All together", about: "all layers at once, for experts" };
  const tabs = [...view.analyses, together].map((analysis) => tabOf(page, view, analysis));
  const tell = () => {
    for (const tab of tabs) {
      const selected = tab.dataset.analysis === view.analysis;
      tab.setAttribute("aria-selected", String(selected));
      tab.setAttribute("tabindex", selected ? 0 : -1);
    }
  };
  for (const tab of tabs) tab.addEventListener("click", () => chosen(tab.dataset.analysis));
  const element = html(page, "div", { class: "tabs", role: "tablist", "aria-label": "analysis" });
  element.append(...tabs);
  element.addEventListener("keydown", (event) => {
    const next = nextOf(tabs, tabs.indexOf(event.target), event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
    chosen(next.dataset.analysis);
  });
  tell();
  return { element, tell };
}

function tabOf(page, view, { key, title, about }) {
  const layers = view.listed(key).map((at) => view.layers[at]);
  const weak = key !== ALL && layers.every((layer) => layer.doubt);
  const note = weak ? [" ", html(page, "small", {}, "often wrong")] : [];
  const role = { role: "tab", type: "button", "aria-controls": TEXTS, id: `tab-${key}` };
  return html(
    page,
    "button",
    { class: "tab", ...role, title: about, "data-analysis": key },
    visible(title),
    ...note,
  );
}

/** Return the tab that a key leads to, undefined for other keys. */
function nextOf(tabs, at, key) {
  if (key === "Home") return tabs[0];
  if (key === "End") return tabs.at(-1);
  return key in STEPS ? tabs[(at + STEPS[key] + tabs.length) % tabs.length] : undefined;
}
