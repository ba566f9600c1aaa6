/** One mitigation: its mode, its duration, and the visitor's response. */

import type { Schemas } from "../../api/client";
import { objectCalls } from "../../api/objects";
import { CommonFields } from "../../definitions/common";
import { Defined, type Resource } from "../../definitions/defined";
import { ChoiceField, DurationField } from "../../parts/form";
import { text } from "../../text/en";
import { BlockFields, ChallengeFields } from "./answers";

const words = text.mitigation;
type Mitigation = Schemas["Mitigation"];
type Members = Pick<
  Mitigation,
  "name" | "description" | "labels" | "enabled" | "mode" | "ttl_seconds" | "challenge" | "block"
>;
const MODES = (["Block", "Challenge", "Monitor"] as const).map((mode) => [mode, mode] as const);

const MITIGATION: Resource<Mitigation, Members> = {
  folder: "mitigations",
  title: words.create,
  idOf: (mitigation) => mitigation.mitigation_id,
  membersOf: ({ name, description, labels, enabled, mode, ttl_seconds, challenge, block }) => ({
    name,
    description,
    labels,
    enabled,
    mode,
    ttl_seconds,
    challenge,
    block,
  }),
  empty: () => ({
    name: "",
    description: "",
    labels: {},
    enabled: true,
    mode: "Block",
    ttl_seconds: 300,
    challenge: null,
    block: null,
  }),
  ...objectCalls(
    "/api/v1/tenants/{tenant_id}/mitigations",
    "/api/v1/tenants/{tenant_id}/mitigations/{mitigation_id}",
  ),
};

export default function MitigationPage() {
  return (
    <Defined resource={MITIGATION}>
      {({ value, change }) => (
        <>
          <CommonFields value={value} change={change} />
          <div class="row">
            <ChoiceField
              label={words.mode}
              value={value.mode}
              options={MODES}
              onChange={(mode) => {
                // The service rejects the other mode's part.
                change({ mode, challenge: null, block: null });
              }}
            />
            <DurationField
              label={words.ttl}
              value={value.ttl_seconds}
              onChange={(ttl_seconds) => {
                change({ ttl_seconds });
              }}
            />
          </div>
          {value.mode === "Challenge" && (
            <ChallengeFields
              value={value.challenge ?? {}}
              onChange={(challenge) => {
                change({ challenge });
              }}
            />
          )}
          {value.mode === "Block" && (
            <BlockFields
              value={value.block ?? {}}
              onChange={(block) => {
                change({ block });
              }}
            />
          )}
        </>
      )}
    </Defined>
  );
}
