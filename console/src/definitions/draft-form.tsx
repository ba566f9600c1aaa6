/** The form of a draft: its problems, a conflicting change by somebody else, and the button. */

import type { ComponentChildren } from "preact";
import { ProblemPanel } from "../parts/problem";
import { Stale } from "../parts/stale";
import { text } from "../text/en";
import type { Draft } from "./draft";

const words = text.editing;

export function DraftForm<O, D>(props: {
  /** Null in a section that already has one. */
  title: string | null;
  draft: Draft<O, D>;
  draftOf: (object: O) => D;
  /** Why the operator may not save; null when the operator may. */
  refusal: string | null;
  children: ComponentChildren;
}) {
  const { draft, refusal } = props;
  const { theirs } = draft;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void draft.save();
      }}
    >
      {props.title !== null && <h1>{props.title}</h1>}
      {draft.error !== null && <ProblemPanel error={draft.error} />}
      {theirs && (
        <Stale
          base={draft.base}
          mine={draft.value}
          theirs={props.draftOf(theirs)}
          takeTheirs={() => {
            draft.takeTheirs(theirs);
          }}
          saveMine={() => void draft.saveOver(theirs)}
        />
      )}
      <fieldset class="plain" disabled={refusal !== null}>
        {props.children}
        <div class={draft.isChanged ? "row save changed" : "row save"}>
          <button class="primary" title={refusal ?? ""}>
            {words.save}
          </button>
          <span role="status" class="quiet">
            {draft.isChanged ? words.changed : draft.saved ? words.saved : ""}
          </span>
        </div>
      </fieldset>
      {refusal !== null && <p class="quiet">{refusal}</p>}
    </form>
  );
}
