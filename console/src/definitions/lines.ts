/** Texts by name, such as headers and labels, as one `name: value` per line. */

export type Named = Record<string, string>;

export function linesOf(named: Readonly<Named>): string {
  return Object.entries(named)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** Whether lines keep these texts as they are: none has several lines, or blanks at its ends. */
export function fitsLines(named: Readonly<Named>): boolean {
  return JSON.stringify(namedOf(linesOf(named))) === JSON.stringify(named);
}

/** The texts by name in lines; lines without a colon are skipped. */
export function namedOf(lines: string): Named {
  const named: Named = {};
  for (const line of lines.split("\n")) {
    const [name, ...rest] = line.split(":");
    if (name?.trim() && rest.length > 0) named[name.trim()] = rest.join(":").trim();
  }
  return named;
}
