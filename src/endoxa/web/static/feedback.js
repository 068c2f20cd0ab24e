// Practice: the organiser's answer beside the judge's own.

import { byId, element } from "./dom.js";

/** Fill the feedback panel and return its text for screen readers; empty where no answer is known. */
export function writeFeedback(task, screen, feedback, wanted) {
  const lines = feedback
    .filter((one) => one.expected !== null)
    .map((one) => {
      const index = task.items.findIndex((item) => item.id === one.item);
      const which = task.items.length > 1 ? `Result ${index + 1}: ` : "";
      return element(
        "li",
        { class: one.right ? "right" : "other" },
        element("strong", {}, one.right ? "✓ The same: " : "≠ Not the same: "),
        `${which}the organiser would say ${wanted(one)}; you said ${screen.said(one.item)}.`,
      );
    });
  byId("feedback-list").replaceChildren(...lines);
  return lines.map((line) => line.textContent).join(" ");
}
