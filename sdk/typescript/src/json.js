/**
 * JSON without loss. JSON.parse converts each number to a binary floating-point number, which most amounts are not, and loses the
 * scale of 1050.00. parse returns decimals as the text of the response instead.
 */

import { decimalFields } from "./decimals.js";
import { ConfigurationError } from "./errors.js";

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const space = /[ \t\n\r]*/y;
const none = new Set();
const maxDepth = 64;

/**
 * Parses a JSON text (RFC 8259). A number in a decimal field is a string with its exact text. So is a number that a JavaScript number
 * cannot represent or that has a fraction, except a measured time, whose field ends in _ms.
 */
export function parse(text) {
  const reader = new Reader(text);
  const value = reader.value("", decimalFields, 0);
  reader.skip();
  if (reader.at < text.length) {
    throw reader.error();
  }
  return value;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  error() {
    return new SyntaxError(`invalid JSON at offset ${this.at}`);
  }

  skip() {
    space.lastIndex = this.at;
    space.test(this.text);
    this.at = space.lastIndex;
  }

  /** Reads the next character if it is the wanted one. */
  next(wanted) {
    this.skip();
    if (this.text[this.at] !== wanted) {
      return false;
    }
    this.at++;
    return true;
  }

  need(wanted) {
    if (!this.next(wanted)) {
      throw this.error();
    }
  }

  /** Reads a value that has this name in its object, or whose array has it. */
  value(name, decimals, depth) {
    if (depth > maxDepth) {
      throw this.error();
    }
    if (this.next("{")) {
      return this.object(decimals, depth);
    }
    if (this.next("[")) {
      return this.array(name, decimals, depth);
    }
    if (this.text[this.at] === '"') {
      return this.string();
    }
    for (const [word, value] of [["null", null], ["true", true], ["false", false]]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number(name, decimals);
  }

  object(decimals, depth) {
    const members = {};
    if (this.next("}")) {
      return members;
    }
    do {
      this.skip();
      const name = this.string();
      this.need(":");
      // The position of a page has a total too, of entries.
      const value = this.value(name, name === "pagination" ? none : decimals, depth + 1);
      // An assignment would change the prototype of the object if the name is __proto__.
      Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true });
    } while (this.next(","));
    this.need("}");
    return members;
  }

  array(name, decimals, depth) {
    const entries = [];
    if (this.next("]")) {
      return entries;
    }
    do {
      entries.push(this.value(name, decimals, depth + 1));
    } while (this.next(","));
    this.need("]");
    return entries;
  }

  string() {
    const start = this.at;
    if (this.text[start] !== '"') {
      throw this.error();
    }
    for (;;) {
      this.at = this.text.indexOf('"', this.at + 1);
      if (this.at < 0) {
        this.at = this.text.length;
        throw this.error();
      }
      let backslashes = 0;
      while (this.text[this.at - 1 - backslashes] === "\\") {
        backslashes++;
      }
      if (backslashes % 2 === 0) {
        this.at++;
        return JSON.parse(this.text.slice(start, this.at));
      }
    }
  }

  number(name, decimals) {
    number.lastIndex = this.at;
    const found = number.exec(this.text)?.[0];
    if (found === undefined) {
      throw this.error();
    }
    this.at += found.length;
    if (decimals.has(name)) {
      return found;
    }
    const value = Number(found);
    return Number.isSafeInteger(value) || name.endsWith("_ms") ? value : found;
  }
}

/**
 * Writes a value as JSON. A number that is not a safe integer is an error, because it cannot have come from an exact amount; amounts are
 * strings, which the service reads as exact decimals.
 */
export function stringify(value) {
  return JSON.stringify(value, (name, member) => {
    if (typeof member === "number" && !Number.isSafeInteger(member)) {
      throw new ConfigurationError(`${name}: ${member} is a binary floating-point number; write an amount as a string, such as "1050.00"`);
    }
    return typeof member === "bigint" ? String(member) : member;
  });
}
