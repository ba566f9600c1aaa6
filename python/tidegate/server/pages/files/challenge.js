// Starts the ALTCHA widget, and sends its solution.
import "./altcha.min.js";

const form = document.getElementById("solution");
const widget = document.getElementById("widget");
const status = document.getElementById("status");
const { auto, strings } = widget.dataset;
const worker = new URL("scrypt.js", import.meta.url);

$altcha.algorithms.set("SCRYPT", () => new Worker(worker));
$altcha.i18n.set(document.documentElement.lang, JSON.parse(strings));
document.getElementById("check").hidden = false;

widget.addEventListener("statechange", ({ detail }) => {
  const said = { verifying: "solving", verified: "solved", error: "failed", expired: "failed" };
  const name = said[detail.state];
  if (name) status.textContent = status.dataset[name];
  document.getElementById("again").hidden = name !== "failed";
  if (detail.state === "verified") setTimeout(() => form.submit());
});
// From the cache of going back, the page would still show the end.
addEventListener("pageshow", (event) => event.persisted && location.reload());
if (auto !== "off") widget.setAttribute("auto", auto);
