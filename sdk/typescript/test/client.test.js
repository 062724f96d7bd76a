// The client against a running sandbox: every method, errors, and what must not be sent or shown. The conformance suite has the faults of
// the network.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";

import * as sdk from "../src/index.js";
import { all, draft, login, makeKey, quittance, sandbox } from "./sandbox.js";

// What the document format pint-ae needs beyond a complete draft.
const whole = {
  buyer_tax_id: "123456789012303",
  items: draft().items.map((item) => ({ ...item, description: "Workshop", gross_unit_price: "100.00" })),
};

test("an invoice from draft to final states", async () => {
  const preflight = await quittance.invoices.preflight(draft());
  assert.deepEqual(preflight.computed, { lines: "1000.00", allowances: "0.00", charges: "0.00", net: "1000.00",
    tax: "50.00", total: "1050.00", amount_due: "1050.00" });

  const created = await quittance.invoices.create(draft(whole), { idempotencyKey: `key-${Date.now()}` });
  assert.equal(created.total_amount, "1050.00");
  assert.deepEqual([created.items[0].quantity, created.items[0].net_unit_price], ["10", "100.00"]);
  const updated = await quittance.invoices.update(created.id, { note: "In two parts.", issue_time: null });
  assert.deepEqual([updated.note, updated.issue_time], ["In two parts.", null]);

  const invoice = await quittance.invoices.submitAndWait(created.id);
  assert.equal(invoice.submission.outcome, "acknowledged");
  assert.ok(sdk.isFinal(invoice));
  assert.equal(invoice.states.receiver_state.meaning, "positive");
  assert.equal((await quittance.invoices.submit(created.id)).submission.id, invoice.submission.id);
  assert.deepEqual((await all(quittance.invoices.submissions(created.id))).map(({ id }) => id), [invoice.submission.id]);
  assert.ok((await all(quittance.invoices.evidence(created.id, { per_page: 1 }))).length > 1);
  assert.equal(new TextDecoder().decode((await quittance.invoices.pdf(created.id)).slice(0, 5)), "%PDF-");
  assert.match(new TextDecoder().decode(await quittance.invoices.document(created.id, { profile: "pint-ae" })), /<cbc:ID>TS-/);

  const events = quittance.events.list({ limit: 3 });
  const own = (await all(events)).filter(({ payload }) => payload.invoice_id === created.id);
  assert.ok(own.some(({ event }) => event === "einvoice.terminal"));
  let cursor;
  for await (const page of events.pages()) {
    cursor = page.pagination.next_cursor;
  }
  assert.deepEqual((await quittance.events.list({ after: cursor }).page()).data.filter(({ payload }) => payload.invoice_id === created.id), []);
});

test("submitAndWait returns when nothing changes any more, when its condition holds, and when its time is over", async () => {
  const submit = async (recipient, options) => {
    const { id } = await quittance.invoices.create(draft({ recipient_network_id: recipient }));
    return quittance.invoices.submitAndWait(id, options);
  };
  assert.equal((await submit("sandbox-rejected-validation")).submission.outcome, "rejected");
  assert.notEqual((await submit("sandbox-accepted", { until: ({ submission_state: state }) => state !== null })).submission_state, null);
  const silent = await submit("sandbox-silent-receiver", { timeoutMs: 10 });
  assert.ok(silent.submitted && !sdk.isFinal(silent));
  await assert.rejects(submit("sandbox-silent-receiver", { signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });

  const { id } = await quittance.invoices.create(draft({ recipient_network_id: "sandbox-429-once" }));
  const once = new sdk.Quittance({ ...login, maxRetries: 0 });
  await assert.rejects(once.invoices.submitAndWait(id), (error) => error instanceof sdk.ServerError && error.code === "provider_error");
  assert.equal((await quittance.invoices.get(id)).submitted, false);
});

test("lists yield each entry once, whatever the size of a page", async () => {
  const everything = (await all(quittance.invoices.list())).map(({ id }) => id);
  assert.ok(everything.length >= 25);
  assert.equal(new Set(everything).size, everything.length);
  const seeded = await all(quittance.invoices.list({ per_page: 4, submitted: false, sort: "total_amount" }));
  assert.ok(seeded.length >= 20 && seeded.every(({ submitted }) => !submitted));
  const page = await quittance.invoices.list({ per_page: 2 }).page(2);
  assert.deepEqual([page.data.length, page.pagination.current_page, typeof page.pagination.total], [2, 2, "number"]);
  assert.deepEqual(await all(quittance.invoices.list({ updated_since: new Date(Date.now() + 3600_000) })), []);
});

test("credit notes", async () => {
  const invoice = await quittance.invoices.create(draft(whole));
  const note = await quittance.creditNotes.create({ invoice_id: invoice.id, credit_note_number: `C-${invoice.invoice_number}`, issue_date: "2026-03-02", reason: "Returned", reason_code: "DL8.61.1.A", kind: "full" });
  assert.equal(note.total_amount, "1050.00");
  assert.equal((await quittance.creditNotes.update(note.id, { reason: "Damaged" })).reason, "Damaged");
  assert.equal((await quittance.creditNotes.get(note.id)).items[0].net_amount, "1000.00");
  assert.deepEqual((await all(quittance.creditNotes.list({ invoice_id: invoice.id }))).map(({ id }) => id), [note.id]);
  assert.equal(new TextDecoder().decode((await quittance.creditNotes.pdf(note.id)).slice(0, 5)), "%PDF-");
  assert.match(new TextDecoder().decode(await quittance.creditNotes.document(note.id, { profile: "pint-ae" })), /<cbc:ID>C-TS-/);
  await assert.rejects(quittance.creditNotes.submit(note.id), (error) => error instanceof sdk.ConflictError && error.code === "credit_note_submission_disabled");
  assert.deepEqual(await all(quittance.creditNotes.submissions(note.id)), []);
  assert.deepEqual(await all(quittance.creditNotes.evidence(note.id)), []);
  assert.notEqual((await quittance.creditNotes.void(note.id)).voided_at, null);
});

test("incoming e-invoices", async () => {
  const seeded = await all(quittance.incoming.list({ per_page: 2 }));
  assert.equal(seeded.length, 5);
  const [{ id, total_amount: total }] = seeded;
  assert.equal(typeof total, "string");
  const { parsed } = await quittance.incoming.get(id);
  const [revision] = await all(quittance.incoming.revisions(id));
  assert.equal(revision.revision, 1);
  assert.match(atob((await quittance.incoming.document(id, 1)).body_base64), /<Invoice/);
  assert.ok((await quittance.incoming.attachment(id, 1, parsed.attachments[0].id)).length > 0);
  for (const options of [undefined, { revision: 1 }]) {
    assert.equal(new TextDecoder().decode((await quittance.incoming.pdf(id, options)).slice(0, 5)), "%PDF-");
  }
});

test("webhooks and deliveries", async () => {
  const created = await quittance.webhooks.create({ url: sandbox.receiver_url.replace("/hooks", "/mine"), events: ["einvoice.terminal"] });
  assert.match(created.secret, /^whsec_/);
  assert.equal((await quittance.webhooks.get(created.id)).secret, undefined);
  assert.ok((await all(quittance.webhooks.list())).some(({ id }) => id === created.id));
  assert.equal((await quittance.webhooks.deactivate(created.id)).active, false);

  const [delivery] = await all(quittance.deliveries.list({ state: "delivered", per_page: 100 }));
  assert.equal((await quittance.deliveries.get(delivery.id)).attempts.at(-1).http_status, 200);
  assert.equal((await quittance.deliveries.redeliver(delivery.id)).event_id, delivery.event_id);
});

test("a subscription whose secret was lost", async () => {
  const options = { idempotencyKey: `lost-${Date.now()}` };
  const body = { url: sandbox.receiver_url.replace("/hooks", "/lost") };
  const { id } = await quittance.webhooks.create(body, options);
  await assert.rejects(quittance.webhooks.create(body, options), (error) => error instanceof sdk.SecretLostError && error.subscription.id === id);
  await quittance.webhooks.deactivate(id);
});

test("customers, items and the account", async () => {
  const customer = await quittance.customers.create({ recipient_name: "Dune Foods LLC", payment_terms_days: 30 });
  assert.equal((await quittance.customers.update(customer.id, { recipient_name: "Dune Drinks LLC" })).recipient_name, "Dune Drinks LLC");
  assert.deepEqual((await all(quittance.customers.list({ name: "dune drinks" }))).map(({ id }) => id), [customer.id]);
  assert.equal((await quittance.customers.get(customer.id)).payment_terms_days, 30);
  assert.deepEqual(await quittance.customers.delete(customer.id), { id: customer.id, deleted: true });
  const item = await quittance.items.create({ name: "Workshop", net_unit_price: "99.90" });
  assert.equal((await quittance.items.get(item.id)).net_unit_price, "99.90");
  await quittance.items.delete(item.id);
  await assert.rejects(quittance.items.get(item.id), sdk.NotFoundError);
  assert.equal((await quittance.account.get()).connection.environment, "sandbox");
  const { id } = await quittance.invoices.create(draft());
  assert.equal((await quittance.invoices.delete(id)).deleted, true);
});

test("operations without a method", async () => {
  const { data: users } = await quittance.request("GET", "/api/v1/client/users", { query: { per_page: 1 } });
  assert.equal(users.length, 1);
  const csv = new TextDecoder().decode(await quittance.download("/api/v1/client/invoices/export", { query: { format: "csv" } }));
  assert.match(csv, /invoice_number/);
  const number = draft().invoice_number;
  const file = `invoice_number,recipient_name,currency,issue_date,total_amount,name,quantity,net_unit_price\n${number},Palm,AED,2026-03-01,105.00,Work,1,100.00\n`;
  const { data: imported } = await quittance.request("POST", "/api/v1/client/invoices/import", { body: file, contentType: "text/csv", idempotencyKey: `import-${number}` });
  assert.equal(imported.invoices[0].invoice_number, number);
  const requests = [];
  const fetch = async (url, { method, headers }) => { requests.push([url, method, headers["Idempotency-Key"]]); throw new Error("no connection"); };
  const offline = new sdk.Quittance({ baseUrl: "http://127.0.0.1:1", apiKey: "qk_x", maxRetries: 1, fetch });
  for (const [method, options, attempts] of [["GET", {}, 2], ["DELETE", {}, 2], ["POST", {}, 1], ["POST", { idempotencyKey: "k" }, 2]]) {
    requests.length = 0;
    await assert.rejects(offline.request(method, "/api/v1/client/users", options), sdk.TransportError);
    assert.deepEqual(requests, Array(attempts).fill(["http://127.0.0.1:1/api/v1/client/users", method, options.idempotencyKey]));
  }
  for (const path of ["", "@example.com/api/", "//example.com/api/", "/api/v1?x=1", "/openapi.json", undefined]) {
    await assert.rejects(offline.request("GET", path), sdk.ConfigurationError);
    await assert.rejects(offline.download(path), sdk.ConfigurationError);
  }
});

test("errors have what programs and support need", async () => {
  const faults = await quittance.invoices.create({ ...draft(), issue_date: "soon" }).catch((error) => error);
  assert.ok(faults instanceof sdk.ValidationError && faults instanceof sdk.QuittanceError);
  assert.deepEqual([faults.name, faults.status, faults.code], ["ValidationError", 422, "validation_failed"]);
  assert.equal(faults.details.issue_date[0].rule, "date");
  assert.equal(faults.operation, "POST /api/v1/client/invoices");
  assert.match(faults.requestId, /./);
  await assert.rejects(new sdk.Quittance({ ...login, password: "wrong" }).account.get(), sdk.AuthenticationError);
  await assert.rejects(new sdk.Quittance({ baseUrl: "http://127.0.0.1:1", apiKey: "qk_x", maxRetries: 0 }).account.get(), sdk.TransportError);
});

test("a client logs in once for all calls, and again after logout; a key is never logged in", async () => {
  const seen = [];
  const fetch = (url, options) => {
    seen.push(new URL(url).pathname);
    return globalThis.fetch(url, options);
  };
  const user = new sdk.Quittance({ ...login, fetch });
  await Promise.all([user.account.get(), user.invoices.list().page(), user.items.list().page()]);
  await user.logout();
  await user.logout();
  await user.account.get();
  assert.equal(seen.filter((path) => path === "/api/v1/client/auth/login").length, 2);
  assert.equal(seen.filter((path) => path === "/api/v1/client/auth/logout").length, 1);

  seen.length = 0;
  const machine = new sdk.Quittance({ baseUrl: sandbox.base_url, apiKey: await makeKey(), fetch });
  await machine.account.get();
  await machine.logout();
  assert.deepEqual(seen, ["/api/v1/client/account"]);
});

test("options that are wrong are errors at once, without a credential in them", () => {
  const secret = "s3cret-value";
  for (const options of [
    undefined,
    {},
    { baseUrl: sandbox.base_url },
    { baseUrl: sandbox.base_url, apiKey: secret, email: "a@example.com", password: secret },
    { baseUrl: sandbox.base_url, email: "a@example.com" },
    { baseUrl: sandbox.base_url, apiKey: `${secret}\n` },
    ...["", "quittance", "ftp://example.com", `https://user:${secret}@example.com`, `https://example.com/?k=${secret}`, "https://example.com/#", `https://${secret}:x`].map((baseUrl) => ({ baseUrl, apiKey: secret })),
    ...[-1, 1.5].map((maxRetries) => ({ baseUrl: sandbox.base_url, apiKey: secret, maxRetries })),
    ...[0, -1, NaN, Infinity].map((timeoutMs) => ({ baseUrl: sandbox.base_url, apiKey: secret, timeoutMs })),
  ]) {
    assert.throws(() => new sdk.Quittance(options), (error) => error instanceof sdk.ConfigurationError && !inspect(error).includes(secret));
  }
  for (const shown of [inspect(new sdk.Quittance({ ...login, password: secret }), { depth: null, showHidden: true }), JSON.stringify(new sdk.Quittance({ ...login, password: secret }))]) {
    assert.ok(!shown.includes(secret));
  }
});

test("arguments that would be another call are errors before anything is sent", async () => {
  const offline = new sdk.Quittance({ baseUrl: "http://127.0.0.1:1", apiKey: "qk_x", maxRetries: 0 });
  for (const id of [undefined, null, "", ".", ".."]) {
    await assert.rejects(offline.invoices.get(id), sdk.ConfigurationError);
    await assert.rejects(offline.incoming.document(id, 1), sdk.ConfigurationError);
  }
  for (const idempotencyKey of ["", "two words", "é", "x".repeat(256)]) {
    await assert.rejects(offline.invoices.create(draft(), { idempotencyKey }), sdk.ConfigurationError);
  }
  await assert.rejects(offline.invoices.create(draft({ total_amount: 0.1 })), sdk.ConfigurationError);
});

test("a redirect is not followed, so that no other address gets the credential", async (t) => {
  const arrived = [];
  const server = createServer((request, response) => {
    arrived.push(request.url);
    response.writeHead(307, { Location: "/elsewhere" }).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const client = new sdk.Quittance({ baseUrl: `http://127.0.0.1:${server.address().port}/prefix/`, apiKey: "qk_x" });
  await assert.rejects(client.account.get(), (error) => error instanceof sdk.UnreadableResponseError && error.status === 307);
  assert.deepEqual(arrived, ["/prefix/api/v1/client/account"]);
});

test("a signal ends a call and its waits with its own reason", async (t) => {
  const server = createServer((_, response) => response.writeHead(503, { "Retry-After": "30" }).end());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const client = new sdk.Quittance({ baseUrl: `http://127.0.0.1:${server.address().port}`, apiKey: "qk_x" });
  const reason = new Error("the user went away");
  const controller = new AbortController();
  const call = assert.rejects(client.account.get({ signal: controller.signal }), reason);
  setTimeout(() => controller.abort(reason), 50);
  await call;
  await assert.rejects(client.account.get({ signal: controller.signal }), reason);
});
