/** Controls that a role may not use are disabled, with the reason, so that everybody sees them. */

import type { ComponentChildren, JSX } from "preact";
import { text } from "../text/en";
import { hasRole, useTenant, type Role } from "./session";

/** The reason why the operator lacks a required role; null if the operator has it. */
export function useRefusal(needs: Role): string | null {
  const { role } = useTenant();
  return hasRole(role, needs) ? null : text.roles.needs[needs];
}

/** A button that requires a role. */
export function RoleButton(
  props: {
    needs: Role;
    isBusy?: boolean;
    children: ComponentChildren;
  } & Pick<JSX.IntrinsicElements["button"], "onClick" | "class" | "type">,
) {
  const { needs, isBusy = false, children, ...rest } = props;
  const refusal = useRefusal(needs);
  return (
    <button
      type="button"
      {...rest}
      disabled={refusal !== null || isBusy}
      {...(refusal === null ? {} : { title: refusal })}
    >
      {children}
    </button>
  );
}

/** A page that the operator's role may not read. */
export function Refused({ needs }: { needs: Role }) {
  const { role } = useTenant();
  return (
    <p class="refused">
      {text.roles.needs[needs]} {text.roles.yours} {role}.
    </p>
  );
}
