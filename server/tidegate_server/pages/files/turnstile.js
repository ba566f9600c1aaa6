// Shows the Turnstile widget, and sends its solution.
import { offerAgain, show } from "./status.js";

const form = document.getElementById("solution");
const widget = document.getElementById("widget");
const { auto, sitekey, action, cdata, language } = widget.dataset;

if (auto === "off") {
  // The widget solves automatically, so the page after a failure would send solutions in a loop.
  offerAgain();
} else if (window.turnstile) {
  turnstile.render(widget, {
    sitekey,
    action,
    cdata,
    language,
    size: "flexible",
    "response-field-name": "solution",
    callback: () => {
      show("solved");
      form.submit();
    },
    "error-callback": () => show("failed"),
  });
} else {
  show("failed");
}
