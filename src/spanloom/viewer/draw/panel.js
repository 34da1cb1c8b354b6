/** Above the texts, and always in sight: what is shown, where to look, labels, light or dark. */

import { chip } from "./chip.js";
import { countText, sizeOf } from "./counts.js";
import { html } from "./dom.js";
import { ROOMY, drawLegend } from "./legend.js";
import { drawSlider } from "./slider.js";
import { drawTabs } from "./tabs.js";
import { visible } from "./text.js";
import { drawTheme } from "./theme.js";
import { ALL } from "./view.js";

/**
 * @typedef {object} Heard  Who is told of the reader's choices.
 * @property {() => void} changed                    The view has changed.
 * @property {(layers: string[]) => void} wanted     Layers that nobody looked for are to be shown.
 */

/**
 * Return the panel, and what tells it that another has changed the view.
 * @param {Document} page
 * @param {import("./view_model.js").Text[]} texts
 * @param {import("./view.js").View} view
 * @param {Heard} heard
 * @param {{tools: HTMLElement[], lists: HTMLElement[]}} others  What stands behind the tabs, and below.
 * @returns {{element: HTMLElement, tell: () => void}}
 */
export function drawPanel(page, texts, view, heard, { tools, lists }) {
  const after = (wanted) => {
    tell();
    heard.changed();
    if (wanted.length) heard.wanted(wanted);
  };
  const tabs = drawTabs(page, view, (key) => after(view.choose(key)));
  const slider = drawSlider(page, texts, view, heard.changed);
  const legend = drawLegend(page, texts, view);
  const choice = html(page, "div", { class: "choice" });
  const doubts = html(page, "div", {});
  const tell = () => {
    tabs.tell();
    slider?.tell();
    legend.tell();
    choice.replaceChildren(...choices(page, texts, view, after));
    doubts.replaceChildren(...notes(page, view));
  };
  tell();
  const bar = [tabs.element, html(page, "div", { class: "tools" }, ...tools, drawTheme(page))];
  const top = html(page, "div", { class: "bar" }, ...bar.filter(Boolean));
  const parts = [choice, slider?.element, ...lists, legend.element].filter(Boolean);
  const options = html(page, "details", { class: "options" }, html(page, "summary", {}, "options"));
  options.append(html(page, "div", {}, ...parts));
  options.open = page.defaultView.matchMedia(ROOMY).matches;
  return { element: html(page, "header", { class: "panel" }, top, doubts, options), tell };
}

/** Return what the analysis is, and its layers where there are several. */
function choices(page, texts, view, after) {
  const listed = view.listed();
  const analysis = view.analyses.find(({ key }) => key === view.analysis);
  const about = view.analyses.length > 1 && analysis ? [visible(analysis.about)] : [];
  const parts = about.length ? [html(page, "p", { class: "about" }, ...about)] : [];
  if (listed.length > 1) {
    const group = { class: "layers", role: "group", "aria-label": "layers" };
    const chips = listed.map((at) => layerChip(page, texts, view, at, after));
    parts.push(html(page, "p", group, ...chips));
  }
  const single = singletons(page, texts, view, after);
  if (single) parts.push(single);
  return parts;
}

function layerChip(page, texts, view, at, after) {
  const layer = view.layers[at];
  const note = layer.absent ? "" : countText(sizeOf(texts, at));
  const how = { pressed: view.isOn(layer), note, title: layer.about };
  return chip(page, layer.name, () => after(view.toggle(at)), how);
}

/** Return the switch for what is mentioned once, null where nothing is. */
function singletons(page, texts, view, after) {
  const marks = texts.flatMap((text) => text.sides.flatMap((side) => side.marks));
  const single = marks.filter((mark) => view.isSingleton(mark) && !view.hidden.has(mark.layer));
  if (!single.length) return null;
  const toggled = () => {
    view.singletons = !view.singletons;
    after([]);
  };
  const how = { pressed: view.singletons, note: String(single.length) };
  return html(page, "p", {}, chip(page, "mentioned once", toggled, how));
}

/** Return a line for each layer that is often wrong. */
function notes(page, view) {
  const listed = view.listed().map((at) => view.layers[at]);
  return listed
    .filter((layer) => layer.doubt && (view.analysis !== ALL || view.isOn(layer)))
    .map(({ name, doubt }) => {
      const why = `${name} is often wrong (${doubt}), so it is off until you choose it.`;
      return html(page, "p", { class: "doubt" }, visible(why));
    });
}
