/** Texts of the page of `tidegate play`. */

export const text = {
  title: "Tidegate play",
  definitions: "Definitions",
  events: "Events",
  eventsHelp: "One event, an array of events, or one event per line.",
  copyLink: "Copy link",
  copied: "Copied",
  linkTooLong: "The definitions and events are too long for a link.",
  linkInvalid: "This link is damaged, or it wasn't made by this page. Nothing was loaded from it.",
  noToken: "Open the address that `tidegate play` printed.",
  unreachable: "`tidegate play` doesn't answer. Is it still running?",
  noFindings: "No findings.",
  refused: "The definitions are refused. Mend the errors to see decisions.",
  noEvents: "No events.",
  decisions: "Decisions",
  overTime: "Decisions over time",
  windows: "Windows of this entity over time",
  noWindows: "No window counted this event or an earlier one of its entities.",
  explanation: "Explanation",
  position: (line: number, column: number) => `${line}:${column}`,
  window: (policy: string, clause: string, threshold: number, seconds: number) =>
    `${policy}, ${clause}: fires at ${threshold} in ${seconds} s`,
  value: "Highest count",
  shown: (first: number, last: number, all: number) => `Events ${first} to ${last} of ${all}`,
  columns: { time: "Time", request: "Request", answer: "Answer", policy: "Policy" },
};
