/** The table of pages, one line each. Each is a chunk that is loaded when it is first shown. */

import { lazy } from "preact-iso";
import type { FunctionComponent } from "preact";

export interface PageRoute {
  /** Below the tenant, as in `/console/SLUG/decisions/:id`. */
  path: string;
  /** Its place in the navigation; a page without one is reached from another. */
  nav?: "overview" | "decisions" | "policies";
  page: FunctionComponent;
}

export const ROUTES: readonly PageRoute[] = [
  { path: "", nav: "overview", page: lazy(() => import("./pages/overview/page")) },
  { path: "decisions", nav: "decisions", page: lazy(() => import("./pages/decisions/page")) },
  { path: "decisions/:id", page: lazy(() => import("./pages/decision/page")) },
  { path: "policies", nav: "policies", page: lazy(() => import("./pages/policies/page")) },
];
