/** The dialog with a policy test of a decision, as `tidegate record` writes it. */

import { useQuery } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, body, type Schemas } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Copy } from "../../parts/copy";
import { marked } from "../../parts/foreign";
import { text } from "../../text/en";

const words = text.decision.test;

export function WriteTest({ decision_id }: { decision_id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        onClick={() => {
          setOpen(true);
        }}
      >
        {words.write}
      </button>
      {isOpen && (
        <TestDialog
          decision_id={decision_id}
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

function TestDialog(props: { decision_id: string; onClose: () => void }) {
  const { decision_id, onClose } = props;
  const { tenant_id } = useTenant();
  const title = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const path = { tenant_id, decision_id };
  const test = useQuery({
    queryKey: ["decision-test", tenant_id, decision_id],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/decisions/{decision_id}/test", { params: { path } }),
      ),
    // It is written anew each time, as the definitions may have changed.
    gcTime: 0,
    staleTime: Infinity,
  });
  const close = (
    <button
      type="button"
      onClick={() => {
        dialog.current?.close();
      }}
    >
      {words.close}
    </button>
  );
  return (
    <dialog ref={dialog} class="wide" aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{words.write}</h2>
      <p>{words.about}</p>
      <Answered of={test}>{(written) => <Written test={written} close={close} />}</Answered>
      {test.data === undefined && <div class="row">{close}</div>}
    </dialog>
  );
}

function Written(props: { test: Schemas["DecisionTest"]; close: ComponentChildren }) {
  const { test, close } = props;
  const [href, setHref] = useState<string>();
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([test.text], { type: "application/yaml" }));
    setHref(url);
    return () => {
      URL.revokeObjectURL(url);
    };
  }, [test.text]);
  return (
    <>
      <pre tabIndex={0} aria-label={words.text}>
        {marked(test.text)}
      </pre>
      <p>{words.passes(test.revision)}</p>
      <pre>{`tidegate export -o ${test.definitions}\ntidegate test ${test.file}`}</pre>
      <div class="row">
        <a class="button primary" href={href} download={test.file}>
          {words.download}
        </a>
        <Copy value={test.text} what={words.what} isNamed />
        {close}
      </div>
    </>
  );
}
