/** The three pages of a policy: its form, its results, its versions. */

import { useLocation } from "preact-iso";
import { text } from "../text/en";
import { useTenant } from "../frame/session";

const PAGES = [
  ["", text.policy.edit],
  ["/results", text.policy.results],
  ["/versions", text.policy.versions],
] as const;

export function PolicyTabs({ id }: { id: string }) {
  const { path } = useLocation();
  const { slug } = useTenant();
  const base = `/console/${slug}/policies/${id}`;
  return (
    <nav class="tabs" aria-label={text.policy.pages}>
      {PAGES.map(([below, name]) => (
        <a
          href={base + below}
          key={below}
          {...(path === base + below ? { "aria-current": "page" as const } : {})}
        >
          {name}
        </a>
      ))}
      <a href={`/console/${slug}/replay#policy=${id}`}>{text.policy.replay}</a>
    </nav>
  );
}
