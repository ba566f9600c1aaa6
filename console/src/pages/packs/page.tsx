/** The packs that come with the service: which behaviour could be caught, and at which cost? */

import { useQuery } from "@tanstack/preact-query";
import { api, body } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { text } from "../../text/en";
import { Notes } from "../pack/notes";
import { State } from "../pack/state";

const words = text.packs;

export default function PacksPage() {
  const { tenant_id, slug } = useTenant();
  const found = useQuery({
    queryKey: ["packs", tenant_id],
    queryFn: () =>
      body(api.GET("/api/v1/tenants/{tenant_id}/packs", { params: { path: { tenant_id } } })),
  });
  return (
    <>
      <h1>{text.pages.packs}</h1>
      <p class="quiet">{words.about}</p>
      <Answered of={found}>
        {(packs) => (
          <div class="cards">
            {packs.map((pack) => (
              <section class="card" key={pack.name} aria-labelledby={`pack-${pack.name}`}>
                <h2 id={`pack-${pack.name}`}>
                  <a href={`/console/${slug}/packs/${pack.name}`}>{marked(pack.name)}</a>
                </h2>
                <p>{marked(pack.summary)}</p>
                <State of={pack} />
                <Notes of={pack} names={["catches", "misses", "hurts"]} heading="h3" />
              </section>
            ))}
          </div>
        )}
      </Answered>
    </>
  );
}
