// Every snippet of the README runs, in a program that has installed the package.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { makeKey, sandbox } from "./sandbox.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = await readFile(join(root, "README.md"), "utf8");
const snippets = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, text]) => text);

const directory = await mkdtemp(join(tmpdir(), "quittance-readme-"));
test.after(() => rm(directory, { recursive: true }));
await mkdir(join(directory, "node_modules"));
await symlink(root, join(directory, "node_modules", "quittance"));

// Writes the only snippet that contains the text to a file, and returns its path.
async function write(text) {
  const found = snippets.filter((snippet) => snippet.includes(text));
  assert.equal(found.length, 1, text);
  const file = join(directory, `${snippets.indexOf(found[0])}.mjs`);
  await writeFile(file, found[0]);
  return file;
}

test("programs", async () => {
  const env = { ...process.env, QUITTANCE_URL: sandbox.base_url, QUITTANCE_API_KEY: await makeKey(), EMAIL: sandbox.email, PASSWORD: sandbox.password, NODE_TEST_CONTEXT: undefined };
  for (const [text, output] of [
    ["order-4711", /^acknowledged accepted true$/m],
    ["apiKeys.create", /api_key\.create/],
    ["pages()", /^INV-2026-0001 1050\.00 accepted$/m],
    ["idempotency_key_reused", /^issue_date \[ 'date' \]$/m],
    ["the receiver rejects an invoice", /the receiver rejects an invoice/],
  ]) {
    const { stdout } = await promisify(execFile)(process.execPath, [await write(text)], { env, cwd: directory });
    assert.match(stdout, output);
  }
});

test("handlers of webhooks", async () => {
  process.env.WEBHOOK_SECRET = "whsec_of-the-test";
  const timestamp = new Date().toISOString();
  const event = { schema_version: "service-webhook-v2", id: "e-1", event: "einvoice.terminal", resource_type: "submission", resource_id: "s-1" };
  const body = Buffer.from(JSON.stringify(event));
  const signature = `v1=${createHmac("sha256", process.env.WEBHOOK_SECRET).update(`${timestamp}.`).update(body).digest("hex")}`;
  const headers = { "x-webhook-event": event.event, "x-webhook-delivery": event.id, "x-webhook-timestamp": timestamp, "x-webhook-signature": signature };

  const { POST } = await import(pathToFileURL(await write("export async function POST")));
  const send = async (given) => (await POST(new Request("https://hooks.example.com", { method: "POST", body, headers: given }))).status;
  assert.deepEqual([await send(headers), await send(headers), await send({})], [204, 204, 401]);

  const { hooks } = await import(pathToFileURL(await write("export async function hooks")));
  const express = async (given) => {
    let answered;
    await hooks({ body, headers: given }, { status: (code) => ({ end: () => (answered = code) }) });
    return answered;
  };
  assert.deepEqual([await express(headers), await express(headers), await express({})], [204, 204, 401]);
});

test("all snippets are covered", () => assert.equal(snippets.length, 7));
