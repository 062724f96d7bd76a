/**
 * The TypeScript SDK of Quittance. Start at {@link Quittance}; {@link verifyWebhook} verifies callbacks.
 *
 * @packageDocumentation
 */

import type {
  Account,
  CatalogueItem,
  CatalogueItemFieldsRequest,
  CreditNote,
  CreditNotePatch,
  CreditNoteRequest,
  CreditNoteSummary,
  Cursor,
  Customer,
  CustomerFieldsRequest,
  CustomerPatch,
  Deleted,
  Delivery,
  DeliveryDetail,
  DraftRequest,
  Evidence,
  EventIncomingPayload,
  EventSubmissionPayload,
  Fault,
  IncomingInvoice,
  IncomingInvoiceDetail,
  IncomingRevision,
  Invoice,
  InvoicePatch,
  InvoiceSummary,
  ItemPatch,
  NewSubscription,
  Pagination,
  Preflight,
  RetainedBody,
  SubmissionRecord,
  Subscription,
  SubscriptionRequest,
} from "./types.js";

export * from "./types.js";

/** The options that every client has. */
export interface CommonOptions {
  /**
   * Address of the service without /api: http or https, with an optional path prefix and without user info, query or fragment. It should
   * be https unless the service is on the same machine.
   */
  baseUrl: string;
  /** Time-out of one attempt with its response, in milliseconds; 60,000 by default. A submission waits for the provider, up to 20 s. */
  timeoutMs?: number;
  /** Retries of a call after its first attempt, 3 by default; 0 disables them. */
  maxRetries?: number;
  /** The transport; the fetch of the platform by default. */
  fetch?: typeof globalThis.fetch;
  /** The User-Agent header, "quittance-typescript" by default. A web page cannot set it. */
  userAgent?: string;
}

/** The options of a client with an API key, the credential of a machine. */
export interface KeyOptions extends CommonOptions {
  /** An API key, such as qk_production_…. */
  apiKey: string;
  email?: undefined;
  password?: undefined;
  otp?: undefined;
}

/** The options of a client that logs in with its first call, and again when its token is not valid any more. */
export interface LoginOptions extends CommonOptions {
  email: string;
  password: string;
  /** Returns a code of the user's second factor. A login calls it when the service asks for a code, and sends each code once. */
  otp?: () => string | Promise<string>;
  apiKey?: undefined;
}

/** The options of a client: those with an API key, or those of a user. */
export type QuittanceOptions = KeyOptions | LoginOptions;

/** Options of one call. */
export interface CallOptions {
  /** Ends the call and its waits. The call fails with the reason of the signal; whether it had its effect is not known. */
  signal?: AbortSignal;
  /** Time-out of one attempt instead of that of the client, in milliseconds. */
  timeoutMs?: number;
}

/** Options of a call that creates or changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * Your own key, of 1 to 255 visible ASCII characters, instead of a random one. A call with the same key and the same content within 24
   * hours gets the response of the first one and has no further effect. Use it if your program may stop and repeat the call later.
   */
  idempotencyKey?: string;
}

/** Options of {@link Quittance.request}. */
export interface RequestOptions extends ChangeOptions {
  /** The query parameters. */
  query?: Record<string, unknown>;
  /** The body, which is sent as JSON; with a contentType the content of a file. */
  body?: unknown;
  /** The media type of a file, such as text/csv. */
  contentType?: string;
}

/** Options of a call that takes a document format. */
export interface DocumentOptions extends CallOptions {
  /** The document format, pint-ae or bis3; that of the company's connection by default. */
  profile?: "pint-ae" | "bis3";
}

/** Options of {@link InvoicesResource.submitAndWait}. */
export interface WaitOptions {
  /** How long to wait, in milliseconds; 120,000 by default. */
  timeoutMs?: number;
  /** The condition to wait for; {@link isFinal} by default. */
  until?: (invoice: Invoice) => boolean;
  /** Ends the waiting. */
  signal?: AbortSignal;
}

/** Fields of a list's query that all lists have. */
export interface ListQuery {
  /** Entries on a page, from 1 to 100; 50 by default. */
  per_page?: number;
}

/** Selects invoices of a list. Absent fields do not restrict it. */
export interface InvoiceQuery extends ListQuery {
  /** The exact number. */
  invoice_number?: string;
  /** true selects submitted invoices, false drafts. */
  submitted?: boolean;
  /** The exact value of the provider. */
  submission_state?: string;
  /** The exact value of the provider. */
  provider_invoice_state?: string;
  /** The exact value of the provider. */
  tax_authority_state?: string;
  /** The exact value of the provider. */
  receiver_state?: string;
  /** The exact key of your own system. */
  external_id?: string;
  /** A part of the recipient's name, ignoring case. */
  recipient_name?: string;
  /** The earliest issue date, YYYY-MM-DD. */
  issue_date_from?: string;
  /** The latest issue date, YYYY-MM-DD. */
  issue_date_to?: string;
  /** Selects invoices that changed at this time or later. */
  updated_since?: string | Date;
  /** true selects invoices that need a person. */
  attention?: boolean;
  /** The order; newest first by default. A hyphen means descending. */
  sort?: `${"" | "-"}${"created_at" | "issue_date" | "total_amount" | "recipient_name"}`;
}

/** Selects credit notes of a list. */
export interface CreditNoteQuery extends ListQuery {
  /** The invoice that is credited. */
  invoice_id?: string;
  /** The earliest issue date, YYYY-MM-DD. */
  issue_date_from?: string;
  /** The latest issue date, YYYY-MM-DD. */
  issue_date_to?: string;
}

/** Selects incoming e-invoices of a list, by their latest revisions. */
export interface IncomingInvoiceQuery extends ListQuery {
  /** The earliest issue date, YYYY-MM-DD. */
  issue_date_from?: string;
  /** The latest issue date, YYYY-MM-DD. */
  issue_date_to?: string;
  /** Selects e-invoices whose latest revision was retained at this time or later. */
  updated_since?: string | Date;
}

/** Selects customers or items of a list. */
export interface BookQuery extends ListQuery {
  /** Text in the name, ignoring case. It also finds the network identifier of a customer and the code of an item. */
  name?: string;
}

/** Selects webhook deliveries of a list. */
export interface DeliveryQuery extends ListQuery {
  subscription_id?: string;
  event_id?: string;
  /** The kind of the event. */
  event?: string;
  state?: "pending" | "delivered" | "failed" | "blocked";
}

/** Selects events of the feed. */
export interface EventQuery {
  /** The cursor after which to begin: the next_cursor of an earlier page. The feed begins at its start by default. */
  after?: string;
  /** Events on a page, from 1 to 100; 50 by default. */
  limit?: number;
}

/** A page of a list. */
export interface Page<T> {
  data: T[];
  pagination: Pagination;
}

/**
 * A list. It reads nothing until you iterate, and then a page when it is needed. It yields each entry once, even if new entries move it
 * to the next page meanwhile. Do not change what the query filters by during the iteration: an entry that leaves the list moves
 * another one to the previous page. Collect the identifiers first.
 */
export interface List<T> extends AsyncIterable<T> {
  /** Reads one page, from 1, with its pagination. */
  page(number?: number): Promise<Page<T>>;
}

/** A page of the events feed. */
export interface FeedPage<T> {
  data: T[];
  pagination: Cursor;
}

/** A list that is read by cursor, oldest first. An iteration ends at the last entry that is there. */
export interface Feed<T> extends AsyncIterable<T> {
  /** Reads the page after a cursor. */
  page(after?: string): Promise<FeedPage<T>>;
  /** Reads page after page. Store next_cursor with the effects of a page, and continue with it later. */
  pages(): AsyncIterable<FeedPage<T>>;
}

/**
 * An event of the feed, which is also the body of a webhook. resource_type says which payload it has: that of a submission, or of an incoming e-invoice.
 */
export type WebhookEvent =
  | (EventSubmissionPayload & { resource_type: "submission" })
  | (EventIncomingPayload & { resource_type: "incoming_invoice" });

/** Drafts, their one submission, its four states, and the evidence of what the provider said. */
export interface InvoicesResource {
  /** Lists invoices without their items, newest first unless the query has another order. */
  list(query?: InvoiceQuery, options?: CallOptions): List<InvoiceSummary>;
  /** Returns an invoice in its current state. */
  get(id: string, options?: CallOptions): Promise<Invoice>;
  /** Stores a draft. */
  create(draft: DraftRequest, options?: ChangeOptions): Promise<Invoice>;
  /** Changes a draft, or an invoice that the provider has rejected, which is then a draft again. null removes a field; items are replaced as a whole. */
  update(id: string, patch: InvoicePatch, options?: ChangeOptions): Promise<Invoice>;
  /** Deletes a draft permanently. It can fail with {@link NotFoundError} if the response of an earlier attempt was lost. */
  delete(id: string, options?: CallOptions): Promise<Deleted>;
  /** Checks a draft as create does and stores nothing. With a profile it also returns what that document format needs. */
  preflight(draft: DraftRequest, options?: DocumentOptions): Promise<Preflight>;
  /**
   * Submits a complete draft once; a repeated call returns the recorded result. The result is submission.outcome. The outcomes unknown
   * and in_progress are no errors: the service does not know yet whether the provider has the document, and keeps asking. Never
   * create another invoice because of them.
   */
  submit(id: string, options?: CallOptions): Promise<Invoice>;
  /**
   * Submits an invoice once and reads it, at growing intervals, until all four states are final ({@link isFinal}). It also
   * returns when no more changes can come, because the provider has rejected the document or the service no longer asks, and
   * when its time is over. So look at the invoice that it returns. An unknown outcome is no error: it goes on waiting. It
   * fails with {@link DraftAgainError} if it turns out that the provider did not accept the document.
   */
  submitAndWait(id: string, options?: WaitOptions): Promise<Invoice>;
  /** Lists all submissions of an invoice. */
  submissions(id: string, query?: ListQuery, options?: CallOptions): List<SubmissionRecord>;
  /** Lists the provider responses about an invoice. */
  evidence(id: string, query?: ListQuery, options?: CallOptions): List<Evidence>;
  /** Returns an invoice as an XML document (UBL 2.1). */
  document(id: string, options?: DocumentOptions): Promise<Uint8Array>;
  /** Returns an invoice as pages for people, a PDF/A-3 file. */
  pdf(id: string, options?: DocumentOptions): Promise<Uint8Array>;
}

/** Credit notes, each for one invoice. */
export interface CreditNotesResource {
  /** Lists credit notes without their items, newest first, the void ones included. */
  list(query?: CreditNoteQuery, options?: CallOptions): List<CreditNoteSummary>;
  /** Returns a credit note. */
  get(id: string, options?: CallOptions): Promise<CreditNote>;
  /** Stores a credit note for an invoice as a draft. */
  create(note: CreditNoteRequest, options?: ChangeOptions): Promise<CreditNote>;
  /** Changes issue_date, reason and reason_code; null removes reason_code. */
  update(id: string, patch: CreditNotePatch, options?: ChangeOptions): Promise<CreditNote>;
  /** Voids a credit note, so that another one can credit its amount. */
  void(id: string, options?: ChangeOptions): Promise<CreditNote>;
  /** Submits a credit note once, as {@link InvoicesResource.submit} does an invoice. */
  submit(id: string, options?: CallOptions): Promise<CreditNote>;
  /** Lists all submissions of a credit note. */
  submissions(id: string, query?: ListQuery, options?: CallOptions): List<SubmissionRecord>;
  /** Lists the provider responses about a credit note. */
  evidence(id: string, query?: ListQuery, options?: CallOptions): List<Evidence>;
  /** Returns a credit note as an XML document (UBL 2.1). */
  document(id: string, options?: DocumentOptions): Promise<Uint8Array>;
  /** Returns a credit note as pages for people, a PDF/A-3 file. */
  pdf(id: string, options?: DocumentOptions): Promise<Uint8Array>;
}

/** Purchase documents retained from the provider, with their revisions. Strangers have written their content: treat it as data. */
export interface IncomingResource {
  /** Lists incoming e-invoices in their latest revision, newest first. */
  list(query?: IncomingInvoiceQuery, options?: CallOptions): List<IncomingInvoice>;
  /** Returns an incoming e-invoice in its latest revision, with what its document says. */
  get(id: string, options?: CallOptions): Promise<IncomingInvoiceDetail>;
  /** Lists the revisions, oldest first. */
  revisions(id: string, query?: ListQuery, options?: CallOptions): List<IncomingRevision>;
  /** Returns the retained document of a revision, from 1. */
  document(id: string, revision: number, options?: CallOptions): Promise<RetainedBody>;
  /** Returns the bytes of an attachment of a revision; its identifier is in parsed.attachments. */
  attachment(id: string, revision: number, attachment: string, options?: CallOptions): Promise<Uint8Array>;
  /** Returns the latest revision, or another one, as pages for people, a PDF/A-3 file. */
  pdf(id: string, options?: CallOptions & { revision?: number }): Promise<Uint8Array>;
}

/** Webhook subscriptions. */
export interface WebhooksResource {
  /** Lists subscriptions, newest first, the deactivated ones included. */
  list(query?: ListQuery, options?: CallOptions): List<Subscription>;
  /** Returns a subscription without its secret. */
  get(id: string, options?: CallOptions): Promise<Subscription>;
  /**
   * Subscribes an HTTPS destination. Only this response has the signing secret: store it. It fails with {@link SecretLostError} if an
   * earlier attempt has created the subscription and its response was lost.
   */
  create(subscription: SubscriptionRequest, options?: ChangeOptions): Promise<NewSubscription>;
  /** Permanently deactivates a subscription. Its history is kept. */
  deactivate(id: string, options?: ChangeOptions): Promise<Subscription>;
}

/** The feed of all events of the company, in an order in which none appears before a cursor that was given out. */
export interface EventsResource {
  /** Lists events, oldest first. */
  list(query?: EventQuery, options?: CallOptions): Feed<WebhookEvent>;
}

/** Webhook deliveries and their attempts. */
export interface DeliveriesResource {
  /** Lists deliveries, newest first. */
  list(query?: DeliveryQuery, options?: CallOptions): List<Delivery>;
  /** Returns a delivery with every attempt. */
  get(id: string, options?: CallOptions): Promise<DeliveryDetail>;
  /** Starts a delivery again, with the same event UUID and the same bytes. */
  redeliver(id: string, options?: ChangeOptions): Promise<DeliveryDetail>;
}

/** The customer book, or the item catalogue. Invoices get copies: a change or a deletion changes no invoice. */
export interface BookResource<Entry, Fields, Patch> {
  /** Lists entries in the order of their names. */
  list(query?: BookQuery, options?: CallOptions): List<Entry>;
  /** Returns an entry. */
  get(id: string, options?: CallOptions): Promise<Entry>;
  /** Adds an entry. */
  create(fields: Fields, options?: ChangeOptions): Promise<Entry>;
  /** Changes an entry; null removes a field. */
  update(id: string, patch: Patch, options?: ChangeOptions): Promise<Entry>;
  /** Deletes an entry permanently. */
  delete(id: string, options?: CallOptions): Promise<Deleted>;
}

/** The company. */
export interface AccountResource {
  /** Returns the company, its profile and its provider connection. */
  get(options?: CallOptions): Promise<Account>;
}

/**
 * The client of one service, with one API key or as one user. Making one sends nothing.
 *
 * A call has its effect at most once, whatever fails: the client repeats only calls whose repetition the service recognises. They are
 * reads, deletions, logins, submissions, and changes, which carry an idempotency key. Amounts are strings, so that they stay exact.
 *
 * ```js
 * const quittance = new Quittance({ baseUrl: "https://quittance.example.com", apiKey: process.env.QUITTANCE_API_KEY });
 * for await (const invoice of quittance.invoices.list({ submitted: true })) {
 *   console.log(invoice.invoice_number, invoice.total_amount);
 * }
 * ```
 */
export class Quittance {
  /** Makes a client. It throws a {@link ConfigurationError} if an option is wrong. */
  constructor(options: QuittanceOptions);
  /** Drafts and submitted invoices. */
  readonly invoices: InvoicesResource;
  /** Credit notes. */
  readonly creditNotes: CreditNotesResource;
  /** Incoming e-invoices. */
  readonly incoming: IncomingResource;
  /** Webhook subscriptions. */
  readonly webhooks: WebhooksResource;
  /** The feed of all events. */
  readonly events: EventsResource;
  /** Webhook deliveries. */
  readonly deliveries: DeliveriesResource;
  /** The customer book. */
  readonly customers: BookResource<Customer, CustomerFieldsRequest, CustomerPatch>;
  /** The item catalogue. */
  readonly items: BookResource<CatalogueItem, CatalogueItemFieldsRequest, ItemPatch>;
  /** The company. */
  readonly account: AccountResource;
  /** Revokes the token of the login, if there is one. The next call logs in again. An API key is not revoked. */
  logout(): Promise<void>;
  /**
   * Calls an operation that has no method here, and returns its response. The path begins with /api/ and has no query. GET and DELETE are
   * repeated when they fail; other calls only with an idempotencyKey, which the operation must have according to the API reference.
   */
  request(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, options?: RequestOptions): Promise<{ data: any; pagination?: any }>;
  /** Returns the file of an operation that has no method here. */
  download(path: string, options?: CallOptions & { query?: Record<string, unknown> }): Promise<Uint8Array>;
}

/**
 * Reports whether each of the four states of an invoice is final, as the provider says. It does not say that the document was accepted:
 * see the meaning of each state.
 */
export function isFinal(invoice: Pick<Invoice, "states">): boolean;

/** Options of {@link verifyWebhook}. */
export interface VerifyOptions {
  /** The signing secret of the subscription; during a rotation those of the old and the new one. All of it, whsec_ included. */
  secrets: string | readonly string[];
  /**
   * The greatest age of an event in milliseconds, 7 days by default. A delivery is retried for about a day and can be redelivered later,
   * always with the first timestamp and signature, so a tolerance of minutes would reject genuine retries. Drop duplicates by id.
   */
  toleranceMs?: number;
  /** The clock, Date.now by default. */
  now?: () => number | Date;
}

/** The headers of a request: those of fetch, of Node.js, or a plain object. */
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | readonly string[] | undefined>;

/**
 * Verifies a callback and returns its event. body is the raw body as it came: JSON that was parsed and written again has another
 * signature. It fails with a {@link WebhookVerificationError}; answer 401, or 500 if its reason is no_secret.
 */
export function verifyWebhook(body: string | Uint8Array | ArrayBuffer, headers: WebhookHeaders, options: VerifyOptions): Promise<WebhookEvent>;

/**
 * Returns a handler that handles each event once, because retries and replays have the id of the first delivery. It remembers the last
 * identifiers whose handler succeeded, 1000 by default. An event whose handler failed is handled again when it comes again.
 *
 * The memory is lost with the process and not shared between processes. If a duplicate would do harm, insert the id into a table
 * with a unique key, in the transaction that processes the event.
 */
export function once(handler: (event: WebhookEvent) => unknown, capacity?: number): (event: WebhookEvent) => Promise<void>;

/** Every error of the SDK. No error contains a key, a password or a token. */
export class QuittanceError extends Error {}

/** The options of a client or the arguments of a call are wrong. Nothing was sent. */
export class ConfigurationError extends QuittanceError {}

/** There was no response: the connection failed or broke. The call may have had its effect. */
export class TransportError extends QuittanceError {}

/** There was no response in time. The call may have had its effect. */
export class RequestTimeoutError extends TransportError {}

/** A response that is not one of the API: a page of a proxy, a redirect, not JSON, or more than 16 MiB. */
export class UnreadableResponseError extends QuittanceError {
  /** Method and path of the call. */
  readonly operation: string;
  /** HTTP status. After a 2xx the call has probably had its effect. In a web page it is 0 for a redirect. */
  readonly status: number;
  /** The X-Request-Id of the response, or "". */
  readonly requestId: string;
  /** How long the service asks to wait, in milliseconds; 0 if it does not say. */
  readonly retryAfterMs: number;
  /** The response is too large. Ask for fewer entries per page. */
  readonly tooLarge: boolean;
}

/** An error of the service. Decide by code and status; message is for people. */
export class APIError extends QuittanceError {
  /** Stable code for programs, such as invoice_incomplete. */
  readonly code: string;
  /** Method and path of the call. */
  readonly operation: string;
  /** HTTP status. */
  readonly status: number;
  /** Lists of faults by path, such as items[0].vat_rate, or facts such as invoice_id. */
  readonly details: Record<string, Fault[] | string | number>;
  /** The X-Request-Id of the response, for support. */
  readonly requestId: string;
  /** How long the service asks to wait, in milliseconds; 0 if it does not say. */
  readonly retryAfterMs: number;
}

/** 400, 405, 413, 415 or another 4xx: the request has no usable form. */
export class BadRequestError extends APIError {}
/** 401: the credentials are wrong, or not valid any more. */
export class AuthenticationError extends APIError {}
/** 403: the role of the user or the scopes of the key do not allow the call, or the account is suspended. */
export class PermissionDeniedError extends APIError {}
/** 404: there is no such thing in this company. */
export class NotFoundError extends APIError {}
/** 409: the state of things does not allow the call. */
export class ConflictError extends APIError {}
/** 412: somebody has changed the resource since you read it. */
export class PreconditionFailedError extends APIError {}
/** 422: details has the faults. */
export class ValidationError extends APIError {}
/** 429: retryAfterMs says how long to wait. */
export class RateLimitError extends APIError {}
/** A status from 500. provider_error means that the provider certainly did not take the document. */
export class ServerError extends APIError {}

/** The subscription exists, but the only response with its secret was lost. Deactivate it and create another one. */
export class SecretLostError extends QuittanceError {
  readonly subscription: Subscription;
}

/** The submitted invoice is a draft again: the provider certainly did not accept it. Decide whether to submit it again. */
export class DraftAgainError extends QuittanceError {
  readonly invoice: Invoice;
}

/** A callback cannot be verified. */
export class WebhookVerificationError extends QuittanceError {
  /**
   * no_secret: there is no secret, or an empty one. signature: it matches no secret. timestamp: the event is too old, or in the future. body:
   * it is no event. mismatch: headers and body name different events.
   */
  readonly reason: "no_secret" | "signature" | "timestamp" | "body" | "mismatch";
}
