/** Reads a JSON list of texts and writes, as JSON, the places of the error nodes that the editor's
 * grammar finds in each. */

import { readFileSync } from "node:fs";
import { buildParser } from "@lezer/generator";

const grammar = readFileSync(new URL("./src/expression/cel.grammar", import.meta.url), "utf8");
const parser = buildParser(grammar);

function errorsOf(text) {
  const places = [];
  parser.parse(text).iterate({
    enter: (node) => {
      if (node.type.isError) places.push([node.from, node.to]);
    },
  });
  return places;
}

const texts = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map(errorsOf)));
