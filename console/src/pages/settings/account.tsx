/** The caller's own account: its sessions, and the second factor of its password. */

import { useMutation, useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, body, page, queries, type Schemas } from "../../api/client";
import { token } from "../../api/token";
import { useMe } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Confirm } from "../../parts/confirm";
import { Copy } from "../../parts/copy";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { ProblemPanel } from "../../parts/problem";
import { Listing, pageQuery, type Column } from "../../parts/table";
import { text } from "../../text/en";

const words = text.account;
type Session = Schemas["Session"];

export function Account() {
  const found = useQuery({
    queryKey: ["second-factor", token.value],
    queryFn: () => body(api.GET("/api/v1/auth/second-factor")),
  });
  return (
    <>
      <Sessions />
      <h3>{words.secondFactor}</h3>
      <Answered of={found}>{(factor) => <SecondFactor factor={factor} />}</Answered>
    </>
  );
}

const COLUMNS: readonly Column<Session>[] = [
  { name: words.provider, cell: (session) => marked(session.provider) },
  { name: words.address, cell: (session) => session.address },
  {
    name: words.browser,
    kind: "text",
    cell: (session) => (session.user_agent === null ? null : marked(session.user_agent)),
  },
  { name: words.began, cell: (session) => <Moment at={session.created_at} /> },
  { name: words.expires, cell: (session) => <Moment at={session.expires_at} /> },
];

function Sessions() {
  const end = useMutation({
    mutationFn: (session: Session) =>
      api.DELETE("/api/v1/auth/sessions/{session_id}", {
        params: { path: { session_id: session.session_id } },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
  return (
    <>
      {end.error && <ProblemPanel error={end.error} />}
      <Listing
        label={words.sessions}
        queryKey={["sessions", token.value]}
        ask={(cursor) =>
          page(api.GET("/api/v1/auth/sessions", { params: { query: pageQuery(cursor) } }))
        }
        columns={[
          ...COLUMNS,
          {
            name: text.settings.change,
            cell: (session) =>
              session.is_current ? (
                words.current
              ) : (
                <Confirm
                  label={words.end}
                  question={words.reallyEnd}
                  refusal={null}
                  onConfirm={() => {
                    end.mutate(session);
                  }}
                />
              ),
          },
        ]}
        keyOf={(session) => session.session_id}
        empty={<p>{words.noSessions}</p>}
      />
    </>
  );
}

/** Asks for the password, then for a first code; shows the secret and the recovery codes once. */
function SecondFactor({ factor }: { factor: Schemas["SecondFactor"] }) {
  const onSuccess = () => queries.invalidateQueries({ queryKey: ["second-factor"] });
  const begin = useMutation({
    mutationFn: (password: string) =>
      body(api.POST("/api/v1/auth/second-factor", { body: { password } })),
  });
  const confirm = useMutation({
    mutationFn: (code: string) => body(api.PUT("/api/v1/auth/second-factor", { body: { code } })),
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: (code: string) =>
      api.POST("/api/v1/auth/second-factor/removal", { body: { code } }),
    onSuccess: () => {
      begin.reset();
      confirm.reset();
      return onSuccess();
    },
  });
  const error = begin.error ?? confirm.error ?? remove.error;
  return (
    <>
      {error && <ProblemPanel error={error} />}
      {factor.state === "on" ? (
        <>
          {confirm.data && <RecoveryCodes codes={confirm.data.recovery_codes} />}
          <p>{words.isOn(factor.recovery_codes_left)}</p>
          <Asked label={words.code} button={words.turnOff} onSend={remove.mutate} />
        </>
      ) : begin.data ? (
        <>
          <p role="status">
            {words.addSecret} <code>{begin.data.secret}</code>{" "}
            <Copy value={begin.data.secret} what={words.secret} />{" "}
            <a href={begin.data.uri}>{words.openApp}</a>
          </p>
          <Asked label={words.code} button={words.turnOn} onSend={confirm.mutate} />
        </>
      ) : (
        <>
          <p>{words.isOff}</p>
          <Asked label={words.password} isPassword button={words.begin} onSend={begin.mutate} />
        </>
      )}
    </>
  );
}

function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <div role="status">
      <p>
        {words.keepCodes} <Copy value={codes.join("\n")} what={words.recoveryCodes} />
      </p>
      <pre>{codes.join("\n")}</pre>
    </div>
  );
}

/** A form with one field, which is empty again once it was sent. */
function Asked(props: {
  label: string;
  button: string;
  isPassword?: boolean;
  onSend: (value: string) => void;
}) {
  const [value, setValue] = useState("");
  const me = useMe();
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        setValue("");
        props.onSend(value);
      }}
    >
      {props.isPassword && (
        // Tells password managers whose password it is.
        <input hidden readOnly autocomplete="username" value={me.data?.email ?? ""} />
      )}
      <label>
        {props.label}{" "}
        <input
          required
          type={props.isPassword ? "password" : "text"}
          autocomplete={props.isPassword ? "current-password" : "one-time-code"}
          value={value}
          onInput={(event) => {
            setValue(event.currentTarget.value);
          }}
        />
      </label>
      <button>{props.button}</button>
    </form>
  );
}
