// Messages in place of a task: waiting, trouble, the end.

import { byId, count, element } from "./dom.js";

/** Show a card with a title and paragraphs on the stage, and focus its title. */
export function notice(id, title, paragraphs, ...buttons) {
  const heading = element("h2", { tabindex: "-1" }, title);
  const words = paragraphs.filter(Boolean).map((one) => element("p", {}, one));
  byId("stage").replaceChildren(
    element(
      "section",
      { class: "notice card", id },
      heading,
      words,
      buttons.length > 0 && element("p", { class: "row" }, buttons),
    ),
  );
  heading.focus();
}

export const button = (words, id, act) => element("button", { type: "button", class: "main", id, onclick: act }, words);

/** Title and paragraphs for a Trouble, with a sentence about what is not saved yet. */
export function troubleWords(trouble, unsaved, what = "answer") {
  const kept =
    unsaved > 0 &&
    `${count(unsaved, what)} not sent yet ${unsaved === 1 ? "is" : "are"} kept on this device and will be sent.`;
  if (trouble.kind === "session") {
    return [
      "Please open your link again",
      [
        "This browser is not signed in. The personal link you were given opens the page where you left off.",
        kept,
      ],
    ];
  }
  if (trouble.kind === "network") {
    return ["No connection at the moment", [`${trouble.message} The page tries again automatically.`, kept]];
  }
  return ["Something went wrong", [trouble.message, kept]];
}

export const FINISHED = "If your last answer was a mistake, you can still undo it. Otherwise you may close this page.";
export const LEFT = [
  "Everything is saved. Your personal link opens the study again where you left off.",
  "You may close this page.",
];
