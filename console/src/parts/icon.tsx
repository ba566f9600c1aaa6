/** An icon of the sheet of icons; its text stands next to it. */

import sheet from "../style/icons.svg";

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" aria-hidden="true">
      <use href={`${sheet}#${name}`} />
    </svg>
  );
}
