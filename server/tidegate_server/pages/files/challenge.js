// Starts the ALTCHA widget, and sends its solution.
import "./altcha.min.js";
import { show } from "./status.js";

const form = document.getElementById("solution");
const widget = document.getElementById("widget");
const { auto, strings } = widget.dataset;
const worker = new URL("scrypt.js", import.meta.url);
const said = { verifying: "solving", verified: "solved", error: "failed", expired: "failed" };

$altcha.algorithms.set("SCRYPT", () => new Worker(worker));
$altcha.i18n.set(document.documentElement.lang, JSON.parse(strings));
widget.addEventListener("statechange", ({ detail }) => {
  if (said[detail.state]) show(said[detail.state]);
  if (detail.state === "verified") setTimeout(() => form.submit());
});
if (auto !== "off") widget.setAttribute("auto", auto);
