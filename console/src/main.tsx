/** The console's entry point: its routes, and the view before login. */

import { QueryClientProvider } from "@tanstack/preact-query";
import { render, type FunctionComponent } from "preact";
import { ErrorBoundary, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect, useMemo } from "preact/hooks";
import { queries } from "./api/client";
import { logIn, restoreFragment, takeFromHash, token } from "./api/token";
import { followAddress } from "./frame/place";
import { Refused } from "./frame/role";
import { hasRole, TenantProvider, useMe, type Me, type Role } from "./frame/session";
import { Shell } from "./frame/shell";
import "./frame/theme";
import { Answered } from "./parts/answer";
import { ROUTES, type PageRoute } from "./routes";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import { text } from "./text/en";

function Console() {
  const { url } = useLocation();
  // Before the page is rendered, since it may read the address.
  useMemo(followAddress, [url]);
  const isOut = token.value === null;
  useEffect(() => {
    if (isOut) logIn();
  }, [isOut]);
  return isOut ? <p>{text.login.ended}</p> : <Entered />;
}

function Entered() {
  const me = useMe();
  return <Answered of={me}>{(found) => <OfTenant me={found} />}</Answered>;
}

function OfTenant({ me }: { me: Me }) {
  const { path, route } = useLocation();
  const slug = path.split("/")[2] ?? "";
  const tenant = me.memberships.find((each) => each.slug === slug);
  const first = me.memberships[0];
  useEffect(() => {
    if (!tenant && first) route(`/console/${first.slug}/`, true);
  }, [tenant, first, route]);
  if (!first)
    return (
      <main>
        <p>{text.frame.noTenant}</p>
      </main>
    );
  if (!tenant) return null;
  const base = `/console/${tenant.slug}/`;
  return (
    <TenantProvider value={tenant}>
      <Shell me={me} tenant={tenant}>
        <Router>
          {ROUTES.map((each) => (
            <Route path={base + each.path} component={pageFor(each, tenant.role)} />
          ))}
          <Route default component={NotFound} />
        </Router>
      </Shell>
    </TenantProvider>
  );
}

/** The page, or the reason why the role may not see it. */
function pageFor({ page, needs }: PageRoute, role: Role): FunctionComponent {
  if (needs === undefined || hasRole(role, needs)) return page;
  return () => <Refused needs={needs} />;
}

function NotFound() {
  return (
    <p>
      {text.frame.notFound} <a href="/console/">{text.frame.home}</a>
    </p>
  );
}

takeFromHash();
if (token.value !== null) restoreFragment();
const root = document.getElementById("root");
if (root) {
  render(
    <QueryClientProvider client={queries}>
      <LocationProvider scope="/console">
        <ErrorBoundary>
          <Console />
        </ErrorBoundary>
      </LocationProvider>
    </QueryClientProvider>,
    root,
  );
}
