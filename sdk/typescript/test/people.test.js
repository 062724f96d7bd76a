// People and keys, logins, and files, against a running sandbox. What is sent twice is tested without a service.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import * as sdk from "../src/index.js";
import { all, draft, login, quittance } from "./sandbox.js";

/** Returns the code that an authenticator app shows now (RFC 6238). */
function code(secret) {
  const bits = Array.from(secret, (letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac("sha1", key).update(step).digest();
  return String((digest.readUInt32BE(digest.at(-1) & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

test("users and invitations", async () => {
  const owner = (await all(quittance.users.list({ per_page: 1 }))).find(({ email }) => email === login.email);
  await assert.rejects(quittance.users.update(owner.id, { role: "viewer" }), sdk.ValidationError); // the last owner
  await assert.rejects(quittance.users.resetSecondFactor(owner.id), sdk.PermissionDeniedError); // a colleague does it
  const options = { idempotencyKey: `ann-${Date.now()}` };
  const person = { email: `ann-${Date.now()}@palm.example`, role: "viewer" };
  const made = await quittance.invitations.create(person, options);
  assert.match(made.url, /\/join#/);
  await assert.rejects(quittance.invitations.create(person, options), (error) => error instanceof sdk.LinkLostError && error.invitation.id === made.id);
  assert.ok((await all(quittance.invitations.list({ per_page: 1 }))).some(({ id }) => id === made.id));
  assert.equal((await quittance.invitations.revoke(made.id)).email, made.email);
  assert.ok(!(await all(quittance.invitations.list())).some(({ id }) => id === made.id));
});

test("API keys", async () => {
  const options = { idempotencyKey: `erp-${Date.now()}` };
  const made = await quittance.apiKeys.create({ name: "ERP", scopes: ["read"] }, options);
  await assert.rejects(quittance.apiKeys.create({ name: "ERP", scopes: ["read"] }, options), (error) => error instanceof sdk.KeyLostError && error.apiKey.id === made.id);
  const machine = new sdk.Quittance({ baseUrl: login.baseUrl, apiKey: made.key });
  await machine.account.get();
  await assert.rejects(machine.apiKeys.list().page(), sdk.PermissionDeniedError);
  assert.ok((await all(quittance.apiKeys.list({ per_page: 2 }))).some(({ id, key }) => id === made.id && key === undefined));
  assert.equal((await quittance.apiKeys.revoke(made.id)).state, "revoked");
  await assert.rejects(machine.account.get(), sdk.AuthenticationError);
});

test("sessions, passwords and the second factor of a user", async () => {
  const user = new sdk.Quittance(login);
  const first = await user.login();
  assert.equal(first.user.email, login.email);
  assert.notEqual((await user.login()).token, first.token);
  const current = (await all(user.sessions.list({ per_page: 1 }))).find((session) => session.current);
  assert.notEqual((await user.sessions.end(current.id)).ended_at, null);
  await user.account.get(); // logs in again
  assert.ok((await user.sessions.endOthers()).ended >= 1);
  assert.equal((await all(user.sessions.list())).length, 1);

  const password = "another horse battery staple";
  await user.changePassword(password);
  const { secret } = await user.secondFactor.beginTotp();
  const { recovery_codes: replaced } = await user.secondFactor.confirmTotp(code(secret));
  const { recovery_codes: codes } = await user.secondFactor.replaceRecoveryCodes(replaced[0]);
  assert.deepEqual([(await user.secondFactor.get()).enrolled, codes.length], [true, 10]);
  const other = new sdk.Quittance({ ...login, password, otp: () => codes.pop() });
  await other.account.get();
  await other.logout();
  assert.equal((await user.secondFactor.disableTotp(codes.pop())).disabled, true);
  await user.changePassword(login.password);
  await user.logout();
  await user.account.get();
});

test("the audit log, evidence and recipients", async () => {
  const { id } = await quittance.invoices.create(draft());
  await quittance.invoices.submitAndWait(id);
  const entries = await all(quittance.audit.list({ subject_id: id, from: new Date(Date.now() - 3600_000), per_page: 1 }));
  assert.ok(entries.length > 1 && entries.at(-1).act === "draft.create");
  assert.deepEqual(await all(quittance.audit.list({ subject_id: id, to: new Date(Date.now() - 3600_000) })), []);
  const [evidence] = await all(quittance.invoices.evidence(id));
  assert.equal((await quittance.evidence.get(evidence.id)).sha256, evidence.sha256);
  assert.ok("found" in (await quittance.recipients.lookup({ scheme: "0235", id: "1234567890" })));
});

test("files", async () => {
  const number = draft().invoice_number;
  const file = (date) => `invoice_number,recipient_name,currency,issue_date,total_amount,name,quantity,net_unit_price\n${number},Palm,AED,${date},105.00,Work,1,100.00\n`;
  const { valid, faults } = await quittance.invoices.checkImport(file("2026-02-30"));
  assert.deepEqual([valid, faults[0].column], [false, "issue_date"]);
  await assert.rejects(quittance.invoices.importFile(file("2026-02-30")), (error) => error instanceof sdk.ValidationError && "rows[2].issue_date" in error.details);
  const { invoices, totals } = await quittance.invoices.importFile(new TextEncoder().encode(file("2026-03-01")));
  assert.deepEqual([invoices[0].invoice_number, totals[0].total_amount], [number, "105.00"]);
  const rows = new TextDecoder().decode(await quittance.invoices.export("csv", { invoice_number: number, submitted: false }));
  assert.deepEqual([rows.split("\r\n").length, rows.includes(invoices[0].id)], [3, true]);
  const items = await quittance.invoices.export("xlsx", { rows: "items", invoice_number: number });
  assert.equal((await quittance.invoices.checkImport(items)).used_numbers, 1);
  assert.deepEqual((await quittance.invoices.checkImport(items, { sheet: "none" })).faults.map(({ rule }) => rule), ["file_sheet"]);
  assert.match(new TextDecoder().decode(await quittance.creditNotes.export("csv", { issue_date_from: "2026-01-01" })), /credit_note_number/);
  assert.match(new TextDecoder().decode(await quittance.incoming.export("csv", { updated_since: new Date(0) })), /supplier_name/);
  for (const wrong of [undefined, null, {}, new ArrayBuffer(2)]) {
    await assert.rejects(quittance.invoices.importFile(wrong), sdk.ConfigurationError);
  }
});

/** Returns a client whose calls fail after their login, and the list of their requests. */
function offline(options = {}) {
  const requests = [];
  const fetch = async (url, { method, headers, body }) => {
    if (url.endsWith("/auth/login")) {
      return Response.json({ data: { token: "token-1" } });
    }
    requests.push([method, new URL(url).pathname.split("/client/")[1], headers["Idempotency-Key"] !== undefined, body]);
    throw new Error("no connection");
  };
  return [new sdk.Quittance({ baseUrl: "http://127.0.0.1:1", email: "a@example.com", password: "old", maxRetries: 1, fetch, ...options }), requests];
}

test("what has no key is sent once, and checks are repeated without one", async () => {
  const both = '{"current_password":"old","otp":"ab2d"}';
  for (const [call, attempts, keyed, body] of [
    [(client) => client.secondFactor.beginTotp(), 1, false, undefined],
    [(client) => client.secondFactor.confirmTotp("287082"), 1, false, '{"code":"287082","current_password":"old"}'],
    [(client) => client.secondFactor.disableTotp("ab2d"), 1, false, both],
    [(client) => client.secondFactor.replaceRecoveryCodes("ab2d"), 1, false, both],
    [(client) => client.changePassword("new"), 1, false, '{"current_password":"old","new_password":"new"}'],
    [(client) => client.invoices.checkImport("a,b"), 2, false, "a,b"],
    [(client) => client.recipients.lookup({ scheme: "0235", id: "1" }), 2, false, '{"scheme":"0235","id":"1"}'],
    [(client) => client.invoices.importFile("a,b"), 2, true, "a,b"],
    [(client) => client.sessions.endOthers(), 2, true, undefined],
    [(client) => client.users.update("u", { active: false }), 2, true, '{"active":false}'],
  ]) {
    const [client, requests] = offline();
    await assert.rejects(call(client), sdk.TransportError);
    assert.deepEqual(requests.map(([, , ...rest]) => rest), Array(attempts).fill([keyed, body]), call.toString());
  }
});

test("a file may be larger than another response", async () => {
  const large = new Uint8Array((16 << 20) + 1);
  const client = new sdk.Quittance({ baseUrl: "http://127.0.0.1:1", apiKey: "qk_x", fetch: async () => new Response(large) });
  assert.equal((await client.invoices.export("csv")).length, large.length);
  await assert.rejects(client.download("/api/v1/client/invoices/export"), (error) => error instanceof sdk.UnreadableResponseError && error.tooLarge);
});

test("an API key has no login and no password", async () => {
  const [client, requests] = offline({ apiKey: "qk_x", email: undefined, password: undefined });
  await assert.rejects(client.login(), sdk.ConfigurationError);
  await assert.rejects(client.changePassword("new"), sdk.ConfigurationError);
  assert.deepEqual(requests, []);
});
