// Practice: the answer that the organiser looks for, beside what the judge said.

import { byId, element } from "./dom.js";
import { spoken } from "./rate.js";

/** Fill the feedback panel; gives its words, for those who listen; none where nothing was looked for. */
export function writeFeedback({ screen: { kind, grades }, categories }, task, screen, feedback) {
  const wanted = (one) => {
    if (kind === "rate") return spoken(grades, Number(one.expected));
    return categories?.find((category) => category.name === one.expected)?.label ?? one.expected_label ?? one.expected;
  };
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
