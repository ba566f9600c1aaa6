/** Reads a JSON list of texts and writes, as JSON, what the editor's grammar finds in each: the places
 * of error nodes, and of fields and calls with the kind of each, in code points. */

import { readFileSync } from "node:fs";
import { buildParser } from "@lezer/generator";

const grammar = readFileSync(new URL("./src/expression/cel.grammar", import.meta.url), "utf8");
const parser = buildParser(grammar);
const KINDS = { Variable: "name", Select: "member", Call: "call", MethodCall: "call" };

function found(text) {
  const errors = [];
  const parts = [];
  const point = (unit) => Array.from(text.slice(0, unit)).length;
  parser.parse(text).iterate({
    enter: ({ type, node }) => {
      if (type.isError) errors.push([node.from, node.to]);
      if (!(type.name in KINDS)) return;
      // Parentheses belong to what they hold, as for the service.
      let outer = node;
      while (outer.parent?.name === "Paren") outer = outer.parent;
      parts.push([KINDS[type.name], point(outer.from), point(outer.to)]);
    },
  });
  return { errors, parts };
}

const texts = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map(found)));
