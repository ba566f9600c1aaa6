/** Untrusted text. It is always a text node; characters that would change how the surrounding text
 * reads are shown as marks. */

const ODD =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export function marked(text: string): string {
  return text.replace(ODD, (odd) => `␦${odd.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text of a finding, with how to mend it. */
export function hinted(message: string, hint?: string | null): string {
  return marked(hint ? `${message}: ${hint}` : message);
}

export function Foreign({ text }: { text: string }) {
  return <bdi class="mono">{marked(text)}</bdi>;
}
