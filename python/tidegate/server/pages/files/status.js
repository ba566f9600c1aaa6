// What a page of a challenge says of itself.
const status = document.getElementById("status");
const widget = document.getElementById("widget");

document.getElementById("check").hidden = false;
// From the cache of going back, the page would still show the end.
addEventListener("pageshow", (event) => event.persisted && location.reload());

export function show(name) {
  status.textContent = status.dataset[name];
  if (name !== "failed") return;
  status.className = "alert";
  offerAgain();
}

/** In place of a check that starts by itself: a link to start it, and the other way. */
export function offerAgain() {
  widget.hidden = true;
  document.getElementById("again").hidden = false;
  const other = document.getElementById("other");
  if (other) other.replaceWith(other.content);
}
