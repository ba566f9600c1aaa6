import { expect, test } from "vitest";
import { agentOf } from "./agent";

const KIT = "AppleWebKit/537.36 (KHTML, like Gecko)";

test.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${KIT} Chrome/156.0.0.0 Safari/537.36`, "Chrome 156 · Linux"],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64) ${KIT} Chrome/156.0 Safari/537.36 Edg/156.0`,
    "Edge 156 · Windows",
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.1 Mobile/1 Safari/604.1",
    "Safari 19 · iPhone",
  ],
  ["Mozilla/5.0 (Macintosh; Mac OS X 15) Gecko/20100101 Firefox/140.0", "Firefox 140 · macOS"],
])("a browser is named with its version and its system: %s", (given, said) => {
  expect(agentOf(given)).toBe(said);
});

test("a robot is named as it names itself", () => {
  expect(agentOf("Mozilla/5.0 (compatible; Googlebot/2.1; +http://google.com/bot.html)")).toBe(
    "Googlebot 2",
  );
});

test("any other client is named by its first product", () => {
  expect(agentOf("curl/8.5.0")).toBe("curl 8.5");
  expect(agentOf("python-requests/2.32.1 extra")).toBe("python-requests 2.32");
  expect(agentOf("")).toBe("");
  expect(agentOf("(nothing)")).toBe("(nothing)");
});
