/** What a role may not do is shown, disabled, with the reason: so everybody learns what exists. */

import type { ComponentChildren, JSX } from "preact";
import { text } from "../text/en";
import { hasRole, useTenant, type Role } from "./session";

/** Why the operator may not do what a role is needed for; null when the operator may. */
export function useRefusal(needs: Role): string | null {
  const { role } = useTenant();
  return hasRole(role, needs) ? null : text.roles.needs[needs];
}

/** A button for those who have a role. */
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

/** A page that a role may not read. */
export function Refused({ needs }: { needs: Role }) {
  const { role } = useTenant();
  return (
    <p class="refused">
      {text.roles.needs[needs]} {text.roles.yours} {role}.
    </p>
  );
}
