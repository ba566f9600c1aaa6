/** The notes of a pack, as lists. */

import type { Schemas } from "../../api/client";
import { marked } from "../../parts/foreign";
import { text } from "../../text/en";

export type Note = "needs" | "catches" | "misses" | "hurts";

export function Notes(props: {
  of: Schemas["Pack"];
  names: readonly Note[];
  /** The level of the headings. */
  heading: "h2" | "h3";
}) {
  const { of, names, heading: Heading } = props;
  return (
    <>
      {names.map((name) => (
        <>
          <Heading>{text.packs[name]}</Heading>
          <ul>
            {of[name].map((note) => (
              <li key={note}>{marked(note)}</li>
            ))}
          </ul>
        </>
      ))}
    </>
  );
}
