/** Goes from text to rows to text to rows. Reads JSON: the methods that rows show, and texts. Writes,
 * as JSON, for each text the one that its rows print, how many rows of each kind there are, and
 * whether the printed text has the same rows. */

import { text as all } from "node:stream/consumers";
import { createServer } from "vite";

const { methods, texts } = JSON.parse(await all(process.stdin));
const known = new Map(methods);
const server = await createServer({
  server: { middlewareMode: true, hmr: false, ws: false },
  appType: "custom",
  logLevel: "error",
});
const { cel } = await server.ssrLoadModule("/src/expression/language.ts");
const { rowsOf, printed } = await server.ssrLoadModule("/src/expression/rows.ts");
const { replaced, rejoined } = await server.ssrLoadModule("/src/expression/row-edits.ts");
const read = (text) => rowsOf(cel.parser.parse(text), text, known);
const OTHER = { all: "any", any: "all" };

/** Every item with its group, the last first: then no edit moves what comes after. */
function placed(group) {
  return group.items
    .toReversed()
    .flatMap((item) => [...(item.kind === "group" ? placed(item) : []), { group, item }]);
}

/** What a reader sees of rows. */
function shown(item) {
  if (item.kind === "group") return [item.joined, item.items.map(shown)];
  if (item.kind === "text") return item.text;
  return [item.field, item.operator, item.value, item.form];
}

/** Every row written anew, as an operator would who leaves it as it is. */
function rewritten(text) {
  let result = text;
  for (const { group, item } of placed(read(text))) {
    if (item.kind === "group") continue;
    const by = item.kind === "comparison" ? printed(item) : item.text;
    result = replaced(result, group, item, by, item.kind === "text" && item.isWeak);
  }
  return result;
}

/** Every group joined in the other way, and back. */
function turned(text) {
  const turn = (given) => {
    const top = read(given);
    return top.items.length < 2 ? given : rejoined(given, top, OTHER[top.joined], false);
  };
  return turn(turn(text));
}

function answer(text) {
  const top = read(text);
  const kinds = placed(top).map(({ item }) => item.kind);
  const by = turned(rewritten(text));
  return { text: by, kinds, same: JSON.stringify(shown(top)) === JSON.stringify(shown(read(by))) };
}

process.stdout.write(JSON.stringify(texts.map(answer)));
await server.close();
