// Makes the calls of the conformance suite with this SDK. sdk/conformance/README.md describes its input and output.

import { createInterface } from "node:readline";

import * as sdk from "../src/index.js";
import { parse } from "../src/json.js";

const errorTypes = [
  ["bad_request", sdk.BadRequestError],
  ["authentication", sdk.AuthenticationError],
  ["permission", sdk.PermissionDeniedError],
  ["not_found", sdk.NotFoundError],
  ["conflict", sdk.ConflictError],
  ["precondition_failed", sdk.PreconditionFailedError],
  ["validation", sdk.ValidationError],
  ["rate_limit", sdk.RateLimitError],
  ["server", sdk.ServerError],
  ["unreadable", sdk.UnreadableResponseError],
  ["timeout", sdk.RequestTimeoutError],
  ["connection", sdk.TransportError],
  ["secret_lost", sdk.SecretLostError],
  ["secret_lost", sdk.KeyLostError],
  ["link_lost", sdk.LinkLostError],
  ["draft_again", sdk.DraftAgainError],
  ["configuration", sdk.ConfigurationError],
  ["webhook", sdk.WebhookVerificationError],
];

const resources = { credit_notes: "creditNotes", api_keys: "apiKeys", second_factor: "secondFactor" };
const methods = {
  get: (resource, a) => resource.get(a.id),
  create: (resource, a) => resource.create(a.body, { idempotencyKey: a.idempotency_key }),
  update: (resource, a) => resource.update(a.id, a.body, { idempotencyKey: a.idempotency_key }),
  delete: (resource, a) => resource.delete(a.id),
  submit: (resource, a) => resource.submit(a.id),
  submit_and_wait: (resource, a) => resource.submitAndWait(a.id, { timeoutMs: a.timeout_ms }),
  preflight: (resource, a) => resource.preflight(a.body),
  void: (resource, a) => resource.void(a.id),
  deactivate: (resource, a) => resource.deactivate(a.id),
  revoke: (resource, a) => resource.revoke(a.id, { idempotencyKey: a.idempotency_key }),
  lookup: (resource, a) => resource.lookup(a.body),
  begin_totp: (resource) => resource.beginTotp(),
  import_file: (resource, a) => resource.importFile(a.file, { idempotencyKey: a.idempotency_key }),
  check_import: (resource, a) => resource.checkImport(a.file),
  export: async (resource, a) => new TextDecoder().decode(await resource.export(a.format, a.query)),
  list: (resource, a, name) => {
    const query = name === "events" ? { after: a.after, limit: a.per_page } : { ...a.query, per_page: a.per_page };
    return collect(resource.list(query), a.limit);
  },
  pdf: async (resource, a) => {
    const bytes = await resource.pdf(a.id);
    return { size: bytes.length, start: new TextDecoder("latin1").decode(bytes.slice(0, 5)) };
  },
};

async function collect(list, limit) {
  const entries = [];
  for await (const entry of list) {
    entries.push(entry);
    if (entries.length === limit) {
      break;
    }
  }
  return entries;
}

function verify({ body, body_base64: base64, headers }, { secrets, now, tolerance_ms: toleranceMs }) {
  const bytes = base64 === undefined ? body : Buffer.from(base64, "base64");
  return sdk.verifyWebhook(bytes, headers, { secrets, toleranceMs, now: () => Date.parse(now) });
}

async function verifyOnce({ capacity, callbacks, ...options }) {
  const handled = [];
  const results = [];
  let fail;
  const handler = sdk.once((event) => {
    handled.push(event.id);
    if (fail) {
      throw new Error("the handler fails");
    }
  }, capacity);
  for (const callback of callbacks) {
    fail = callback.fail;
    try {
      await handler(await verify(callback, options));
      results.push("ok");
    } catch (error) {
      results.push(error.reason ?? "failed");
    }
  }
  return { handled, results };
}

function run({ base_url: baseUrl, credentials = {}, options = {}, operation, arguments: given = {} }) {
  if (operation === "webhooks.verify") {
    return verify(given, given);
  }
  if (operation === "webhooks.once") {
    return verifyOnce(given);
  }
  const { api_key: apiKey, email, password, otp } = credentials;
  const quittance = new sdk.Quittance({
    baseUrl,
    apiKey,
    email,
    password,
    otp: otp === undefined ? undefined : () => otp,
    maxRetries: options.max_retries,
    timeoutMs: options.timeout_ms,
    userAgent: options.user_agent,
  });
  if (operation === "login") {
    return quittance.login();
  }
  if (operation === "change_password") {
    return quittance.changePassword(given.password).then(() => null);
  }
  const [name, method] = operation.split(".");
  const resource = quittance[resources[name] ?? name];
  const call = methods[method];
  return resource && call ? call(resource, given, name) : undefined;
}

function describe(error) {
  const type = errorTypes.find(([, Class]) => error instanceof Class)?.[0];
  if (type === undefined) {
    throw error;
  }
  return {
    type,
    status: error.status,
    code: error.code,
    message: error.message,
    details: error.details,
    request_id: error.requestId,
    retry_after_ms: error.retryAfterMs,
    reason: error.reason,
    id: (error.subscription ?? error.apiKey ?? error.invitation ?? error.invoice)?.id,
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const input = parse(line);
  const output = { case: input.case };
  try {
    const result = await run(input);
    Object.assign(output, result === undefined ? { error: { type: "unsupported" } } : { result });
  } catch (error) {
    output.error = describe(error);
  }
  process.stdout.write(`${JSON.stringify(output)}\n`);
}
