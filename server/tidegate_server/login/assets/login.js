// The login pages. Text from the server is inserted as text, never as markup.
const TOKEN = "service.auth_token";
const ARRIVAL = "/login/callback";
const COOKIES = ["__Host-tidegate_login", "tidegate_login"];
const FAULTS = {
  cancelled: "The login was cancelled.",
  expired: "The login took too long, or was begun in another window.",
  unavailable: "The identity provider cannot be reached now.",
  "not-invited": "Nobody has given this address a role here. Ask an Owner or Admin of a tenant.",
};
const byId = (id) => document.getElementById(id);
const say = (text) => { byId("message").textContent = text; };

/** Returns a path of this server; null for anything else. */
function ownPath(text) {
  return text && /^\/(?![/\\])[\x21-\x7e]*$/.test(text) && !text.includes("\\") ? text : null;
}

/** Returns the answer of a call with the token; null if the token is invalid. */
async function ask(path, token, method = "GET") {
  const answer = await fetch(path, { method, headers: { authorization: `Bearer ${token}` } });
  if (answer.status === 401) return null;
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.status === 204 ? {} : answer.json();
}

/** Returns where a login ends: in the console; without a role or a console, on the page that says
 * who is logged in. */
async function home(token) {
  const page = "/console/";
  const me = await ask("/api/v1/me", token);
  if (!me?.memberships.length) return ARRIVAL;
  const answer = await fetch(page, { method: "HEAD" });
  return answer.ok ? page : ARRIVAL;
}

async function choice() {
  const answer = await fetch("/api/v1/auth/providers");
  const next = ownPath(new URLSearchParams(location.search).get("next"));
  for (const each of await answer.json()) {
    const link = document.createElement("a");
    link.href = each.login_url + (next ? `?${new URLSearchParams({ next })}` : "");
    link.textContent = each.display_name;
    const item = document.createElement("li");
    item.append(link);
    byId("providers").append(item);
  }
}

async function password() {
  const next = ownPath(new URLSearchParams(location.search).get("next"));
  const form = document.forms[0];
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const known = { email: form.email.value, password: form.password.value };
    const code = form.code.value.trim();
    const body = JSON.stringify(code ? { ...known, code } : known);
    const headers = { "content-type": "application/json" };
    form.code.value = "";
    try {
      const answer = await fetch("/api/v1/auth/local/token", { method: "POST", headers, body });
      const said = await answer.json();
      if (said.code === "second-factor-required") {
        byId("second").hidden = false;
        form.code.required = true;
        form.code.focus();
        return say("");
      }
      if (!answer.ok) {
        // A wrong code may be typed again without the password.
        if (byId("second").hidden) form.password.value = "";
        return say(said.detail);
      }
      form.password.value = "";
      localStorage.setItem(TOKEN, said.access_token);
      location.replace(next ?? (await home(said.access_token)));
    } catch {
      say("The server cannot be reached now.");
    }
  });
}

/** Returns the word that the server gave only to this browser, and deletes it. */
function takeWord() {
  for (const pair of document.cookie.split("; ")) {
    const [name, word] = pair.split("=");
    if (!COOKIES.includes(name)) continue;
    document.cookie = `${name}=; Path=/; Max-Age=0${name.startsWith("__") ? "; Secure" : ""}`;
    return word;
  }
  return null;
}

async function arrival() {
  const brought = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  byId("out").addEventListener("click", logOut);
  if (brought.has("error")) {
    return fail(FAULTS[brought.get("error")] ?? "The login was refused.");
  }
  if (brought.has("access_token")) {
    // Without the word a link could log somebody in as somebody else.
    const word = takeWord();
    if (!word || word !== brought.get("word")) return fail(FAULTS.expired);
    const token = brought.get("access_token");
    localStorage.setItem(TOKEN, token);
    const next = ownPath(brought.get("next")) ?? (await home(token));
    if (next !== ARRIVAL) return location.replace(next);
  }
  await showWho();
}

async function showWho() {
  const token = localStorage.getItem(TOKEN);
  const me = token ? await ask("/api/v1/me", token) : null;
  if (!me) return fail("Nobody is logged in.");
  byId("who").textContent = `Logged in as ${me.name}`;
  say(me.memberships.length ? `${me.email}, with a role in:` : `${me.email}, with no role yet.`);
  for (const each of me.memberships) {
    const item = document.createElement("li");
    item.textContent = `${each.name}: ${each.role}`;
    byId("tenants").append(item);
  }
  byId("console").hidden = byId("out").hidden = false;
}

async function logOut() {
  await ask("/api/v1/auth/token", localStorage.getItem(TOKEN), "DELETE");
  localStorage.removeItem(TOKEN);
  byId("tenants").replaceChildren();
  byId("console").hidden = byId("out").hidden = true;
  fail("You are logged out.");
}

function fail(text) {
  byId("who").textContent = "Not logged in";
  say(text);
  byId("again").hidden = false;
}

const pages = { choice, password, arrival };
pages[document.body.dataset.page]().catch(() => say("The server cannot be reached now."));
