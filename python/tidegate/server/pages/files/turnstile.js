// Shows the widget of Turnstile, and sends its solution.
import { show } from "./status.js";

const form = document.getElementById("solution");
const widget = document.getElementById("widget");
const { sitekey, action, cdata, language } = widget.dataset;

if (window.turnstile) {
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
