/** The verification of callbacks in your own service, and their signing in its tests. index.d.ts documents it. */

import { WebhookVerificationError } from "./errors.js";
import { parse } from "./json.js";
import { webCrypto } from "./platform.js";

const defaultToleranceMs = 7 * 24 * 3600 * 1000;
const maxAheadMs = 5 * 60 * 1000;
const schemaVersion = "service-webhook-v2";

export async function signWebhook(secret, timestamp, body) {
  const { subtle } = await webCrypto();
  const digest = new Uint8Array(await subtle.sign("HMAC", await hmacKey(subtle, secret, "sign"), signedPart(timestamp, bytesOf(body))));
  return `v1=${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export async function verifyWebhook(body, headers, { secrets, toleranceMs = defaultToleranceMs, now = Date.now } = {}) {
  const keys = typeof secrets === "string" ? [secrets] : [...(secrets ?? [])];
  if (keys.length === 0 || keys.some((secret) => typeof secret !== "string" || secret === "")) {
    throw failure("no_secret", "no signing secret, or an empty one"); // anybody could sign with an empty one
  }
  const bytes = bytesOf(body);
  const timestamp = header(headers, "X-Webhook-Timestamp");
  if (!(await isSigned(bytes, timestamp, header(headers, "X-Webhook-Signature"), keys))) {
    throw failure("signature", "the signature does not match");
  }
  const age = Number(now()) - parseTimestamp(timestamp);
  if (!(age <= toleranceMs && age >= -maxAheadMs)) {
    throw failure("timestamp", "the timestamp is outside the tolerance");
  }
  const event = parseEvent(bytes);
  if (header(headers, "X-Webhook-Delivery") !== event.id || header(headers, "X-Webhook-Event") !== event.event) {
    throw failure("mismatch", "headers and body name different events");
  }
  return event;
}

function failure(reason, message, options) {
  return new WebhookVerificationError(reason, message, options);
}

/** Returns a body as bytes. Those of a typed array are its own view, because a Buffer of Node.js is a part of a larger one. */
function bytesOf(body) {
  if (typeof body === "string") {
    return new TextEncoder().encode(body);
  }
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : new Uint8Array(body);
}

/** Returns what is signed: the timestamp, a dot and the body. */
function signedPart(timestamp, body) {
  const prefix = new TextEncoder().encode(`${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  return signed;
}

function hmacKey(subtle, secret, usage) {
  return subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [usage]);
}

/** Returns the header of a Headers object or of a plain one, whatever the case of its name, or "". A repeated header is none. */
function header(headers, name) {
  if (typeof headers.get === "function") {
    return headers.get(name) ?? "";
  }
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === name.toLowerCase());
  return found.length === 1 && typeof found[0][1] === "string" ? found[0][1] : "";
}

/** Compares with every secret, so that the time does not say which one matched. verify of WebCrypto takes constant time. */
async function isSigned(body, timestamp, signature, secrets) {
  const digest = /^v1=([0-9a-f]{64})$/.exec(signature)?.[1];
  const presented = Uint8Array.from((digest ?? "").match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  const signed = signedPart(timestamp, body);
  const { subtle } = await webCrypto();
  let good = false;
  for (const secret of secrets) {
    good = (await subtle.verify("HMAC", await hmacKey(subtle, secret, "verify"), presented, signed)) || good;
  }
  return good;
}

/** Returns the milliseconds of an RFC 3339 time with a zone, or NaN. */
function parseTimestamp(text) {
  const parts = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/.exec(text);
  if (parts === null) {
    return NaN;
  }
  const [year, month, day] = parts.slice(1, 4).map(Number);
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) {
    return NaN; // Date.parse takes February 30 for a day of March
  }
  return Date.parse(parts[5] ? text.replace(parts[5], parts[5].slice(0, 4)) : text);
}

function parseEvent(bytes) {
  let event;
  try {
    event = parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw failure("body", "the body is not JSON in UTF-8", { cause });
  }
  const texts = [event?.id, event?.event];
  if (event?.schema_version !== schemaVersion || !texts.every((text) => typeof text === "string" && text !== "")) {
    throw failure("body", "the body is not an event envelope");
  }
  return event;
}

export function once(handler, capacity = 1000) {
  const handled = new Set(); // in the order in which they were handled
  const running = new Map(); // from the identifier to the promise of the handler
  return async (event) => {
    if (handled.has(event.id)) {
      return;
    }
    let run = running.get(event.id);
    if (run === undefined) {
      run = Promise.resolve(event).then(handler).then(() => {
        handled.add(event.id);
        if (handled.size > Math.max(capacity, 1)) {
          handled.delete(handled.values().next().value);
        }
      }).finally(() => running.delete(event.id));
      running.set(event.id, run);
    }
    await run; // a duplicate that comes meanwhile gets the same result: confirming it earlier could lose the event
  };
}
