/** The methods of each resource. */

import type {
  AuditQuery,
  BookQuery,
  CallOptions,
  ChangeOptions,
  CreditNoteQuery,
  DeliveryQuery,
  DocumentOptions,
  EventQuery,
  ExportFormat,
  Feed,
  Filters,
  IncomingInvoiceQuery,
  InvoiceQuery,
  List,
  ListQuery,
  SessionQuery,
  WaitOptions,
} from "./queries.js";
import type {
  APIKey,
  APIKeyRequest,
  Account,
  AddressProofRequested,
  AuditEntry,
  CreditNote,
  CreditNotePatch,
  CreditNoteRequest,
  CreditNoteSummary,
  Deleted,
  Delivery,
  DeliveryDetail,
  DraftRequest,
  EventIncomingPayload,
  EventSubmissionPayload,
  Evidence,
  Import,
  IncomingInvoice,
  IncomingInvoiceDetail,
  IncomingRevision,
  Invitation,
  InvitationRequest,
  Invoice,
  InvoicePatch,
  InvoiceSummary,
  NewAPIKey,
  NewInvitation,
  NewSubscription,
  Preflight,
  RecipientLookup,
  RecipientQueryRequest,
  RecoveryCodes,
  RetainedBody,
  SecondFactor,
  SecondFactorDisabled,
  Session,
  SessionsEnded,
  SubmissionRecord,
  Subscription,
  SubscriptionRequest,
  TOTPEnrollment,
  User,
  UserPatch,
} from "./types.js";

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
  /** Deletes a draft permanently. It can fail with NotFoundError if the response of an earlier attempt was lost. */
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
   * Submits an invoice once and reads it, at growing intervals, until all four states are final (isFinal). It also
   * returns when no more changes can come, because the provider has rejected the document or the service no longer asks, and
   * when its time is over. So look at the invoice that it returns. An unknown outcome is no error: it goes on waiting. It
   * fails with DraftAgainError if it turns out that the provider did not accept the document.
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
  /**
   * Returns the invoices that match the query as a file: one row for each, or with rows "items" one for each item, in the columns of an
   * import. It fails with ValidationError and the code too_many_rows if the list is too long. The time-out covers the whole file.
   */
  export(format: ExportFormat, query?: Filters<InvoiceQuery> & { rows?: "invoices" | "items" }, options?: CallOptions): Promise<Uint8Array>;
  /**
   * Creates the drafts of a file, all or none: CSV as text or bytes, or the bytes of an XLSX file. sheet names a worksheet of an XLSX
   * file, the first one by default. It fails with ValidationError if the file has faults; details names their rows and columns.
   */
  importFile(file: string | Uint8Array, options?: ChangeOptions & { sheet?: string }): Promise<Import>;
  /** Reads a file as importFile does and stores nothing. The result lists the faults. */
  checkImport(file: string | Uint8Array, options?: CallOptions & { sheet?: string }): Promise<Import>;
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
  /** Returns the credit notes that match the query as a file, as {@link InvoicesResource.export} does. */
  export(format: ExportFormat, query?: Filters<CreditNoteQuery>, options?: CallOptions): Promise<Uint8Array>;
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
  /** Returns the e-invoices that match the query as a file, as {@link InvoicesResource.export} does. */
  export(format: ExportFormat, query?: Filters<IncomingInvoiceQuery>, options?: CallOptions): Promise<Uint8Array>;
}

/** What the provider has responded, as it was retained. */
export interface EvidenceResource {
  /** Returns the bytes of one entry of the evidence of an invoice or a credit note. */
  get(id: string, options?: CallOptions): Promise<RetainedBody>;
}

/** The buyers that the provider can reach. */
export interface RecipientsResource {
  /**
   * Asks the provider whether the buyer with an electronic address can receive documents. The answer is advice; found is null if the
   * provider cannot say. The call waits for the provider, up to 20 seconds.
   */
  lookup(recipient: RecipientQueryRequest, options?: CallOptions): Promise<RecipientLookup>;
}

/** Webhook subscriptions. */
export interface WebhooksResource {
  /** Lists subscriptions, newest first, the deactivated ones included. */
  list(query?: ListQuery, options?: CallOptions): List<Subscription>;
  /** Returns a subscription without its secret. */
  get(id: string, options?: CallOptions): Promise<Subscription>;
  /**
   * Subscribes an HTTPS destination. Only this response has the signing secret: store it. It fails with SecretLostError if an
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

/** The users of the company. Owners change them. */
export interface UsersResource {
  /** Lists users, oldest first. */
  list(query?: ListQuery, options?: CallOptions): List<User>;
  /** Changes the role of a user, or disables or enables one. The last active owner cannot be changed. */
  update(id: string, patch: UserPatch, options?: ChangeOptions): Promise<User>;
  /** Removes a colleague, or the caller. The last active owner cannot be removed. */
  remove(id: string, options?: CallOptions): Promise<User>;
  /** Changes the caller's e-mail address, which is unproved until the link that is mailed to it was used. otp is a code of the second factor, if there is one. */
  changeAddress(email: string, options?: CallOptions & { otp?: string }): Promise<User>;
  /** Asks for an e-mail with a link that proves the caller's address. */
  requestAddressProof(options?: CallOptions): Promise<AddressProofRequested>;
  /** Proves the caller's address with the code of the link in that e-mail. */
  proveAddress(code: string, options?: CallOptions): Promise<User>;
  /** Removes the second factor of a colleague who cannot use it any more, and ends all sessions of the colleague. */
  resetSecondFactor(id: string, options?: ChangeOptions): Promise<User>;
}

/** Invitations of people, each for one person and once. */
export interface InvitationsResource {
  /** Lists invitations that were not used yet, newest first. */
  list(query?: ListQuery, options?: CallOptions): List<Invitation>;
  /**
   * Invites a person. Only this response has the link, as url: send it to the person. It fails with LinkLostError if an earlier
   * attempt has made the invitation and its response was lost.
   */
  create(invitation: InvitationRequest, options?: ChangeOptions): Promise<NewInvitation>;
  /** Ends an invitation. */
  revoke(id: string, options?: ChangeOptions): Promise<Invitation>;
}

/** API keys, the credentials of machines. Users manage them; no API key can. */
export interface APIKeysResource {
  /** Lists keys, newest first, including those that were revoked or have expired. */
  list(query?: ListQuery, options?: CallOptions): List<APIKey>;
  /**
   * Creates a key. Only this response has it, as key: store it. It fails with KeyLostError if an earlier attempt has created the
   * key and its response was lost.
   */
  create(apiKey: APIKeyRequest, options?: ChangeOptions): Promise<NewAPIKey>;
  /** Revokes a key at once and for good. */
  revoke(id: string, options?: ChangeOptions): Promise<APIKey>;
}

/** Sessions, each from a login to its end. */
export interface SessionsResource {
  /** Lists sessions of the user that have not ended, the last begun first. */
  list(query?: SessionQuery, options?: CallOptions): List<Session>;
  /** Ends a session at once. If it is that of the client, the next call logs in again. */
  end(id: string, options?: ChangeOptions): Promise<Session>;
  /** Ends all sessions of the user but that of the client, and returns how many there were. */
  endOthers(options?: ChangeOptions): Promise<SessionsEnded>;
}

/**
 * The second factor of the user: an authenticator app (TOTP) and recovery codes. Its changes take no idempotency key and are sent once; after a
 * TransportError, get says whether there is a second factor.
 */
export interface SecondFactorResource {
  /** Returns the state of the second factor. */
  get(options?: CallOptions): Promise<SecondFactor>;
  /** Makes the secret of an authenticator app. It replaces nothing until confirmTotp. */
  beginTotp(options?: CallOptions): Promise<TOTPEnrollment>;
  /**
   * Makes the authenticator app that shows code the second factor. Only this response has the recovery codes. otp is a code of the present
   * second factor, if there is one; the first one needs the password of the client. Later logins need the otp of the client.
   */
  confirmTotp(code: string, options?: CallOptions & { otp?: string }): Promise<RecoveryCodes>;
  /** Removes the second factor, and ends the other sessions of the user. otp is a code of the app, or a recovery code. */
  disableTotp(otp: string, options?: CallOptions): Promise<SecondFactorDisabled>;
  /** Replaces the recovery codes. Only this response has the new ones. */
  replaceRecoveryCodes(otp: string, options?: CallOptions): Promise<RecoveryCodes>;
}

/** The audit log of the company, which only owners read. */
export interface AuditResource {
  /** Lists entries, newest first. */
  list(query?: AuditQuery, options?: CallOptions): List<AuditEntry>;
}
