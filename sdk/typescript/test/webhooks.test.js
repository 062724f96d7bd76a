// verifyWebhook returns an event only if the raw body and its timestamp are signed with one of the secrets and are not too old.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { once, signWebhook, verifyWebhook, WebhookVerificationError } from "../src/index.js";

const secret = "whsec_this-is-an-example-and-signs-nothing-at-all";
const timestamp = "2026-03-01T09:30:00.000000Z";
const at = Date.parse("2026-03-01T09:30:00Z");
const id = "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90";
const event = { schema_version: "service-webhook-v2", id, event: "einvoice.terminal", resource_type: "submission", payload: { invoice_id: "i" } };
const body = JSON.stringify(event);
const now = () => at;

function sign(text, { key = secret, time = timestamp } = {}) {
  return `v1=${createHmac("sha256", key).update(`${time}.`).update(text).digest("hex")}`;
}

function headersOf(text, { time = timestamp, ...options } = {}) {
  return {
    "x-webhook-event": event.event,
    "X-Webhook-Delivery": id,
    "X-WEBHOOK-TIMESTAMP": time,
    "X-Webhook-Signature": sign(text, { time, ...options }),
  };
}

async function fails(reason, promise) {
  await assert.rejects(promise, (error) => error instanceof WebhookVerificationError && error.reason === reason && !error.message.includes(secret));
}

test("the example of the guide", async () => {
  const example = '{"schema_version":"service-webhook-v2","id":"0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"}';
  const signature = "v1=bfa4070535a39003625f2b391408588ef11b7c72e6173dce9067717a5212454b";
  assert.equal(sign(example), signature);
  assert.equal(await signWebhook(secret, timestamp, example), signature);
  // It is signed correctly, but it is not a whole event.
  await fails("body", verifyWebhook(example, { ...headersOf(example), "X-Webhook-Signature": signature }, { secrets: secret, now }));
});

test("a callback in every form of body and headers", async () => {
  const bytes = new TextEncoder().encode(body);
  const part = Buffer.from(`before${body}after`).subarray(6, 6 + bytes.length);
  for (const form of [body, bytes, bytes.buffer, Buffer.from(body), part]) {
    assert.equal(await signWebhook(secret, timestamp, form), sign(body));
    for (const headers of [headersOf(body), new Headers(headersOf(body))]) {
      assert.deepEqual(await verifyWebhook(form, headers, { secrets: secret, now }), event);
    }
  }
});

test("during a rotation any of the secrets signs", async () => {
  for (const secrets of [[secret, "whsec_new"], ["whsec_new", secret]]) {
    assert.equal((await verifyWebhook(body, headersOf(body), { secrets, now })).id, id);
  }
  await fails("signature", verifyWebhook(body, headersOf(body), { secrets: ["whsec_new"], now }));
});

test("without a usable secret nothing is verified", async () => {
  for (const secrets of [undefined, [], "", [secret, ""], [undefined]]) {
    await fails("no_secret", verifyWebhook(body, headersOf(body), { secrets, now }));
  }
});

test("a change of any byte is detected", async () => {
  for (let n = 0; n < body.length; n++) {
    const changed = body.slice(0, n) + String.fromCharCode(body.charCodeAt(n) ^ 1) + body.slice(n + 1);
    await fails("signature", verifyWebhook(changed, headersOf(body), { secrets: secret, now }));
  }
  const signature = sign(body);
  for (const wrong of ["", "v1=", signature.slice(0, -2), `${signature}00`, signature.toUpperCase(), signature.slice(3), `v1= ${signature.slice(3)}`]) {
    await fails("signature", verifyWebhook(body, { ...headersOf(body), "X-Webhook-Signature": wrong }, { secrets: secret, now }));
  }
  await fails("signature", verifyWebhook(body, { ...headersOf(body), "X-WEBHOOK-TIMESTAMP": "2026-03-01T09:30:00.000001Z" }, { secrets: secret, now }));
  await fails("signature", verifyWebhook(body, {}, { secrets: secret, now }));
});

test("the tolerance for the age", async () => {
  const day = 24 * 3600 * 1000;
  const verify = (ahead, options) => verifyWebhook(body, headersOf(body), { secrets: secret, now: () => new Date(at + ahead), ...options });
  assert.equal((await verify(7 * day)).id, id);
  assert.equal((await verify(-5 * 60 * 1000)).id, id);
  assert.equal((await verify(1000, { toleranceMs: 1000 })).id, id);
  await fails("timestamp", verify(7 * day + 1));
  await fails("timestamp", verify(-5 * 60 * 1000 - 1));
  await fails("timestamp", verify(1001, { toleranceMs: 1000 }));
  for (const time of ["", "2026-03-01", "2026-03-01T09:30:00", "2026-02-30T09:30:00Z", "1772357400", "2026-03-01T24:00:00Z"]) {
    await fails("timestamp", verifyWebhook(body, headersOf(body, { time }), { secrets: secret, now: () => Date.parse("2026-03-02T09:30:00Z") }));
  }
  assert.equal((await verifyWebhook(body, headersOf(body, { time: "2026-03-01T13:30:00+04:00" }), { secrets: secret, now })).id, id);
});

test("a signed body that is no event, and headers of another event", async () => {
  for (const text of ["null", "[]", "{}", "{", body.replace("v2", "v3"), body.replace(id, ""), "\ufeff" + body]) {
    await fails("body", verifyWebhook(text, headersOf(text), { secrets: secret, now }));
  }
  const notText = Buffer.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')]);
  await fails("body", verifyWebhook(notText, headersOf(notText), { secrets: secret, now }));
  await fails("mismatch", verifyWebhook(body, { ...headersOf(body), "X-Webhook-Delivery": "other" }, { secrets: secret, now }));
  await fails("mismatch", verifyWebhook(body, { ...headersOf(body), "x-webhook-event": "other" }, { secrets: secret, now }));
});

test("once handles each event once, and a failed one again", async () => {
  const handled = [];
  let failing = true;
  const handler = once(({ id: one }) => {
    handled.push(one);
    if (failing) {
      throw new Error("out of order");
    }
  }, 2);
  await assert.rejects(handler({ id: "a" }), /out of order/);
  failing = false;
  for (const one of ["a", "a", "b", "a", "c", "b", "a"]) {
    await handler({ id: one });
  }
  assert.deepEqual(handled, ["a", "a", "b", "c", "a"]); // c drove a out, as the capacity says
});

test("a duplicate that comes meanwhile shares the result", async () => {
  let finish;
  let calls = 0;
  const handler = once(() => {
    calls++;
    return new Promise((_, reject) => {
      finish = reject;
    });
  });
  const both = [handler({ id: "a" }), handler({ id: "a" })].map((one) => assert.rejects(one, /lost/));
  await Promise.resolve();
  finish(new Error("lost"));
  await Promise.all(both);
  assert.equal(calls, 1);
});
