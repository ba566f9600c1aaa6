/** Daemons, and the self-test of challenges. */

import { useQuery } from "@tanstack/preact-query";
import { api, body, page } from "../../api/client";
import { useTenant } from "../../frame/session";
import { Answered } from "../../parts/answer";
import { marked } from "../../parts/foreign";
import { Moment } from "../../parts/moment";
import { Listing, pageQuery } from "../../parts/table";
import { text } from "../../text/en";

const words = text.settings;

export function Daemons() {
  const { tenant_id } = useTenant();
  return (
    <Listing
      label={words.daemons}
      queryKey={["daemons", tenant_id]}
      ask={(cursor) =>
        page(
          api.GET("/api/v1/tenants/{tenant_id}/daemons", {
            params: { path: { tenant_id }, query: pageQuery(cursor) },
          }),
        )
      }
      columns={[
        { name: words.name, kind: "text", cell: (each) => marked(each.name) },
        { name: words.version, cell: (each) => marked(each.version) },
        { name: words.behind, kind: "number", cell: (each) => each.behind },
        { name: words.spooled, kind: "number", cell: (each) => each.spooled },
        { name: words.seen, cell: (each) => <Moment at={each.last_seen_at} /> },
      ]}
      keyOf={(each) => each.daemon_id}
      empty={<p>{words.noDaemons}</p>}
    />
  );
}

export function Challenges() {
  const { tenant_id } = useTenant();
  const tested = useQuery({
    queryKey: ["self-test", tenant_id],
    queryFn: () =>
      body(
        api.GET("/api/v1/tenants/{tenant_id}/challenge/self-test", {
          params: { path: { tenant_id } },
        }),
      ),
  });
  return (
    <Answered of={tested}>
      {(found) => (
        <>
          <p>{found.status === "green" ? words.reachable : words.unreachable}</p>
          <p>
            {words.address} <code>{marked(found.public_url)}</code>
          </p>
          <ul>
            {[...found.reasons, ...found.providers.flatMap((each) => each.reasons)].map((each) => (
              <li key={each}>{marked(each)}</li>
            ))}
          </ul>
        </>
      )}
    </Answered>
  );
}
