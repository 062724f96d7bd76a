// Samples of what users write. tsc checks that they have types, and that what is wrong is an error. Nothing runs them.

import {
  APIError,
  isFinal,
  once,
  Quittance,
  signWebhook,
  verifyWebhook,
  WebhookVerificationError,
  KeyLostError,
  type AuditEntry,
  type Decimal,
  type DraftRequest,
  type Invoice,
  type WebhookEvent,
} from "quittance";

const quittance = new Quittance({ baseUrl: "https://quittance.example.com", apiKey: "qk_sandbox_x", maxRetries: 1, timeoutMs: 1000 });
new Quittance({ baseUrl: "https://quittance.example.com", email: "a@example.com", password: "p", otp: async () => "123456" });
// @ts-expect-error a credential is missing
new Quittance({ baseUrl: "https://quittance.example.com" });
// @ts-expect-error a key and a password exclude each other
new Quittance({ baseUrl: "https://quittance.example.com", apiKey: "k", email: "a@example.com", password: "p" });
// @ts-expect-error the password is missing
new Quittance({ baseUrl: "https://quittance.example.com", email: "a@example.com" });

const draft: DraftRequest = {
  invoice_number: "INV-1",
  recipient_name: "Palm Trading LLC",
  currency: "AED",
  issue_date: "2026-03-01",
  total_amount: "1050.00",
  items: [{ name: "Consulting", quantity: "10", net_unit_price: "100.00", vat_rate: null }],
};
// @ts-expect-error an amount is a string, because a number cannot be 1050.00
draft.total_amount = 1050.0;
// @ts-expect-error a required field cannot be null
draft.currency = null;
// @ts-expect-error there is no such field
draft.invoiceNumber = "INV-1";

export async function invoices(): Promise<Decimal> {
  const created: Invoice = await quittance.invoices.create(draft, { idempotencyKey: "order-1" });
  const final: boolean = isFinal(created);
  const invoice = await quittance.invoices.submitAndWait(created.id, { timeoutMs: 60_000, until: ({ receiver_state: state }) => final || state !== null });
  const meaning: "positive" | "negative" | "waiting" | null | undefined = invoice.states.receiver_state?.meaning;
  const outcome: string | undefined = meaning ?? invoice.submission?.outcome;
  // @ts-expect-error a state may never have been reported
  invoice.states.receiver_state.final;
  for await (const { item_count: count, total_amount: total } of quittance.invoices.list({ submitted: true, sort: "-issue_date", per_page: 100 })) {
    const sum: string = `${count + 1} ${total} ${outcome}`;
    console.log(sum);
  }
  // @ts-expect-error there is no such order
  quittance.invoices.list({ sort: "number" });
  // @ts-expect-error a row of a list has no items
  (await quittance.invoices.list().page(1)).data[0].items;
  const bytes: Uint8Array = await quittance.invoices.pdf(created.id, { profile: "pint-ae" });
  console.log(bytes);
  // @ts-expect-error a decimal is no number
  const wrong: number = created.total_amount;
  return created.total_amount ?? wrong.toString();
}

export async function people(): Promise<string | undefined> {
  for await (const { role } of quittance.users.list({ per_page: 100 })) {
    // @ts-expect-error there is no such role
    console.log(role === "administrator");
  }
  await quittance.users.update("u", { active: false }, { idempotencyKey: "leaves" });
  // @ts-expect-error the role of a user cannot be removed
  await quittance.users.update("u", { role: null });
  // @ts-expect-error there is no such scope
  await quittance.apiKeys.create({ name: "ERP", scopes: ["admin"] });
  const entries: AuditEntry[] = (await quittance.audit.list({ act: "draft", from: new Date(), to: "2026-03-02T00:00:00Z" }).page(2)).data;
  const file: Uint8Array = await quittance.invoices.export("csv", { rows: "items", submitted: true }, { timeoutMs: 300_000 });
  // @ts-expect-error a file has no pages
  await quittance.creditNotes.export("xlsx", { per_page: 10 });
  // @ts-expect-error there is no such format
  await quittance.incoming.export("pdf");
  const { invoices: made } = await quittance.invoices.importFile(file, { sheet: "March", idempotencyKey: "march" });
  await quittance.secondFactor.confirmTotp("287082", { otp: "ab2d" });
  const { ended } = await quittance.sessions.endOthers();
  console.log(entries.length, made[0]?.id, ended.toFixed());
  try {
    const { key } = await quittance.apiKeys.create({ name: "ERP", scopes: ["read"] });
    return key;
  } catch (error) {
    return error instanceof KeyLostError ? error.apiKey.id : undefined;
  }
}

export async function hooks(request: Request): Promise<void> {
  const handle = once(async (event: WebhookEvent) => {
    if (event.resource_type === "submission") {
      console.log(event.payload.invoice_id, event.payload.receiver_state);
      // @ts-expect-error an incoming e-invoice has a revision, a submission has none
      event.payload.revision;
    } else {
      console.log(event.payload.revision + 1);
    }
  });
  try {
    await handle(await verifyWebhook(await request.arrayBuffer(), request.headers, { secrets: ["whsec_old", "whsec_new"] }));
  } catch (error) {
    if (error instanceof WebhookVerificationError && error.reason === "no_secret") {
      throw error;
    }
    if (error instanceof APIError) {
      console.log(error.code, error.requestId, error.details["items[0].vat_rate"]);
    }
  }
  const signature: string = await signWebhook("whsec_new", "2026-03-01T09:30:00.000000Z", new Uint8Array());
  console.log(signature);
  // @ts-expect-error secrets are required
  await verifyWebhook("", {}, {});
  for await (const page of quittance.events.list({ after: "x" }).pages()) {
    const cursor: string = page.pagination.next_cursor;
    console.log(cursor);
  }
  await quittance.customers.update("x", { note: null });
  // @ts-expect-error the name of a customer cannot be removed
  await quittance.customers.update("x", { recipient_name: null });
}
