/** What calls take and lists return. */

import type { Cursor, Invoice, Pagination } from "./types.js";

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

/** Options of a call that takes a document format. */
export interface DocumentOptions extends CallOptions {
  /** The document format, pint-ae or bis3; that of the company's connection by default. */
  profile?: "pint-ae" | "bis3";
}

/** Options of submitAndWait. */
export interface WaitOptions {
  /** How long to wait, in milliseconds; 120,000 by default. */
  timeoutMs?: number;
  /** The condition to wait for; isFinal by default. */
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

/** Selects sessions of a list. */
export interface SessionQuery extends ListQuery {
  /** A colleague, whose sessions an owner reads; the caller by default. */
  user_id?: string;
}

/** Selects entries of the audit log. */
export interface AuditQuery extends ListQuery {
  /** E-mail address of a user, identifier of an API key, administrator or system. */
  actor?: string;
  /** An act, such as draft.create, or a family of acts, such as draft. */
  act?: string;
  /** The identifier of what the act was done to. */
  subject_id?: string;
  /** The earliest time. */
  from?: string | Date;
  /** The time before which the acts were done. */
  to?: string | Date;
}

/** The filters of a query, for a file, which has no pages. */
export type Filters<Query extends ListQuery> = Omit<Query, "per_page">;

/** The format of a file with a list: CSV (RFC 4180, UTF-8 with a byte order mark), or Office Open XML. */
export type ExportFormat = "csv" | "xlsx";

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
