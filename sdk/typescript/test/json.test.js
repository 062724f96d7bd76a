// Amounts are exact: no decimal passes through a binary floating-point number.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigurationError } from "../src/index.js";
import { parse, stringify } from "../src/json.js";

// The seeds are fixed, so that a failure can be repeated.
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

// A decimal that the API allows: at most 18 digits, at most 6 of them after the point.
function decimal(next) {
  const digits = 1 + Math.floor(next() * 18);
  const scale = Math.min(Math.floor(next() * 7), digits - 1);
  let whole = Array.from({ length: digits - scale }, () => Math.floor(next() * 10)).join("").replace(/^0+(?=\d)/, "");
  const fraction = Array.from({ length: scale }, () => Math.floor(next() * 10)).join("");
  if (next() < 0.2) {
    whole = `-${whole}`;
  }
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

test("every decimal keeps its text", () => {
  const next = random(1);
  for (let n = 0; n < 20_000; n++) {
    const text = decimal(next);
    const read = parse(`{"data":{"items":[{"net_unit_price": ${text} ,"quantity":${text}}],"total_amount":${text}}}`);
    assert.deepEqual(read.data, { items: [{ net_unit_price: text, quantity: text }], total_amount: text });
    assert.equal(stringify({ total_amount: text }), `{"total_amount":"${text}"}`);
  }
});

test("amounts that a binary floating-point number cannot hold", () => {
  for (const text of ["1050.00", "0.1", "0.30", "999999999999.999999", "123456789012345678", "-0.000001", "10", "0", "1e2"]) {
    assert.equal(parse(`{"total_amount":${text}}`).total_amount, text);
  }
});

test("integers are numbers, also the total of a page, and so are measured times", () => {
  const read = parse('{"data":[{"total":1.50}],"pagination":{"total":40,"per_page":25},"revision":2,"duration_ms":1.25,"later_field":0.10}');
  assert.deepEqual(read, { data: [{ total: "1.50" }], pagination: { total: 40, per_page: 25 }, revision: 2, duration_ms: 1.25, later_field: "0.10" });
});

test("any JSON without numbers is read as JSON.parse does", () => {
  const next = random(2);
  const value = (depth) => {
    const kind = Math.floor(next() * (depth > 4 ? 4 : 6));
    const text = () => Array.from({ length: Math.floor(next() * 6) }, () => String.fromCharCode(Math.floor(next() * 0xffff))).join("") + '\\"\u0000é'.slice(0, Math.floor(next() * 5));
    switch (kind) {
      case 0: return null;
      case 1: return next() < 0.5;
      case 2: case 3: return text();
      case 4: return Array.from({ length: Math.floor(next() * 4) }, () => value(depth + 1));
      default: return Object.fromEntries(Array.from({ length: Math.floor(next() * 4) }, () => [text(), value(depth + 1)]));
    }
  };
  for (let n = 0; n < 3_000; n++) {
    const one = value(0);
    for (const space of [0, 2]) {
      assert.deepEqual(parse(JSON.stringify(one, null, space)), one);
    }
  }
});

test("what is not JSON is refused", () => {
  for (const text of ["", " ", "{", "[1,]", '{"a":1,}', "{a:1}", "01", "1.", ".5", "+1", "-", "1e", "NaN", "tru", "'a'", '"\n"', '"\\x"', '"abc', '"abc\\"', "1 2", "\ufeff{}", "[".repeat(100) + "]".repeat(100)]) {
    assert.throws(() => parse(text), SyntaxError, JSON.stringify(text));
  }
});

test("a member called __proto__ is a member", () => {
  const read = parse('{"__proto__":{"polluted":true}}');
  assert.equal(read.polluted, undefined);
  assert.deepEqual(Object.keys(read), ["__proto__"]);
});

test("a fraction as a number is refused before it is sent", () => {
  for (const amount of [0.1, 0.1 + 0.2, NaN, Infinity, 2 ** 60]) {
    assert.throws(() => stringify({ items: [{ quantity: amount }] }), ConfigurationError);
  }
  assert.equal(stringify({ position: 3, quantity: 12n, note: null }), '{"position":3,"quantity":"12","note":null}');
});
