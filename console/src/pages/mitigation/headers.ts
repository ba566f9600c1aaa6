/** Response headers as text, one `name: value` per line. */

export function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** The headers in a text; lines without a colon are skipped. */
export function headersOf(lines: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines.split("\n")) {
    const [name, ...rest] = line.split(":");
    if (name?.trim() && rest.length > 0) headers[name.trim()] = rest.join(":").trim();
  }
  return headers;
}
