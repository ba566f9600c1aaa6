import { expect, test } from "vitest";
import { readExact } from "./exact";

const CAN = "rawJSON" in JSON;

test.runIf(CAN)("numbers are shown as they were written", () => {
  const text = '{"a":1e999,"b":-0,"c":1.50,"d":123456789012345678901234567890,"e":[1,"1e999"]}';
  expect(JSON.stringify(readExact(text))).toBe(text);
});

test("numbers that JavaScript writes alike stay numbers", () => {
  expect(readExact('{"a":1,"b":[2.5]}')).toEqual({ a: 1, b: [2.5] });
});
