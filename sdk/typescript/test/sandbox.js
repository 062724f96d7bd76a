// What the tests against a running sandbox share. QUITTANCE_READY_FILE names the file that quittance sandbox --ready-file writes.

import { readFileSync } from "node:fs";

import { Quittance } from "../src/index.js";

/** The addresses and the login of the sandbox. */
export const sandbox = JSON.parse(readFileSync(process.env.QUITTANCE_READY_FILE, "utf8"));

/** The options of a client of the sandbox's user. */
export const login = { baseUrl: sandbox.base_url, email: sandbox.email, password: sandbox.password };

let count = 0;

/** Returns a complete draft with a number that no other has. */
export function draft(fields = {}) {
  return {
    invoice_number: `TS-${process.pid}-${Date.now()}-${++count}`,
    recipient_name: "Palm Trading LLC",
    recipient_network_id: "sandbox-accepted",
    buyer_endpoint_scheme: "0235",
    buyer_street: "12 Harbour Road",
    buyer_city: "Dubai",
    buyer_subdivision: "DXB",
    buyer_country: "AE",
    total_amount: "1050.00",
    currency: "AED",
    issue_date: "2026-03-01",
    due_date: "2026-03-31",
    payment_means_code: "30",
    items: [{ name: "Consulting", unit_code: "HUR", quantity: "10", net_unit_price: "100.00", vat_category: "S", vat_rate: "5" }],
    ...fields,
  };
}

/** Makes an API key for the sandbox's company. */
export async function makeKey() {
  const scopes = ["read", "write", "submit", "webhooks"];
  return (await quittance.apiKeys.create({ name: "tests of the TypeScript SDK", scopes })).key;
}

/** Returns the entries of a list. */
export async function all(list) {
  const entries = [];
  for await (const entry of list) {
    entries.push(entry);
  }
  return entries;
}

export const quittance = new Quittance(login);
