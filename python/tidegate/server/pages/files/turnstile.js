// Shows the widget of Turnstile, and sends its solution.
const form = document.getElementById("solution");
const widget = document.getElementById("widget");
const status = document.getElementById("status");
const { sitekey, action, cdata, language } = widget.dataset;

document.getElementById("check").hidden = false;
const failed = () => {
  status.textContent = status.dataset.failed;
  document.getElementById("again").hidden = false;
};
if (window.turnstile) {
  turnstile.render(widget, {
    sitekey,
    action,
    cdata,
    language,
    size: "flexible",
    "response-field-name": "solution",
    callback: () => {
      status.textContent = status.dataset.solved;
      form.submit();
    },
    "error-callback": failed,
  });
} else {
  failed();
}
addEventListener("pageshow", (event) => event.persisted && location.reload());
