/** The table of pages, one line each. Each is a chunk that is loaded when it is first shown. */

import { lazy } from "preact-iso";
import type { FunctionComponent } from "preact";
import type { text } from "./text/en";

export interface PageRoute {
  /** Below the tenant, as in `/console/SLUG/decisions/:id`. */
  path: string;
  page: FunctionComponent;
  /** Its name in the navigation; a page without one is reached from another. */
  nav?: keyof typeof text.pages;
}

export const ROUTES: readonly PageRoute[] = [
  { path: "", page: lazy(() => import("./pages/overview/page")), nav: "overview" },
  { path: "decisions", page: lazy(() => import("./pages/decisions/page")), nav: "decisions" },
  { path: "decisions/:id", page: lazy(() => import("./pages/decision/page")) },
  { path: "policies", page: lazy(() => import("./pages/policies/page")), nav: "policies" },
  { path: "policies/:id", page: lazy(() => import("./pages/policy/page")) },
  { path: "actions", page: lazy(() => import("./pages/actions/page")), nav: "actions" },
  { path: "actions/:id", page: lazy(() => import("./pages/action/page")) },
  { path: "active", page: lazy(() => import("./pages/active/page")), nav: "active" },
  { path: "entities/:id", page: lazy(() => import("./pages/entity/page")) },
  { path: "replay", page: lazy(() => import("./pages/replay/page")), nav: "replay" },
  { path: "replay/:id", page: lazy(() => import("./pages/replay/job")) },
  { path: "catalog", page: lazy(() => import("./pages/catalog/page")), nav: "catalog" },
  { path: "audit", page: lazy(() => import("./pages/audit/page")), nav: "audit" },
  { path: "settings", page: lazy(() => import("./pages/settings/page")), nav: "settings" },
];
