/** A user agent in few words, such as "Chrome 156 · Linux". */

/** The product tokens of clients that name others, too; the first one found is the client. */
const CLIENTS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS)?\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\bSamsungBrowser\/(\d+)/, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\bHeadlessChrome\/(\d+)/, "Headless Chrome"],
  [/\b(?:Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+)[^ ]* .*Safari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];
/** A robot names itself in the comment, as in `(compatible; Googlebot/2.1; …)`. */
const ROBOT = /\(compatible; ([\w.-]{2,40})\/?(\d*)/;
/** Any other client: its first product. */
const PRODUCT = /^([^\s/()]{1,40})(?:\/v?(\d+(?:\.\d+)?))?/;
const MOST = 40;

export function agentOf(userAgent: string): string {
  const robot = ROBOT.exec(userAgent);
  if (robot) return [robot[1], robot[2]].filter(Boolean).join(" ");
  for (const [pattern, name] of CLIENTS) {
    const found = pattern.exec(userAgent);
    if (found) {
      const system = SYSTEMS.find(([each]) => each.test(userAgent))?.[1];
      return [`${name} ${found[1] ?? ""}`, system].filter(Boolean).join(" · ");
    }
  }
  const product = PRODUCT.exec(userAgent);
  return product ? [product[1], product[2]].filter(Boolean).join(" ") : userAgent.slice(0, MOST);
}
