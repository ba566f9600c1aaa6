// Status messages on the page of a challenge.
const status = document.getElementById("status");
const widget = document.getElementById("widget");

document.getElementById("check").hidden = false;
// The back-forward cache would still show the ended state.
addEventListener("pageshow", (event) => event.persisted && location.reload());

export function show(name) {
  status.textContent = status.dataset[name];
  if (name !== "failed") return;
  status.className = "alert";
  offerAgain();
}

/** Replaces an automatic check by a link that starts it, and the alternative. */
export function offerAgain() {
  widget.hidden = true;
  document.getElementById("again").hidden = false;
  const other = document.getElementById("other");
  if (other) other.replaceWith(other.content);
}
