/** The logged-in operator, and the tenant that the console shows. */

import { useQuery } from "@tanstack/preact-query";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api, body, type Schemas } from "../api/client";
import { token } from "../api/token";

export type Me = Schemas["Me"];
export type Membership = Schemas["MyMembership"];
export type Role = Membership["role"];

export function useMe() {
  return useQuery({
    queryKey: ["me", token.value],
    queryFn: () => body(api.GET("/api/v1/me")),
    enabled: token.value !== null,
    staleTime: 60_000,
  });
}

const Chosen = createContext<Membership | null>(null);
export const TenantProvider = Chosen.Provider;

/** The tenant of the page; every page has one. */
export function useTenant(): Membership {
  const chosen = useContext(Chosen);
  if (chosen === null) throw new Error("a page stands outside of its tenant");
  return chosen;
}

const ORDER: readonly Role[] = ["Viewer", "Analyst", "Admin", "Owner"];

/** Whether a role includes another one. */
export function hasRole(role: Role, wanted: Role): boolean {
  return ORDER.indexOf(role) >= ORDER.indexOf(wanted);
}
