/**
 * The TypeScript SDK of Quittance. Start at {@link Quittance}; {@link verifyWebhook} verifies callbacks.
 *
 * @packageDocumentation
 */

import type { CallOptions, ChangeOptions } from "./queries.js";
import type {
  APIKeysResource,
  AccountResource,
  AuditResource,
  BookResource,
  CreditNotesResource,
  DeliveriesResource,
  EventsResource,
  EvidenceResource,
  IncomingResource,
  InvitationsResource,
  InvoicesResource,
  RecipientsResource,
  SecondFactorResource,
  SessionsResource,
  UsersResource,
  WebhookEvent,
  WebhooksResource,
} from "./resources.js";
import type {
  APIKey,
  CatalogueItem,
  CatalogueItemFieldsRequest,
  Customer,
  CustomerFieldsRequest,
  CustomerPatch,
  Fault,
  Invitation,
  Invoice,
  ItemPatch,
  Login,
  Subscription,
} from "./types.js";

export * from "./queries.js";
export * from "./resources.js";
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

/** Options of {@link Quittance.request}. */
export interface RequestOptions extends ChangeOptions {
  /** The query parameters. */
  query?: Record<string, unknown>;
  /** The body, which is sent as JSON; with a contentType the content of a file. */
  body?: unknown;
  /** The media type of a file, such as text/csv. */
  contentType?: string;
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
  /** The bodies of evidence. */
  readonly evidence: EvidenceResource;
  /** The buyers that the provider can reach. */
  readonly recipients: RecipientsResource;
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
  /** The users of the company. */
  readonly users: UsersResource;
  /** Invitations of people. */
  readonly invitations: InvitationsResource;
  /** API keys. */
  readonly apiKeys: APIKeysResource;
  /** Sessions of users. */
  readonly sessions: SessionsResource;
  /** The second factor of the user. */
  readonly secondFactor: SecondFactorResource;
  /** The audit log. */
  readonly audit: AuditResource;
  /**
   * Logs in now, and later calls use the new token. Calling it is optional: the first call logs in, and so does a call whose token is no
   * longer valid. It fails with {@link AuthenticationError} for wrong credentials, and {@link ConfigurationError} for a client with an API key.
   */
  login(options?: Pick<CallOptions, "signal">): Promise<Login>;
  /**
   * Changes the password to one of 15 to 256 characters, which the client uses from then on. All other tokens of the user are revoked. The
   * call is never repeated: after a {@link TransportError}, either password may be the current one. It fails with {@link ConfigurationError}
   * for a client with an API key.
   */
  changePassword(password: string, options?: CallOptions): Promise<void>;
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
 * Returns the value of X-Webhook-Signature, for the tests of your handler: "v1=" and the lowercase hex HMAC SHA-256 of the timestamp, a dot
 * and the raw body. The key is all of the secret, whsec_ included. timestamp is the value of X-Webhook-Timestamp.
 */
export function signWebhook(secret: string, timestamp: string, body: string | Uint8Array | ArrayBuffer): Promise<string>;

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

/** The API key exists, but the only response with the key itself was lost. Revoke it and create another one. */
export class KeyLostError extends QuittanceError {
  /** What is known of the key, without the key itself. */
  readonly apiKey: APIKey;
}

/** The invitation exists, but the only response with its link was lost. Invite the person again, which replaces the invitation. */
export class LinkLostError extends QuittanceError {
  readonly invitation: Invitation;
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
