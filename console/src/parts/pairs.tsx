/** Details in two columns: name and value. */

import type { ComponentChildren } from "preact";

export function Pairs({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="pairs">
      {of.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
