/** The table of pages, one line each. Each page is a chunk that is loaded when first shown. */

import { lazy } from "preact-iso";
import type { FunctionComponent } from "preact";
import type { Role } from "./frame/session";
import type { text } from "./text/en";

export interface PageRoute {
  /** Below the tenant, as in `/console/SLUG/decisions/:id`. */
  path: string;
  page: FunctionComponent;
  /** Its name in the navigation; pages without one are linked from other pages. */
  nav?: keyof typeof text.pages;
  /** The role that its calls require, if Viewer isn't enough. */
  needs?: Role;
}

export const ROUTES: readonly PageRoute[] = [
  { path: "", page: lazy(() => import("./pages/overview/page")), nav: "overview" },
  {
    path: "traffic",
    page: lazy(() => import("./pages/traffic/page")),
    nav: "traffic",
    needs: "Analyst",
  },
  {
    path: "decisions",
    page: lazy(() => import("./pages/decisions/page")),
    nav: "decisions",
    needs: "Analyst",
  },
  { path: "decisions/:id", page: lazy(() => import("./pages/decision/page")), needs: "Analyst" },
  {
    path: "active",
    page: lazy(() => import("./pages/active/page")),
    nav: "active",
    needs: "Analyst",
  },
  {
    path: "overrides",
    page: lazy(() => import("./pages/overrides/page")),
    nav: "overrides",
  },
  {
    path: "alerts",
    page: lazy(() => import("./pages/alerts/page")),
    nav: "alerts",
    needs: "Admin",
  },
  {
    path: "entities",
    page: lazy(() => import("./pages/entities/page")),
    nav: "entities",
    needs: "Analyst",
  },
  { path: "entities/:id", page: lazy(() => import("./pages/entity/page")), needs: "Analyst" },
  {
    path: "agents",
    page: lazy(() => import("./pages/agents/page")),
    nav: "agents",
    needs: "Analyst",
  },
  { path: "policies", page: lazy(() => import("./pages/policies/page")), nav: "policies" },
  { path: "policies/:id", page: lazy(() => import("./pages/policy/page")) },
  { path: "policies/:id/results", page: lazy(() => import("./pages/policy-results/page")) },
  { path: "policies/:id/versions", page: lazy(() => import("./pages/versions/page")) },
  { path: "actions", page: lazy(() => import("./pages/actions/page")), nav: "actions" },
  { path: "actions/:id", page: lazy(() => import("./pages/action/page")) },
  { path: "mitigations", page: lazy(() => import("./pages/mitigations/page")), nav: "mitigations" },
  { path: "mitigations/:id", page: lazy(() => import("./pages/mitigation/page")) },
  { path: "lists", page: lazy(() => import("./pages/lists/page")), nav: "lists" },
  { path: "lists/:id", page: lazy(() => import("./pages/list/page")) },
  {
    path: "entity-definitions",
    page: lazy(() => import("./pages/entity-definitions/page")),
    nav: "entityDefinitions",
  },
  { path: "entity-definitions/:id", page: lazy(() => import("./pages/entity-definition/page")) },
  { path: "packs", page: lazy(() => import("./pages/packs/page")), nav: "packs" },
  { path: "packs/:id", page: lazy(() => import("./pages/pack/page")) },
  { path: "catalog", page: lazy(() => import("./pages/catalog/page")), nav: "catalog" },
  {
    path: "replay",
    page: lazy(() => import("./pages/replay/page")),
    nav: "replay",
    needs: "Analyst",
  },
  { path: "replay/:id", page: lazy(() => import("./pages/replay/job")), needs: "Analyst" },
  { path: "audit", page: lazy(() => import("./pages/audit/page")), nav: "audit", needs: "Analyst" },
  {
    path: "settings",
    page: lazy(() => import("./pages/settings/page")),
    nav: "settings",
    needs: "Admin",
  },
];
