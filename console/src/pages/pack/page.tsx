/** One pack: its notes and slots, and the steps that add, update and remove it. */

import { useMutation, useQuery } from "@tanstack/preact-query";
import { useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { api, body, queries, type Schemas } from "../../api/client";
import { ExpressionField } from "../../expression/field";
import { RoleButton, useRefusal } from "../../frame/role";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { Foreign, marked } from "../../parts/foreign";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";
import { Notes } from "./notes";
import { Preview } from "./preview";
import { State } from "./state";
import { matches, take, type Slots, type Step } from "./steps";

const words = text.packs;
type Pack = Schemas["Pack"];

export default function PackPage() {
  const { tenant_id } = useTenant();
  const name = useRoute().params["id"] ?? "";
  const found = useQuery({
    queryKey: ["packs", tenant_id, name],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/packs/{pack}", {
          params: { path: { tenant_id, pack: name } },
        }),
      ),
  });
  return <Answered of={found}>{(pack) => <One key={pack.name} pack={pack} />}</Answered>;
}

function One({ pack }: { pack: Pack }) {
  const { tenant_id, slug } = useTenant();
  const [given, setGiven] = useState<Slots>({});
  const [shown, setShown] = useState<Step | null>(null);
  const preview = useMutation({
    mutationFn: async (step: Step) => {
      const changes = await take({ ...asked(step), revision: null });
      const matched = step === "add" ? await matches(tenant_id, expressions(pack, given)) : [];
      return { changes, matched };
    },
  });
  const make = useMutation({
    mutationFn: ({ step, revision }: { step: Step; revision: number }) =>
      take({ ...asked(step), revision }),
    onSuccess: async () => {
      setShown(null);
      // Every kind of definition may have changed.
      await queries.invalidateQueries();
    },
  });
  const asked = (step: Step) => ({ tenant_id, pack: pack.name, step, slots: given });
  const isAdded = pack.installed_version !== null;
  const steps: Step[] = isAdded
    ? [...(pack.update_available ? ["update" as const] : []), "remove"]
    : ["add"];
  return (
    <>
      <h1>{marked(pack.name)}</h1>
      <p>{marked(pack.summary)}</p>
      <State of={pack} />
      <div class="cards">
        <section class="card" aria-label={words.catches}>
          <Notes of={pack} names={["needs", "catches"]} heading="h2" />
        </section>
        <section class="card" aria-label={words.misses}>
          <Notes of={pack} names={["misses", "hurts"]} heading="h2" />
        </section>
      </div>
      <p class="quiet">
        {words.measured}: {marked(pack.measured)}
      </p>
      {pack.slots.length > 0 && !isAdded && (
        <SlotFields
          pack={pack}
          given={given}
          onChange={(changed) => {
            setGiven(changed);
            setShown(null);
          }}
        />
      )}
      <p class="row">
        {steps.map((step) => (
          <RoleButton
            key={step}
            needs="Admin"
            isBusy={preview.isPending}
            onClick={() => {
              make.reset();
              setShown(step);
              preview.mutate(step);
            }}
          >
            {words.preview[step]}
          </RoleButton>
        ))}
        <span role="status">{make.data && words.made[make.variables.step]}</span>
        {make.data && make.variables.step !== "remove" && (
          <a href={`/console/${slug}/policies`}>{words.results}</a>
        )}
      </p>
      {shown !== null && preview.error && <ProblemPanel error={preview.error} />}
      {make.error && <ProblemPanel error={make.error} />}
      {shown !== null && preview.data && (
        <section class="card" aria-label={words.preview[shown]}>
          <h2>{words.preview[shown]}</h2>
          <Preview of={preview.data.changes} matched={preview.data.matched} />
          <RoleButton
            needs="Admin"
            class="primary"
            isBusy={make.isPending}
            onClick={() => {
              make.mutate({ step: shown, revision: preview.data.changes.revision });
            }}
          >
            {words.make[shown]}
          </RoleButton>
        </section>
      )}
    </>
  );
}

/** The expression that each slot will have. */
function expressions(pack: Pack, given: Slots): Slots {
  return Object.fromEntries(
    pack.slots.map(({ slug, guess, expression }) => [slug, expression ?? given[slug] ?? guess]),
  );
}

function SlotFields(props: { pack: Pack; given: Slots; onChange: (given: Slots) => void }) {
  const { pack, given, onChange } = props;
  const refusal = useRefusal("Admin");
  return (
    <section class="card" aria-label={words.slots}>
      <h2>{words.slots}</h2>
      <p class="quiet">{words.slotsAbout}</p>
      {pack.slots.map(({ slug, meaning, guess, expression }) => (
        <div class="part" key={slug}>
          <p>{marked(meaning)}</p>
          {expression === null ? (
            <ExpressionField
              label={slug}
              purpose="action"
              value={given[slug] ?? guess}
              isReadOnly={refusal !== null}
              onChange={(changed) => {
                onChange({ ...given, [slug]: changed });
              }}
            />
          ) : (
            <p>
              <code>{slug}</code> {words.own} <Foreign text={expression} />
            </p>
          )}
        </div>
      ))}
    </section>
  );
}
