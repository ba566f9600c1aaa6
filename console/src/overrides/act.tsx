/** The buttons that ban somebody or let them through, with what came of it. */

import { useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import { RoleButton } from "../frame/role";
import { useTenant } from "../frame/session";
import { marked } from "../parts/foreign";
import { Moment } from "../parts/moment";
import { text } from "../text/en";
import { OverrideDialog } from "./dialog";
import type { Kind, Target } from "./targets";

const words = text.overrides;
const KINDS: readonly Kind[] = ["allow", "ban"];

export function Act({ targets }: { targets: readonly Target[] }) {
  const { slug } = useTenant();
  const [asked, setAsked] = useState<Kind | null>(null);
  const [made, setMade] = useState<Schemas["Override"] | null>(null);
  return (
    <div class="row">
      {KINDS.map((kind) => (
        <RoleButton
          needs="Admin"
          onClick={() => {
            setAsked(kind);
          }}
        >
          {words.buttons[kind]}
        </RoleButton>
      ))}
      <span role="status">
        {made && (
          <>
            <a href={`/console/${slug}/overrides`}>{marked(made.name)}</a> {words.until}{" "}
            <Moment at={made.ends_at} />
          </>
        )}
      </span>
      {asked && (
        <OverrideDialog
          kind={asked}
          targets={targets}
          onDone={setMade}
          onClose={() => {
            setAsked(null);
          }}
        />
      )}
    </div>
  );
}
