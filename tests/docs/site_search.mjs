// node site_search.mjs HTML_FOLDER: for each line of standard input, the results of a search.
//
// It runs the worker of the built site, as a browser does, on the index of the site. Each line of
// output is a JSON array with the addresses of the results, best first.
import { readdirSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { runInThisContext } from "node:vm"

const [SETUP, QUERY] = [0, 2] // kinds of messages to the worker; it answers with 1 and 3
const site = process.argv[2]
const index = JSON.parse(readFileSync(`${site}/search.json`, "utf8"))
const folder = `${site}/assets/javascripts/workers`
const worker = readdirSync(folder).find((name) => name.startsWith("search."))

let answered
globalThis.self = { postMessage: (message) => answered(message) }
runInThisContext(readFileSync(`${folder}/${worker}`, "utf8"))

function ask(type, data) {
  return new Promise((resolve) => {
    answered = resolve
    globalThis.self.onmessage({ data: structuredClone({ type, data }) })
  })
}

// The filter of the page when no tag is chosen.
const filter = {
  input: { type: "operator", data: { operator: "and", operands: [] } },
  aggregation: { input: [{ type: "term", data: { field: "tags" } }] },
}
await ask(SETUP, index)
for await (const input of createInterface({ input: process.stdin })) {
  const found = await ask(QUERY, { input, filter })
  console.log(JSON.stringify(found.data.items.map(({ id }) => index.items[id].location)))
}
