/** The visitor's response: the challenge, or the block response with a preview as text. */

import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { marked } from "../../parts/foreign";
import { AreaField, ChoiceField, NumberField, TextField } from "../../parts/form";
import { text } from "../../text/en";
import { fitsLines, linesOf, namedOf } from "../../definitions/lines";

const words = text.mitigation;
type Challenge = Schemas["Challenge"];
type Block = Schemas["Block"];
const PROVIDERS = [
  ["pow", "proof of work (ALTCHA)"],
  ["turnstile", "Cloudflare Turnstile"],
] as const;
const DIFFICULTY = 4;

export function ChallengeFields(props: { value: Challenge; onChange: (value: Challenge) => void }) {
  const { value } = props;
  const change = (changes: Challenge): void => {
    props.onChange({ ...value, ...changes });
  };
  return (
    <fieldset class="card">
      <legend>{words.challenge}</legend>
      <ChoiceField
        label={words.provider}
        value={value.provider ?? "pow"}
        options={PROVIDERS}
        onChange={(provider) => {
          change({ provider });
        }}
      />
      <NumberField
        label={words.difficulty}
        min={1}
        max={10}
        value={value.difficulty ?? DIFFICULTY}
        onChange={(difficulty) => {
          change({ difficulty });
        }}
      />
      <TextField
        label={words.returnTo}
        value={value.default_return_url_template ?? ""}
        onChange={(template) => {
          change({ default_return_url_template: template || null });
        }}
      />
    </fieldset>
  );
}

export function BlockFields(props: { value: Block; onChange: (value: Block) => void }) {
  const { value } = props;
  const status = value.status_code ?? 403;
  // Keep the typed text: an unfinished line isn't a header yet.
  const [lines, setLines] = useState(linesOf(value.headers ?? {}));
  const [computed, setComputed] = useState(linesOf(value.computed_headers ?? {}));
  const [isEditable] = useState(fitsLines(value.computed_headers ?? {}));
  const change = (changes: Block): void => {
    props.onChange({ ...value, ...changes });
  };
  return (
    <fieldset class="card">
      <legend>{words.block}</legend>
      <NumberField
        label={words.status}
        min={400}
        max={599}
        value={status}
        onChange={(status_code) => {
          change({ status_code });
        }}
      />
      <AreaField
        label={words.headers}
        value={lines}
        onChange={(typed) => {
          setLines(typed);
          change({ headers: namedOf(typed) });
        }}
      />
      {isEditable ? (
        <AreaField
          label={words.computedHeaders}
          value={computed}
          onChange={(typed) => {
            setComputed(typed);
            change({ computed_headers: namedOf(typed) });
          }}
        />
      ) : (
        <>
          <p>{words.longHeaders}</p>
          <pre>{computed}</pre>
        </>
      )}
      <AreaField
        label={words.body}
        value={value.body ?? ""}
        onChange={(body) => {
          change({ body });
        }}
      />
      <p id="preview">{words.preview}</p>
      <pre aria-labelledby="preview">
        {marked(`${status}\n${linesOf(value.headers ?? {})}\n\n${value.body ?? ""}`)}
      </pre>
    </fieldset>
  );
}
