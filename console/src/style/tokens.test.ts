import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const CSS = readFileSync(new URL("tokens.css", import.meta.url), "utf8");
const THEMES = ["light", "dark"] as const;
const PLOTTED = ["plot-allow", "plot-monitor", "plot-challenge", "plot-block"] as const;
/** Colours that text has, with those that it stands on. */
const TEXT = ["text", "muted", "accent", "allow", "monitor", "challenge", "block", "good"] as const;
const GROUNDS = ["ground", "surface"] as const;
/** Red, green and blue as seen with a kind of colour blindness, of linear light (Machado 2009). */
const SIGHT = {
  full: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protan: [0.1523, 1.0526, -0.2049, 0.1145, 0.7863, 0.0992, -0.0039, -0.0481, 1.052],
  deutan: [0.3673, 0.8606, -0.228, 0.2801, 0.6725, 0.0474, -0.0118, 0.0429, 0.9689],
  tritan: [1.2555, -0.0767, -0.1788, -0.0784, 0.9308, 0.1476, 0.0047, 0.6914, 0.3039],
} as const;
/** A difference in CIELAB that is seen at a glance. */
const AT_A_GLANCE = 20;

type Three = [number, number, number];

function colour(name: string, theme: number): Three {
  const found = new RegExp(`--${name}: light-dark\\(#(\\w{6}), #(\\w{6})\\)`).exec(CSS);
  const hex = found?.[theme + 1] ?? "";
  return [0, 2, 4].map((at) => {
    const share = parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Three;
}

function contrast(one: Three, other: Three): number {
  const [low, high] = [one, other]
    .map(([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .sort((a, b) => a - b);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}

function times(matrix: readonly number[], of: Three): Three {
  return [0, 3, 6].map((row) =>
    of.reduce((sum, each, at) => sum + each * (matrix[row + at] ?? 0), 0),
  ) as Three;
}

/** A colour in CIELAB, for the white of a screen (D65). */
function lab(given: Three): Three {
  const light = given.map((each) => Math.min(1, Math.max(0, each))) as Three;
  const [x, y, z] = times(
    [0.4339, 0.3763, 0.19, 0.2126, 0.7152, 0.0722, 0.0177, 0.1095, 0.8729],
    light,
  ).map((each) => (each > 0.008856 ? Math.cbrt(each) : 7.787 * each + 16 / 116)) as Three;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test.each(THEMES)("text is read on each background of the %s theme", (theme) => {
  const at = THEMES.indexOf(theme);
  for (const name of TEXT)
    for (const ground of GROUNDS)
      expect(contrast(colour(name, at), colour(ground, at)), name).toBeGreaterThan(4.5);
});

test.each(THEMES)("plots stand out, and answers look different, in the %s theme", (theme) => {
  const at = THEMES.indexOf(theme);
  for (const [place, name] of PLOTTED.entries()) {
    expect(contrast(colour(name, at), colour("surface", at)), name).toBeGreaterThan(3);
    for (const other of PLOTTED.slice(place + 1))
      for (const [kind, matrix] of Object.entries(SIGHT)) {
        const [one, two] = [name, other].map((each) => lab(times(matrix, colour(each, at))));
        const apart = Math.hypot(...(one ?? []).map((each, axis) => each - (two?.[axis] ?? 0)));
        expect(apart, `${name}, ${other}, ${kind}`).toBeGreaterThan(AT_A_GLANCE);
      }
  }
});
