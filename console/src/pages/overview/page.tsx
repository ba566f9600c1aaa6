/** The overview: is it working, and what changed? */

import { hasRole, useTenant } from "../../frame/session";
import { text } from "../../text/en";
import { ByPolicy } from "./by-policy";
import { Changes } from "./changes";
import { Health } from "./health";
import { Tiles } from "./tiles";
import { Timeline } from "./timeline";
import { TopEntities, TopValues } from "./top";

const words = text.overview;

export default function OverviewPage() {
  const tenant = useTenant();
  const isAnalyst = hasRole(tenant.role, "Analyst");
  return (
    <>
      <h1>{text.pages.overview}</h1>
      <Tiles />
      <section class="card" aria-labelledby="counts">
        <h2 id="counts">{words.overTime}</h2>
        <Timeline />
      </section>
      <div class="columns">
        <div>
          <section class="card" aria-labelledby="by-policy">
            <h2 id="by-policy">{words.policies}</h2>
            <ByPolicy />
          </section>
          {isAnalyst && <TopEntities />}
        </div>
        {isAnalyst && (
          <div>
            <TopValues />
            <section class="card" aria-labelledby="changes">
              <h2 id="changes">{words.changes}</h2>
              <Changes />
            </section>
            <Health />
          </div>
        )}
      </div>
    </>
  );
}
