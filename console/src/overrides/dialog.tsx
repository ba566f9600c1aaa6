/** The dialog for a ban or an exemption: whom, how long, why. */

import { useMutation } from "@tanstack/preact-query";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, body, queries, type Schemas } from "../api/client";
import { useTenant } from "../frame/session";
import { marked } from "../parts/foreign";
import { CheckField, ChoiceField, TextField } from "../parts/form";
import { ProblemPanel } from "../parts/problem";
import { text } from "../text/en";
import { nameFor, type Kind, type Target } from "./targets";

const words = text.overrides;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DURATIONS = [15 * MINUTE, HOUR, 2 * HOUR, 8 * HOUR, DAY, 7 * DAY, 30 * DAY] as const;
const USUAL = 2 * HOUR;
const OTHER = "other";

export function OverrideDialog(props: {
  kind: Kind;
  /** The targets that can be chosen; an address or a network can also be typed. */
  targets: readonly Target[];
  onClose: () => void;
  onDone: (made: Schemas["Override"]) => void;
}) {
  const { kind, targets, onClose } = props;
  const { tenant_id } = useTenant();
  const title = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [chosen, setChosen] = useState(targets.length > 0 ? "0" : OTHER);
  const [network, setNetwork] = useState("");
  const [seconds, setSeconds] = useState(String(USUAL));
  const [reason, setReason] = useState("");
  const [wide, setWide] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const target = targets[Number(chosen)];
  const save = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tenants/{tenant_id}/overrides", {
          params: { path: { tenant_id } },
          body: {
            kind,
            duration_seconds: Number(seconds),
            reason: reason.trim(),
            ...(target === undefined && { network: network.trim(), wide }),
            ...(target?.network !== undefined && { network: target.network }),
            ...(target?.entity_id !== undefined && {
              entity_id: target.entity_id,
              name: nameFor(kind, target),
            }),
          },
        }),
      ),
    onSuccess: async (made) => {
      props.onDone(made);
      onClose();
      await queries.invalidateQueries({ queryKey: ["overrides", tenant_id] });
    },
  });
  const isReady = reason.trim() !== "" && (target !== undefined || network.trim() !== "");
  return (
    <dialog ref={dialog} aria-labelledby={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !save.isPending) save.mutate();
        }}
      >
        <h2 id={title}>{words.buttons[kind]}</h2>
        <p>{words.meaning[kind]}</p>
        {save.error && <ProblemPanel error={save.error} />}
        {targets.length > 0 && (
          <ChoiceField
            label={words.target}
            value={chosen}
            options={[
              ...targets.map((each, at) => [String(at), marked(each.label)] as const),
              [OTHER, words.other],
            ]}
            onChange={setChosen}
          />
        )}
        {target === undefined && (
          <>
            <TextField label={words.network} isRequired value={network} onChange={setNetwork} />
            <CheckField label={words.wide} value={wide} onChange={setWide} />
          </>
        )}
        <ChoiceField
          label={words.duration}
          value={seconds}
          options={DURATIONS.map((each) => [String(each), words.lasts(each)] as const)}
          onChange={setSeconds}
        />
        <TextField label={words.reason} isRequired value={reason} onChange={setReason} />
        <div class="row">
          <button type="submit" disabled={!isReady || save.isPending}>
            {words.verbs[kind]}
          </button>
          <button
            type="button"
            onClick={() => {
              dialog.current?.close();
            }}
          >
            {text.frame.keep}
          </button>
        </div>
      </form>
    </dialog>
  );
}
