// The types of the API: what its requests take and its responses contain.
//
// go run ./sdk/generate writes this file from the OpenAPI document; do not edit it.
//
// Later versions of the service may add fields, and values where a union lists the known ones. Times are texts (RFC 3339, UTC).

/** An exact decimal in plain notation, with its scale: "1050.00". */
export type Decimal = string;

export interface APIKey {
  /** When it was created. */
  created_at: string;
  /** E-mail address of the user who created it; null for an administrator. */
  created_by: string | null;
  /** When the key expires; null for never. */
  expires_at: string | null;
  /** Identifier, which logs and the audit log name. */
  id: string;
  /** Last four characters of the key. */
  last_four: string;
  /** When it was used last, to a minute; null for never. */
  last_used_at: string | null;
  /** Address that it was used from then. */
  last_used_from: string | null;
  /** What uses the key. */
  name: string;
  /** Networks that the key is accepted from, in CIDR notation; empty for any. */
  networks: string[];
  /** Beginning of the key, which names its environment. */
  prefix: string;
  /** When it was revoked. */
  revoked_at: string | null;
  /** What the key may do. */
  scopes: ("read" | "write" | "submit" | "webhooks")[];
  /** Only an active key is accepted. */
  state: "active" | "expired" | "revoked";
}

export interface APIKeyRequest {
  /** Time in the future from which the key is not accepted any more (RFC 3339); null for never. */
  expires_at?: string | null;
  /** What uses the key, for people. */
  name: string;
  /**
   * Networks that the key is accepted from, as addresses or in CIDR notation; any if null or empty. A call from
   * elsewhere gets 403.
   */
  networks?: string[] | null;
  /**
   * What the key may do, which is nothing that the role of its maker does not allow: owners give any scope,
   * developers read and webhooks. read: read everything that people can read. write: create, change and delete
   * drafts and credit notes. submit: submit them to the provider. webhooks: read, create and deactivate webhook
   * subscriptions, and deliver again.
   */
  scopes: ("read" | "write" | "submit" | "webhooks")[];
}

export interface Account {
  /** Who makes the call, and what it may do. */
  caller: Caller;
  /** Name of the company. */
  company_name: string;
  /** The active provider connection, or null. Its credential is never shown. */
  connection: Connection | null;
  /** When the account was created. */
  created_at: string;
  /** Identifier. */
  id: string;
  /**
   * How the users have to log in. second_factor requires one of those who log in with a password; who has none can
   * only set one up, in the console. single_sign_on allows no password, neither in the console nor in the API; API
   * keys go on working.
   */
  login_policy: "any" | "second_factor" | "single_sign_on";
  /** The seller's data on invoices. */
  profile: Profile;
  /** The company's quotas and their use. */
  quotas: Quotas;
  /** State of the account. */
  status: "active" | "suspended";
}

export interface AddressProofRequest {
  /** What follows # in the link of the e-mail. */
  code: string;
}

export interface AddressProofRequested {
  /** False if the installation sends no e-mails. */
  requested: boolean;
}

export interface AddressRequest {
  /** The current password. */
  current_password: string;
  /** The new e-mail address. */
  email: string;
  /** Code of the authenticator app, or a recovery code. Required if the user has a second factor. */
  otp?: string | null;
}

export interface Allowance {
  /** Amount without tax (BT-92, of a charge BT-99); if absent, percent of base_amount. */
  amount: Decimal | null;
  /** Amount that percent is of (BT-93, BT-100); goes with percent. */
  base_amount: Decimal | null;
  /** Per cent of base_amount (BT-94, BT-101). */
  percent: Decimal | null;
  /** Reason (BT-97, BT-104). */
  reason: string | null;
  /** Coded reason: of an allowance UNCL5189 (BT-98), of a charge UNCL7161 (BT-105). */
  reason_code: string | null;
  /** Coded reason why no tax is charged (BT-121), if no line of the category has it. */
  tax_exemption_code: string | null;
  /** Why no tax is charged (BT-120), if no line of the category says it. */
  tax_exemption_reason: string | null;
  /** Tax category (BT-95, BT-102, UNCL5305). */
  vat_category: string | null;
  /** Tax rate in per cent (BT-96, BT-103), as in a line. */
  vat_rate: Decimal | null;
}

export interface AllowanceRequest {
  /**
   * Amount without tax (BT-92, of a charge BT-99); if absent, percent of base_amount. A number, or a string that
   * holds one.
   */
  amount?: Decimal | null;
  /** Amount that percent is of (BT-93, BT-100); goes with percent. A number, or a string that holds one. */
  base_amount?: Decimal | null;
  /** Per cent of base_amount (BT-94, BT-101). A number, or a string that holds one. */
  percent?: Decimal | null;
  /** Reason (BT-97, BT-104). */
  reason?: string | null;
  /** Coded reason: of an allowance UNCL5189 (BT-98), of a charge UNCL7161 (BT-105). */
  reason_code?: string | null;
  /** Coded reason why no tax is charged (BT-121), if no line of the category has it. */
  tax_exemption_code?: string | null;
  /** Why no tax is charged (BT-120), if no line of the category says it. */
  tax_exemption_reason?: string | null;
  /** Tax category (BT-95, BT-102, UNCL5305). */
  vat_category?: string | null;
  /** Tax rate in per cent (BT-96, BT-103), as in a line. A number, or a string that holds one. */
  vat_rate?: Decimal | null;
}

export interface Attempt {
  /**
   * The first 1024 bytes of the response body, with bytes that are not UTF-8 replaced; empty if they contain the
   * signing secret.
   */
  answer: string;
  /** How long it took, in milliseconds. */
  duration_ms: number;
  /**
   * Why there was no response: dns, connect, tls, timeout, unsafe_address, protocol, canceled; abandoned if the
   * service stopped before it could record the response.
   */
  error_class: string | null;
  /** HTTP status of the response; null if there was none. */
  http_status: number | null;
  /** When it began (UTC). */
  started_at: string;
}

export interface Attribute {
  /** Name of the property (BT-160). */
  name: string | null;
  /** Value of the property (BT-161). */
  value: string | null;
}

export interface AttributeRequest {
  /** Name of the property (BT-160). */
  name?: string | null;
  /** Value of the property (BT-161). */
  value?: string | null;
}

export interface AuditActor {
  /** A user, an API key, an administrator of the service, or the service itself. */
  kind: "user" | "key" | "administrator" | "system";
  /** E-mail address of the user, or identifier of the key. Null for an administrator. */
  name: string | null;
}

export interface AuditEntry {
  /** What was done: a family and a verb. */
  act: string;
  /** Who did it. */
  actor: AuditActor;
  /** When. */
  at: string;
  /**
   * Identifiers, and in fields the names of the fields that changed, separated by commas; never contents or
   * secrets.
   */
  details: Record<string, string>;
  /** Identifier. */
  id: string;
  /** By what means. */
  means: "api" | "console" | "command_line" | "service";
  /** The X-Request-Id of the request. Null for administrators and the service itself. */
  request_id: string | null;
  /** Network address of the caller. Null for administrators and the service itself. */
  source: string | null;
  /** What it was done to. */
  subject: AuditSubject;
}

export interface AuditSubject {
  /** Its identifier; empty if it has none. */
  id: string;
  /** invoice, credit_note, subscription, delivery, user, account, connection, submission and others. */
  type: string;
}

export interface BothFactorsRequest {
  /** The current password. */
  current_password: string;
  /** Code of the authenticator app, or a recovery code. */
  otp: string;
}

export interface Caller {
  /** Identifier of the API key; null for a user. */
  api_key_id: string | null;
  /** E-mail address of the user; null for an API key. */
  email: string | null;
  /** user for the token of a login, api_key for an API key. */
  kind: "user" | "api_key";
  /** Role of the user; null for an API key. */
  role: "owner" | "accountant" | "developer" | "viewer" | null;
  /** Scopes of the API key; empty for a user, who may do what the role allows. */
  scopes: ("read" | "write" | "submit" | "webhooks")[];
}

export interface CatalogueItem {
  /** Quantity to which the price applies (BT-149); defaults to 1. */
  base_quantity: Decimal | null;
  /** Buyer's item identifier (BT-156). */
  buyer_item_code: string | null;
  /** Classification of the item (BT-158), such as a customs tariff number. */
  commodity_code: string | null;
  /** Scheme of commodity_code (BT-158-1). */
  commodity_scheme: string | null;
  /** Version of commodity_scheme (BT-158-2). */
  commodity_version: string | null;
  /** When the item was created (UTC). */
  created_at: string;
  /** Currency of the prices (ISO 4217). The console copies them to invoices in this currency alone. */
  currency: string | null;
  /** Item description (BT-154); may contain TAB, LF and CR. */
  description: string | null;
  /** Discount on the gross price (BT-147). */
  discount_amount: Decimal | null;
  /** Item gross price before the discount (BT-148). */
  gross_unit_price: Decimal | null;
  /** Identifier. */
  id: string;
  /** Seller's item identifier (BT-155), such as your SKU. It need not be unique. */
  item_code: string | null;
  /** Item name (BT-153). */
  name: string | null;
  /** Item net price (BT-146). */
  net_unit_price: Decimal | null;
  /** Country of origin of the item (BT-159), two capital letters. */
  origin_country: string | null;
  /** Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too. */
  service_code: string | null;
  /** Standard item identifier, such as a GTIN (BT-157). */
  standard_item_code: string | null;
  /** Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN. */
  standard_item_scheme: string | null;
  /** G for goods, S for services, B for both, in the UAE (BTAE-13). */
  supply_type: string | null;
  /** Coded reason why no tax is charged (BT-121). */
  tax_exemption_code: string | null;
  /** Why no tax is charged (BT-120). */
  tax_exemption_reason: string | null;
  /** Unit of measure (BT-130, UN/ECE Recommendation 20/21). */
  unit_code: string | null;
  /** When the item last changed (UTC). */
  updated_at: string;
  /** Tax category (BT-151, UNCL5305). */
  vat_category: string | null;
  /** Tax rate in per cent (BT-152). */
  vat_rate: Decimal | null;
}

export interface CatalogueItemFieldsRequest {
  /** Quantity to which the price applies (BT-149); defaults to 1. A number, or a string that holds one. */
  base_quantity?: Decimal | null;
  /** Buyer's item identifier (BT-156). */
  buyer_item_code?: string | null;
  /** Classification of the item (BT-158), such as a customs tariff number. */
  commodity_code?: string | null;
  /** Scheme of commodity_code (BT-158-1). */
  commodity_scheme?: string | null;
  /** Version of commodity_scheme (BT-158-2). */
  commodity_version?: string | null;
  /** Currency of the prices (ISO 4217). The console copies them to invoices in this currency alone. */
  currency?: string | null;
  /** Item description (BT-154); may contain TAB, LF and CR. */
  description?: string | null;
  /** Discount on the gross price (BT-147). A number, or a string that holds one. */
  discount_amount?: Decimal | null;
  /** Item gross price before the discount (BT-148). A number, or a string that holds one. */
  gross_unit_price?: Decimal | null;
  /** Seller's item identifier (BT-155), such as your SKU. It need not be unique. */
  item_code?: string | null;
  /** Item name (BT-153). */
  name: string;
  /** Item net price (BT-146). A number, or a string that holds one. */
  net_unit_price?: Decimal | null;
  /** Country of origin of the item (BT-159), two capital letters. */
  origin_country?: string | null;
  /** Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too. */
  service_code?: string | null;
  /** Standard item identifier, such as a GTIN (BT-157). */
  standard_item_code?: string | null;
  /** Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN. */
  standard_item_scheme?: string | null;
  /** G for goods, S for services, B for both, in the UAE (BTAE-13). */
  supply_type?: string | null;
  /** Coded reason why no tax is charged (BT-121). */
  tax_exemption_code?: string | null;
  /** Why no tax is charged (BT-120). */
  tax_exemption_reason?: string | null;
  /** Unit of measure (BT-130, UN/ECE Recommendation 20/21). */
  unit_code?: string | null;
  /** Tax category (BT-151, UNCL5305). */
  vat_category?: string | null;
  /** Tax rate in per cent (BT-152). A number, or a string that holds one. */
  vat_rate?: Decimal | null;
}

export interface Computed {
  /** Sum of the allowances on the whole invoice (BT-107). */
  allowances: Decimal | null;
  /** Total less prepaid_amount, plus rounding_amount (BT-115). */
  amount_due: Decimal | null;
  /** Sum of the charges on the whole invoice (BT-108). */
  charges: Decimal | null;
  /** Sum of the amounts of the lines (BT-106), each after its own allowances and charges. */
  lines: Decimal | null;
  /** Total without tax (BT-109): lines less allowances, plus charges. */
  net: Decimal | null;
  /** Sum of the tax per category and rate (BT-110). The categories Z, E, AE, N, G, K and O have no tax. */
  tax: Decimal | null;
  /** Sum of net and tax (BT-112). */
  total: Decimal | null;
}

export interface Connection {
  /** Environment of the provider. */
  environment: "sandbox" | "production";
  /**
   * Time since which no request about a submission has had a usable response from the provider; null if the last
   * one had.
   */
  failing_since: string | null;
  /** Adapter of the connection, such as http. */
  kind: string;
  /**
   * Document format in which invoices are submitted over the connection; drafts are complete only if they can be
   * rendered in it. Null if it has none.
   */
  profile: string | null;
  /** State of the connection. */
  state: "pending" | "active" | "disabled";
}

export interface Contact {
  /** E-mail address (BT-58). */
  email: string | null;
  /** Contact point (BT-56). */
  name: string | null;
  /** Telephone number (BT-57). */
  phone: string | null;
}

export interface ContactRequest {
  /** E-mail address (BT-58). */
  email?: string | null;
  /** Contact point (BT-56). */
  name?: string | null;
  /** Telephone number (BT-57). */
  phone?: string | null;
}

export interface CreditItemRequest {
  /**
   * Credited amount without tax, not 0, with the sign of the line's amount, within the currency's minor unit. A
   * number, or a string that holds one.
   */
  net_amount?: Decimal | null;
  /** Position of the line in the items of the invoice, from 0. */
  position: number;
  /**
   * Credited quantity, not 0, with the sign of the line's quantity. Its net amount is computed with the price of
   * the line. A number, or a string that holds one.
   */
  quantity?: Decimal | null;
}

export interface CreditNote {
  /** When it was created (UTC). */
  created_at: string;
  /** Number of the credit note (BT-1). */
  credit_note_number: string;
  /** Currency of the invoice (BT-5, ISO 4217). */
  currency: string;
  /** Identifier. */
  id: string;
  /** Identifier of the credited invoice. */
  invoice_id: string;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string;
  /** Credited lines. full: in the order of the invoice; partial: in the order in which they were given. */
  items: CreditNoteItem[];
  /** full credits all lines and the total of the invoice. */
  kind: "full" | "partial";
  /** Top-level provider invoice state, verbatim; null if never reported. */
  provider_invoice_state: string | null;
  /** Reason for the credit (BT-22). */
  reason: string;
  /** Coded reason, or null. */
  reason_code: string | null;
  /** Receiver state, verbatim; null if never reported. */
  receiver_state: string | null;
  /** Further information about each of the four states. */
  states: StateDetails;
  /** The current submission, or null. */
  submission: Submission | null;
  /** Provider validation or submission result, verbatim; null if never reported. */
  submission_state: string | null;
  /** True as soon as the intent to submit is stored. It does not mean that the document was delivered. */
  submitted: boolean;
  /** When the intent to submit was stored. */
  submitted_at: string | null;
  /** Tax-authority reporting state, verbatim; null if never reported. */
  tax_authority_state: string | null;
  /**
   * Credited total with tax (BT-112). full: the total_amount of the invoice; partial: the items and their tax,
   * rounded per category and rate.
   */
  total_amount: Decimal;
  /** When it last changed (UTC). */
  updated_at: string;
  /** When it was voided (UTC), which releases its amount; null if it is not void. */
  voided_at: string | null;
}

export interface CreditNoteChangeRequest {
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string;
  /** Reason for the credit (BT-22); may contain TAB, LF and CR. */
  reason: string;
  /** Coded reason, if the document format has a list of them. */
  reason_code?: string | null;
}

export interface CreditNoteItem {
  /** Item name (BT-153). */
  name: string;
  /** Credited amount without tax (BT-131); null in a full credit note if the amount of the line cannot be computed. */
  net_amount: Decimal | null;
  /** Position of the line in the items of the invoice, from 0. */
  position: number;
  /** Credited quantity (BT-129); null if an amount is credited. */
  quantity: Decimal | null;
  /** Unit of measure (BT-130). */
  unit_code: string | null;
  /** Tax category (BT-151). */
  vat_category: string | null;
  /** Tax rate in per cent (BT-152). */
  vat_rate: Decimal | null;
}

/** A merge patch (RFC 7396): null removes a field; an absent one is not changed. */
export interface CreditNotePatch {
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date?: string;
  /** Reason for the credit (BT-22); may contain TAB, LF and CR. */
  reason?: string;
  /** Coded reason, if the document format has a list of them. */
  reason_code?: string | null;
}

export interface CreditNoteRequest {
  /** Number of the credit note (EN 16931 BT-1). Drafts may share a number, submitted credit notes may not. */
  credit_note_number: string;
  /** Identifier of the credited invoice. */
  invoice_id: string;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string;
  /** Items of a partial credit note; absent if kind is full. */
  items?: CreditItemRequest[] | null;
  /** full credits all lines and the total of the invoice; partial credits the given items. */
  kind: "full" | "partial";
  /** Reason for the credit (BT-22); may contain TAB, LF and CR. */
  reason: string;
  /**
   * Coded reason, if the document format has a list of them; in the UAE DL8.61.1.A to E, or VD for a volume
   * discount.
   */
  reason_code?: string | null;
}

export interface CreditNoteSummary {
  /** When it was created (UTC). */
  created_at: string;
  /** Number of the credit note (BT-1). */
  credit_note_number: string;
  /** Currency of the invoice (BT-5, ISO 4217). */
  currency: string;
  /** Identifier. */
  id: string;
  /** Identifier of the credited invoice. */
  invoice_id: string;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string;
  /** Number of credited lines; read the credit note for the lines themselves. */
  item_count: number;
  /** full credits all lines and the total of the invoice. */
  kind: "full" | "partial";
  /** Top-level provider invoice state, verbatim; null if never reported. */
  provider_invoice_state: string | null;
  /** Reason for the credit (BT-22). */
  reason: string;
  /** Coded reason, or null. */
  reason_code: string | null;
  /** Receiver state, verbatim; null if never reported. */
  receiver_state: string | null;
  /** Further information about each of the four states. */
  states: StateDetails;
  /** The current submission, or null. */
  submission: Submission | null;
  /** Provider validation or submission result, verbatim; null if never reported. */
  submission_state: string | null;
  /** True as soon as the intent to submit is stored. It does not mean that the document was delivered. */
  submitted: boolean;
  /** When the intent to submit was stored. */
  submitted_at: string | null;
  /** Tax-authority reporting state, verbatim; null if never reported. */
  tax_authority_state: string | null;
  /**
   * Credited total with tax (BT-112). full: the total_amount of the invoice; partial: the items and their tax,
   * rounded per category and rate.
   */
  total_amount: Decimal;
  /** When it last changed (UTC). */
  updated_at: string;
  /** When it was voided (UTC), which releases its amount; null if it is not void. */
  voided_at: string | null;
}

export interface Cursor {
  /** True if there are further entries now. */
  has_more: boolean;
  /** Cursor for the parameter after of the next request. New entries always come after a returned cursor. */
  next_cursor: string;
}

export interface Customer {
  /** Buyer address line 3 (BT-163). */
  buyer_address_line: string | null;
  /** Buyer city (BT-52). */
  buyer_city: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact: Contact | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name: string | null;
  /** When the customer was created (UTC). */
  created_at: string;
  /** Currency of new invoices to the customer (BT-5, ISO 4217). */
  currency: string | null;
  /**
   * Name by which your people choose the customer, for example of one of several branches; without it,
   * recipient_name.
   */
  display_name: string | null;
  /** Identifier. */
  id: string;
  /** Note on new invoices to the customer (BT-22); may contain TAB, LF and CR. */
  note: string | null;
  /** Payment means of new invoices to the customer (BT-81, UNCL4461). */
  payment_means_code: string | null;
  /** Days from the issue date to the due date of new invoices to the customer. */
  payment_terms_days: number | null;
  /** Buyer name (BT-44). */
  recipient_name: string | null;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id: string | null;
  /** When the customer last changed (UTC). */
  updated_at: string;
}

export interface CustomerFieldsRequest {
  /** Buyer address line 3 (BT-163). */
  buyer_address_line?: string | null;
  /** Buyer city (BT-52). */
  buyer_city?: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact?: ContactRequest | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country?: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme?: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier?: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme?: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id?: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer?: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme?: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code?: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference?: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street?: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional?: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision?: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id?: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name?: string | null;
  /** Currency of new invoices to the customer (BT-5, ISO 4217). */
  currency?: string | null;
  /**
   * Name by which your people choose the customer, for example of one of several branches; without it,
   * recipient_name.
   */
  display_name?: string | null;
  /** Note on new invoices to the customer (BT-22); may contain TAB, LF and CR. */
  note?: string | null;
  /** Payment means of new invoices to the customer (BT-81, UNCL4461). */
  payment_means_code?: string | null;
  /** Days from the issue date to the due date of new invoices to the customer. */
  payment_terms_days?: number | null;
  /** Buyer name (BT-44). */
  recipient_name: string;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id?: string | null;
}

/** A merge patch (RFC 7396): null removes a field; an absent one is not changed. */
export interface CustomerPatch {
  /** Buyer address line 3 (BT-163). */
  buyer_address_line?: string | null;
  /** Buyer city (BT-52). */
  buyer_city?: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact?: ContactRequest | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country?: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme?: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier?: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme?: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id?: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer?: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme?: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code?: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference?: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street?: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional?: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision?: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id?: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name?: string | null;
  /** Currency of new invoices to the customer (BT-5, ISO 4217). */
  currency?: string | null;
  /**
   * Name by which your people choose the customer, for example of one of several branches; without it,
   * recipient_name.
   */
  display_name?: string | null;
  /** Note on new invoices to the customer (BT-22); may contain TAB, LF and CR. */
  note?: string | null;
  /** Payment means of new invoices to the customer (BT-81, UNCL4461). */
  payment_means_code?: string | null;
  /** Days from the issue date to the due date of new invoices to the customer. */
  payment_terms_days?: number | null;
  /** Buyer name (BT-44). */
  recipient_name?: string;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id?: string | null;
}

export interface Deleted {
  /** Always true. The deletion is permanent. */
  deleted: boolean;
  /** Identifier of what was deleted. */
  id: string;
}

export interface Delivery {
  /** Attempts so far. */
  attempt_count: number;
  /** When the event was recorded (UTC). */
  created_at: string;
  /**
   * Event kind. Known values: einvoice.submission.updated, einvoice.status.changed, einvoice.terminal,
   * einvoice.incoming.received, einvoice.incoming.revised. More may come: accept and ignore what you do not know.
   */
  event: string;
  /** UUID of the event, as in X-Webhook-Delivery. */
  event_id: string;
  /** Identifier of the delivery. */
  id: string;
  /** When the next attempt is made; null if there is none. */
  next_attempt_at: string | null;
  /**
   * Why it failed or was blocked: refused, attempts_exhausted, subscription_inactive, subscription_changed,
   * redirect, unsafe_address.
   */
  reason: string | null;
  /** State of the delivery. blocked: this delivery deactivated its subscription. */
  state: "pending" | "delivered" | "failed" | "blocked";
  /** The subscription. */
  subscription_id: string;
  /** When it last changed (UTC). */
  updated_at: string;
}

export interface DeliveryDetail {
  /** Attempts so far. */
  attempt_count: number;
  /** Every attempt, oldest first. */
  attempts: Attempt[];
  /** When the event was recorded (UTC). */
  created_at: string;
  /**
   * Event kind. Known values: einvoice.submission.updated, einvoice.status.changed, einvoice.terminal,
   * einvoice.incoming.received, einvoice.incoming.revised. More may come: accept and ignore what you do not know.
   */
  event: string;
  /** UUID of the event, as in X-Webhook-Delivery. */
  event_id: string;
  /** Identifier of the delivery. */
  id: string;
  /** When the next attempt is made; null if there is none. */
  next_attempt_at: string | null;
  /**
   * Why it failed or was blocked: refused, attempts_exhausted, subscription_inactive, subscription_changed,
   * redirect, unsafe_address.
   */
  reason: string | null;
  /** State of the delivery. blocked: this delivery deactivated its subscription. */
  state: "pending" | "delivered" | "failed" | "blocked";
  /** The subscription. */
  subscription_id: string;
  /** When it last changed (UTC). */
  updated_at: string;
}

export interface DeliveryInformation {
  /** Address line 3 (BT-165). */
  address_line: string | null;
  /** City (BT-77). */
  city: string | null;
  /** Country (BT-80), two capital letters. */
  country: string | null;
  /** Date of the delivery (BT-72), YYYY-MM-DD. */
  date: string | null;
  /** Terms of the delivery in the UAE, a rule of the Incoterms (BTAE-22). */
  incoterms: string | null;
  /** Identifier of the place (BT-71), such as a GLN. */
  location_id: string | null;
  /** Scheme of location_id (BT-71-1, ISO 6523). */
  location_scheme: string | null;
  /** Who received the delivery (BT-70). */
  name: string | null;
  /** Postal code (BT-78). */
  postal_code: string | null;
  /** Address line 1 (BT-75). */
  street: string | null;
  /** Address line 2 (BT-76). */
  street_additional: string | null;
  /** Country subdivision (BT-79). */
  subdivision: string | null;
}

export interface DeliveryInformationRequest {
  /** Address line 3 (BT-165). */
  address_line?: string | null;
  /** City (BT-77). */
  city?: string | null;
  /** Country (BT-80), two capital letters. */
  country?: string | null;
  /** Date of the delivery (BT-72), YYYY-MM-DD. */
  date?: string | null;
  /** Terms of the delivery in the UAE, a rule of the Incoterms (BTAE-22). */
  incoterms?: string | null;
  /** Identifier of the place (BT-71), such as a GLN. */
  location_id?: string | null;
  /** Scheme of location_id (BT-71-1, ISO 6523). */
  location_scheme?: string | null;
  /** Who received the delivery (BT-70). */
  name?: string | null;
  /** Postal code (BT-78). */
  postal_code?: string | null;
  /** Address line 1 (BT-75). */
  street?: string | null;
  /** Address line 2 (BT-76). */
  street_additional?: string | null;
  /** Country subdivision (BT-79). */
  subdivision?: string | null;
}

export interface DirectDebit {
  /** Identifier of the creditor that the bank has assigned (BT-90). */
  creditor_id: string | null;
  /** Account that is debited (BT-91), such as an IBAN. */
  debited_account: string | null;
  /** Reference of the mandate (BT-89). */
  mandate: string | null;
}

export interface DirectDebitRequest {
  /** Identifier of the creditor that the bank has assigned (BT-90). */
  creditor_id?: string | null;
  /** Account that is debited (BT-91), such as an IBAN. */
  debited_account?: string | null;
  /** Reference of the mandate (BT-89). */
  mandate?: string | null;
}

export interface DraftRequest {
  /** Where the buyer books the invoice (BT-19). */
  accounting_reference?: string | null;
  /** Allowances on the whole invoice (BG-20), such as a discount. */
  allowances?: AllowanceRequest[] | null;
  /** Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01). */
  beneficiary_id?: string | null;
  /** Buyer address line 3 (BT-163). */
  buyer_address_line?: string | null;
  /** Buyer city (BT-52). */
  buyer_city?: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact?: ContactRequest | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country?: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme?: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier?: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme?: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id?: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer?: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme?: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code?: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference?: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street?: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional?: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision?: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id?: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name?: string | null;
  /** Charges on the whole invoice (BG-21), such as freight. */
  charges?: AllowanceRequest[] | null;
  /** Contract (BT-12). */
  contract_reference?: string | null;
  /** Value of the contract of a continuous supply in the UAE (BTAE-05). */
  contract_value?: string | null;
  /** Invoice currency (BT-5, ISO 4217). */
  currency: string;
  /** Customs declaration of an export from the UAE (BTAE-21). */
  customs_reference?: string | null;
  /** When, where and to whom goods or services were delivered (BG-13). */
  delivery?: DeliveryInformationRequest | null;
  /** Despatch advice, or delivery note (BT-16). */
  despatch_reference?: string | null;
  /** Mandate by which the seller collects the payment (BG-19). */
  direct_debit?: DirectDebitRequest | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date?: string | null;
  /** Your system's key for the invoice. It has no meaning here and need not be unique. */
  external_id?: string | null;
  /** Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not. */
  invoice_number: string;
  /** What the invoice is about, such as a meter or a subscription (BT-18). */
  invoiced_object?: string | null;
  /** Scheme of invoiced_object (BT-18-1, UNTDID 1153). */
  invoiced_object_scheme?: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string;
  /** Issue time, HH:MM (IBT-168). */
  issue_time?: string | null;
  /** Invoice lines (BG-25). */
  items: ItemRequest[];
  /** Note on the invoice (BT-22); may contain TAB, LF and CR. */
  note?: string | null;
  /** Purchase order (BT-13). */
  order_reference?: string | null;
  /** Who is paid, if it is not the seller (BG-10). */
  payee?: PayeeRequest | null;
  /** Card by which the buyer has paid (BG-18). */
  payment_card?: PaymentCardRequest | null;
  /** Payment means (BT-81, UNCL4461). */
  payment_means_code?: string | null;
  /** Payment means in words (BT-82). */
  payment_means_name?: string | null;
  /** Text by which you recognise the payment (BT-83). */
  payment_reference?: string | null;
  /** Payment terms in words (BT-20); may contain TAB, LF and CR. */
  payment_terms?: string | null;
  /** Period that the invoice is for (BG-14). */
  period?: PeriodRequest | null;
  /** Invoices that this one corrects or continues (BG-3). */
  preceding_invoices?: PrecedingInvoiceRequest[] | null;
  /** What has been paid already (BT-113), within the currency's minor unit. A number, or a string that holds one. */
  prepaid_amount?: Decimal | null;
  /** Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14). */
  principal_id?: string | null;
  /** Project (BT-11). */
  project_reference?: string | null;
  /** Receiving advice of the buyer (BT-15). */
  receipt_reference?: string | null;
  /** Buyer name (BT-44). */
  recipient_name: string;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id?: string | null;
  /**
   * What is added to round the amount due (BT-114), within the currency's minor unit; may be negative. A number, or
   * a string that holds one.
   */
  rounding_amount?: Decimal | null;
  /** Your own number of the order (BT-14). */
  sales_order_reference?: string | null;
  /** Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE always the dirham. */
  tax_currency?: string | null;
  /** Units of the tax currency for one unit of the invoice's (BTAE-04). A number, or a string that holds one. */
  tax_exchange_rate?: Decimal | null;
  /**
   * What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date, 35 for the delivery,
   * 432 for the payment.
   */
  tax_point_code?: string | null;
  /**
   * Date when the tax becomes chargeable, if it is neither the issue date nor that of the delivery (BT-7),
   * YYYY-MM-DD.
   */
  tax_point_date?: string | null;
  /** Who represents the seller towards the tax authority (BG-11). */
  tax_representative?: TaxRepresentativeRequest | null;
  /** Tender or lot (BT-17). */
  tender_reference?: string | null;
  /** Invoice total with tax (BT-112), within the currency's minor unit. A number, or a string that holds one. */
  total_amount: Decimal;
  /**
   * Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin scheme, summary
   * invoice, continuous supply, agent billing, electronic commerce, export (BTAE-02).
   */
  transaction_flags?: string | null;
  /**
   * Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected invoice; by default
   * 380, or 480 of an invoice out of scope of tax in the UAE.
   */
  type_code?: string | null;
}

export interface Error {
  /**
   * Stable code for programs. Known values: account_suspended, credit_note_not_editable,
   * credit_note_submission_disabled, document_unreadable, duplicate_credit_note_number, duplicate_invoice_number,
   * forbidden, idempotency_key_reused, internal, invalid_credentials, invoice_incomplete, invoice_not_acknowledged,
   * invoice_not_editable, limit_reached, malformed_request, method_not_allowed, not_found, otp_required,
   * payload_too_large, precondition_failed, production_not_approved, provider_connection_required, provider_error,
   * rate_limited, second_factor_required, single_sign_on_required, submission_in_progress, subscription_inactive,
   * too_many_rows, unauthenticated, unavailable, unsafe_destination, unsupported_media_type, validation_failed.
   * More may come: go by the HTTP status then.
   */
  code: string;
  /** For validation failures, lists of faults by JSON field path; otherwise further facts, or {}. */
  details: Record<string, Fault[] | string | number>;
  /**
   * Address of the description of the code. It is relative to the address of the service unless that has a public
   * one.
   */
  doc_url: string;
  /** One English sentence for people; may change. */
  message: string;
}

export interface EventIncomingPayload {
  /**
   * Event kind; equals X-Webhook-Event. Known values: einvoice.submission.updated, einvoice.status.changed,
   * einvoice.terminal, einvoice.incoming.received, einvoice.incoming.revised. More may come: accept and ignore what
   * you do not know.
   */
  event: string;
  /** Stable event UUID; equals X-Webhook-Delivery. */
  id: string;
  /** Event time; equals X-Webhook-Timestamp. */
  occurred_at: string;
  payload: IncomingPayload;
  /** Identifier of the resource that the event is about. */
  resource_id: string;
  /** Type of the resource that the event is about. */
  resource_type: "incoming_invoice";
  /** service-webhook-v2 */
  schema_version: string;
}

export interface EventSubmissionPayload {
  /**
   * Event kind; equals X-Webhook-Event. Known values: einvoice.submission.updated, einvoice.status.changed,
   * einvoice.terminal, einvoice.incoming.received, einvoice.incoming.revised. More may come: accept and ignore what
   * you do not know.
   */
  event: string;
  /** Stable event UUID; equals X-Webhook-Delivery. */
  id: string;
  /** Event time; equals X-Webhook-Timestamp. */
  occurred_at: string;
  payload: SubmissionPayload;
  /** Identifier of the resource that the event is about. */
  resource_id: string;
  /** Type of the resource that the event is about. */
  resource_type: "submission";
  /** service-webhook-v2 */
  schema_version: string;
}

export interface EventValue {
  /**
   * Event kind; equals X-Webhook-Event. Known values: einvoice.submission.updated, einvoice.status.changed,
   * einvoice.terminal, einvoice.incoming.received, einvoice.incoming.revised. More may come: accept and ignore what
   * you do not know.
   */
  event: string;
  /** Stable event UUID; equals X-Webhook-Delivery. */
  id: string;
  /** Event time; equals X-Webhook-Timestamp. */
  occurred_at: string;
  payload: SubmissionPayload | IncomingPayload;
  /** Identifier of the resource that the event is about. */
  resource_id: string;
  /** Type of the resource that the event is about. */
  resource_type: "submission" | "incoming_invoice";
  /** service-webhook-v2 */
  schema_version: string;
}

export interface Evidence {
  /** Kind of the request: the submission, a status query, or the request for an event of the provider's queue. */
  call: "submit" | "status" | "event";
  /** Digest of this entry, which covers all its fields and the previous entry. */
  digest: string;
  /** HTTP status of the response. Nothing is derived from it. */
  http_status: number;
  /** Identifier. */
  id: string;
  /** Content-Type of the response as received. */
  media_type: string;
  /** Position in the chain of its submission, from 1 without gaps. */
  ordinal: number;
  /** Digest of the previous entry; all zeros for the first. */
  previous: string;
  /** When it was retained (UTC). */
  received_at: string;
  /** Lowercase hex digest of the retained bytes. */
  sha256: string;
  /** The submission it is about. */
  submission_id: string;
  /** True if only the beginning of the response is retained. */
  truncated: boolean;
  /** True if the response contains a credential; its body is then sealed. */
  withheld: boolean;
  /** The reported state values by dimension, verbatim. */
  words: Record<string, string>;
}

export interface Fault {
  /** What the rule requires. */
  message: string;
  /** This API's name of the violated rule: required, type, max_length, country_unknown … */
  rule: string;
  /** Official identifier of the business rule; absent if there is none. */
  rule_id?: string;
}

export interface Import {
  /** Number of different invoice numbers. */
  drafts: number;
  /** The first 1,000 faults, in the order of the rows. */
  faults: ImportFault[];
  /** Number of drafts that lack fields which submission needs. They can be imported. */
  incomplete: number;
  /** The created drafts in the order of the file; empty after a dry run. */
  invoices: ImportedInvoice[];
  /** Number of the faults that are not listed. */
  more_faults: number;
  /** Number of rows below the header that are not empty. */
  rows: number;
  /** Totals of the drafts by currency, in the order of their first draft. */
  totals: ImportTotal[];
  /**
   * Number of drafts whose invoice number another invoice of the company has already, drafts included. They can be
   * imported.
   */
  used_numbers: number;
  /** True if the file has no faults. Otherwise nothing is stored. */
  valid: boolean;
}

export interface ImportFault {
  /** Name of the column, which is that of the field; empty for the row as a whole. */
  column: string;
  /** What the rule requires. */
  message: string;
  /** Number of the row, as spreadsheets count: the header is row 1. 0 for the file as a whole. */
  row: number;
  /** This API's name of the violated rule: required, type, max_length, country_unknown … */
  rule: string;
  /** Official identifier of the business rule; absent if there is none. */
  rule_id?: string;
  /** Beginning of the text in the cell. */
  value: string;
}

export interface ImportTotal {
  /** Currency (ISO 4217). */
  currency: string;
  /** Number of drafts. */
  drafts: number;
  /** Sum of total_amount. */
  total_amount: Decimal;
}

export interface ImportedInvoice {
  /** Identifier. */
  id: string;
  /** Invoice number. */
  invoice_number: string;
}

export interface IncomingInvoice {
  /** Currency code (BT-5), three capital letters. */
  currency: string | null;
  /** The provider's document type; unreadable if the metadata or the document could not be read or fetched. */
  document_type: string | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date: string | null;
  /** How the revision was retained. */
  evidence: RetentionEvidence;
  /** Identifier. */
  id: string;
  /** Invoice number (EN 16931 BT-1), at most 64 characters. */
  invoice_number: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string | null;
  /** The provider's identifier of the document; sha256: and a digest if the provider gave no usable one. */
  provider_document_id: string;
  /** When the provider received it, according to the provider (UTC). */
  received_at: string | null;
  /** Number of the revision, from 1. Its bytes differ from those of the previous revision. */
  revision: number;
  /**
   * Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document was not received
   * completely.
   */
  sha256: string;
  /** Seller name (BT-27), at most 256 characters. */
  supplier_name: string | null;
  /** Seller identifier in the e-invoicing network (BT-34), at most 64 characters. */
  supplier_network_id: string | null;
  /** Invoice total with tax (BT-112), at most 18 digits. */
  total_amount: Decimal | null;
}

export interface IncomingInvoiceDetail {
  /** Currency code (BT-5), three capital letters. */
  currency: string | null;
  /** The provider's document type; unreadable if the metadata or the document could not be read or fetched. */
  document_type: string | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date: string | null;
  /** How the revision was retained. */
  evidence: RetentionEvidence;
  /** Identifier. */
  id: string;
  /** Invoice number (EN 16931 BT-1), at most 64 characters. */
  invoice_number: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string | null;
  /**
   * Why the document cannot be read: malformed, unsupported, unsafe or limit. Null if it was read, is not retained
   * or is withheld.
   */
  parse_error: Fault | null;
  /**
   * What the document of this revision says; null if it is not retained, is withheld, or cannot be read. The bytes
   * of the document prevail.
   */
  parsed: ParsedDocument | null;
  /** The provider's identifier of the document; sha256: and a digest if the provider gave no usable one. */
  provider_document_id: string;
  /** When the provider received it, according to the provider (UTC). */
  received_at: string | null;
  /** Number of the revision, from 1. Its bytes differ from those of the previous revision. */
  revision: number;
  /**
   * Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document was not received
   * completely.
   */
  sha256: string;
  /** Seller name (BT-27), at most 256 characters. */
  supplier_name: string | null;
  /** Seller identifier in the e-invoicing network (BT-34), at most 64 characters. */
  supplier_network_id: string | null;
  /** Invoice total with tax (BT-112), at most 18 digits. */
  total_amount: Decimal | null;
}

export interface IncomingPayload {
  /** Identifier of the incoming e-invoice. */
  incoming_invoice_id: string;
  /** The provider's identifier of the document. */
  provider_document_id: string;
  /** Number of the revision, from 1. */
  revision: number;
  /** Lowercase hex digest of the retained bytes. */
  sha256: string;
}

export interface IncomingRevision {
  /** Currency code (BT-5), three capital letters. */
  currency: string | null;
  /** The provider's document type; unreadable if the metadata or the document could not be read or fetched. */
  document_type: string | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date: string | null;
  /** How the revision was retained. */
  evidence: RetentionEvidence;
  /** Invoice number (EN 16931 BT-1), at most 64 characters. */
  invoice_number: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string | null;
  /** When the provider received it, according to the provider (UTC). */
  received_at: string | null;
  /** Number of the revision, from 1. Its bytes differ from those of the previous revision. */
  revision: number;
  /**
   * Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document was not received
   * completely.
   */
  sha256: string;
  /** Seller name (BT-27), at most 256 characters. */
  supplier_name: string | null;
  /** Seller identifier in the e-invoicing network (BT-34), at most 64 characters. */
  supplier_network_id: string | null;
  /** Invoice total with tax (BT-112), at most 18 digits. */
  total_amount: Decimal | null;
}

export interface Invitation {
  /** E-mail address of the invited person. */
  email: string;
  /** When the invitation ends, 72 hours after it was made. */
  expires_at: string;
  /** Identifier. */
  id: string;
  /** Role that the person gets. */
  role: "owner" | "accountant" | "developer" | "viewer";
}

export interface InvitationRequest {
  /** E-mail address of the person, with which this person logs in. */
  email: string;
  /** What the person may do. */
  role: "owner" | "accountant" | "developer" | "viewer";
}

export interface Invoice {
  /** Where the buyer books the invoice (BT-19). */
  accounting_reference: string | null;
  /** Allowances on the whole invoice (BG-20), such as a discount. */
  allowances: Allowance[];
  /** What is asked for (BT-115): total_amount less prepaid_amount, plus rounding_amount. */
  amount_due: Decimal | null;
  /** Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01). */
  beneficiary_id: string | null;
  /** Buyer address line 3 (BT-163). */
  buyer_address_line: string | null;
  /** Buyer city (BT-52). */
  buyer_city: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact: Contact | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name: string | null;
  /** Charges on the whole invoice (BG-21), such as freight. */
  charges: Allowance[];
  /**
   * True if missing is empty: nothing is missing for submission or contradicts itself, including what the document
   * format of the connection needs, if it has one.
   */
  complete: boolean;
  /** Contract (BT-12). */
  contract_reference: string | null;
  /** Value of the contract of a continuous supply in the UAE (BTAE-05). */
  contract_value: string | null;
  /** When the draft was created (UTC). */
  created_at: string;
  /** Invoice currency (BT-5, ISO 4217). */
  currency: string | null;
  /** Customs declaration of an export from the UAE (BTAE-21). */
  customs_reference: string | null;
  /** When, where and to whom goods or services were delivered (BG-13). */
  delivery: DeliveryInformation | null;
  /** Despatch advice, or delivery note (BT-16). */
  despatch_reference: string | null;
  /** Mandate by which the seller collects the payment (BG-19). */
  direct_debit: DirectDebit | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date: string | null;
  /** Your system's key for the invoice. It has no meaning here and need not be unique. */
  external_id: string | null;
  /** Identifier. */
  id: string;
  /** Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not. */
  invoice_number: string | null;
  /** What the invoice is about, such as a meter or a subscription (BT-18). */
  invoiced_object: string | null;
  /** Scheme of invoiced_object (BT-18-1, UNTDID 1153). */
  invoiced_object_scheme: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string | null;
  /** Issue time, HH:MM (IBT-168). */
  issue_time: string | null;
  /** Invoice lines (BG-25). */
  items: Item[];
  /**
   * JSON paths of the fields that a submission still needs: those that are missing, and those of a tax that
   * contradicts its category in every document format, such as a rate above 0 of a zero-rated item. warnings has
   * the rule of each contradiction.
   */
  missing: string[];
  /** Note on the invoice (BT-22); may contain TAB, LF and CR. */
  note: string | null;
  /** Purchase order (BT-13). */
  order_reference: string | null;
  /** Who is paid, if it is not the seller (BG-10). */
  payee: Payee | null;
  /** Card by which the buyer has paid (BG-18). */
  payment_card: PaymentCard | null;
  /** Payment means (BT-81, UNCL4461). */
  payment_means_code: string | null;
  /** Payment means in words (BT-82). */
  payment_means_name: string | null;
  /** Text by which you recognise the payment (BT-83). */
  payment_reference: string | null;
  /** Payment terms in words (BT-20); may contain TAB, LF and CR. */
  payment_terms: string | null;
  /** Period that the invoice is for (BG-14). */
  period: Period | null;
  /** Invoices that this one corrects or continues (BG-3). */
  preceding_invoices: PrecedingInvoice[];
  /** What has been paid already (BT-113), within the currency's minor unit. */
  prepaid_amount: Decimal | null;
  /** Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14). */
  principal_id: string | null;
  /** Project (BT-11). */
  project_reference: string | null;
  /** Top-level provider invoice state, verbatim; null if never reported. */
  provider_invoice_state: string | null;
  /** Receiving advice of the buyer (BT-15). */
  receipt_reference: string | null;
  /** Receiver state, verbatim; null if never reported. */
  receiver_state: string | null;
  /** Buyer name (BT-44). */
  recipient_name: string | null;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id: string | null;
  /** What is added to round the amount due (BT-114), within the currency's minor unit; may be negative. */
  rounding_amount: Decimal | null;
  /** Your own number of the order (BT-14). */
  sales_order_reference: string | null;
  /** Further information about each of the four states. */
  states: StateDetails;
  /** The current submission, or null. */
  submission: Submission | null;
  /** Provider validation or submission result, verbatim; null if never reported. */
  submission_state: string | null;
  /** True as soon as the intent to submit is stored. It does not mean that the document was delivered. */
  submitted: boolean;
  /** When the intent to submit was stored. */
  submitted_at: string | null;
  /** Tax-authority reporting state, verbatim; null if never reported. */
  tax_authority_state: string | null;
  /** Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE always the dirham. */
  tax_currency: string | null;
  /** Units of the tax currency for one unit of the invoice's (BTAE-04). */
  tax_exchange_rate: Decimal | null;
  /**
   * What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date, 35 for the delivery,
   * 432 for the payment.
   */
  tax_point_code: string | null;
  /**
   * Date when the tax becomes chargeable, if it is neither the issue date nor that of the delivery (BT-7),
   * YYYY-MM-DD.
   */
  tax_point_date: string | null;
  /** Who represents the seller towards the tax authority (BG-11). */
  tax_representative: TaxRepresentative | null;
  /** Tender or lot (BT-17). */
  tender_reference: string | null;
  /** Invoice total with tax (BT-112), within the currency's minor unit. */
  total_amount: Decimal | null;
  /**
   * Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin scheme, summary
   * invoice, continuous supply, agent billing, electronic commerce, export (BTAE-02).
   */
  transaction_flags: string | null;
  /**
   * Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected invoice; by default
   * 380, or 480 of an invoice out of scope of tax in the UAE.
   */
  type_code: string | null;
  /** When the draft, or the information about its submission, last changed (UTC). */
  updated_at: string;
  /** Advice by JSON path. Warnings about paths that are not in missing do not prevent a submission. */
  warnings: Record<string, Fault[]>;
}

/** A merge patch (RFC 7396): null removes a field; an absent one is not changed. */
export interface InvoicePatch {
  /** Where the buyer books the invoice (BT-19). */
  accounting_reference?: string | null;
  /** Allowances on the whole invoice (BG-20), such as a discount. */
  allowances?: AllowanceRequest[] | null;
  /** Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01). */
  beneficiary_id?: string | null;
  /** Buyer address line 3 (BT-163). */
  buyer_address_line?: string | null;
  /** Buyer city (BT-52). */
  buyer_city?: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact?: ContactRequest | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country?: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme?: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier?: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme?: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id?: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer?: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme?: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code?: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference?: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street?: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional?: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision?: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id?: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name?: string | null;
  /** Charges on the whole invoice (BG-21), such as freight. */
  charges?: AllowanceRequest[] | null;
  /** Contract (BT-12). */
  contract_reference?: string | null;
  /** Value of the contract of a continuous supply in the UAE (BTAE-05). */
  contract_value?: string | null;
  /** Invoice currency (BT-5, ISO 4217). */
  currency?: string;
  /** Customs declaration of an export from the UAE (BTAE-21). */
  customs_reference?: string | null;
  /** When, where and to whom goods or services were delivered (BG-13). */
  delivery?: DeliveryInformationRequest | null;
  /** Despatch advice, or delivery note (BT-16). */
  despatch_reference?: string | null;
  /** Mandate by which the seller collects the payment (BG-19). */
  direct_debit?: DirectDebitRequest | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date?: string | null;
  /** Your system's key for the invoice. It has no meaning here and need not be unique. */
  external_id?: string | null;
  /** Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not. */
  invoice_number?: string;
  /** What the invoice is about, such as a meter or a subscription (BT-18). */
  invoiced_object?: string | null;
  /** Scheme of invoiced_object (BT-18-1, UNTDID 1153). */
  invoiced_object_scheme?: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date?: string;
  /** Issue time, HH:MM (IBT-168). */
  issue_time?: string | null;
  /** Invoice lines (BG-25). */
  items?: ItemRequest[];
  /** Note on the invoice (BT-22); may contain TAB, LF and CR. */
  note?: string | null;
  /** Purchase order (BT-13). */
  order_reference?: string | null;
  /** Who is paid, if it is not the seller (BG-10). */
  payee?: PayeeRequest | null;
  /** Card by which the buyer has paid (BG-18). */
  payment_card?: PaymentCardRequest | null;
  /** Payment means (BT-81, UNCL4461). */
  payment_means_code?: string | null;
  /** Payment means in words (BT-82). */
  payment_means_name?: string | null;
  /** Text by which you recognise the payment (BT-83). */
  payment_reference?: string | null;
  /** Payment terms in words (BT-20); may contain TAB, LF and CR. */
  payment_terms?: string | null;
  /** Period that the invoice is for (BG-14). */
  period?: PeriodRequest | null;
  /** Invoices that this one corrects or continues (BG-3). */
  preceding_invoices?: PrecedingInvoiceRequest[] | null;
  /** What has been paid already (BT-113), within the currency's minor unit. A number, or a string that holds one. */
  prepaid_amount?: Decimal | null;
  /** Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14). */
  principal_id?: string | null;
  /** Project (BT-11). */
  project_reference?: string | null;
  /** Receiving advice of the buyer (BT-15). */
  receipt_reference?: string | null;
  /** Buyer name (BT-44). */
  recipient_name?: string;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id?: string | null;
  /**
   * What is added to round the amount due (BT-114), within the currency's minor unit; may be negative. A number, or
   * a string that holds one.
   */
  rounding_amount?: Decimal | null;
  /** Your own number of the order (BT-14). */
  sales_order_reference?: string | null;
  /** Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE always the dirham. */
  tax_currency?: string | null;
  /** Units of the tax currency for one unit of the invoice's (BTAE-04). A number, or a string that holds one. */
  tax_exchange_rate?: Decimal | null;
  /**
   * What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date, 35 for the delivery,
   * 432 for the payment.
   */
  tax_point_code?: string | null;
  /**
   * Date when the tax becomes chargeable, if it is neither the issue date nor that of the delivery (BT-7),
   * YYYY-MM-DD.
   */
  tax_point_date?: string | null;
  /** Who represents the seller towards the tax authority (BG-11). */
  tax_representative?: TaxRepresentativeRequest | null;
  /** Tender or lot (BT-17). */
  tender_reference?: string | null;
  /** Invoice total with tax (BT-112), within the currency's minor unit. A number, or a string that holds one. */
  total_amount?: Decimal;
  /**
   * Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin scheme, summary
   * invoice, continuous supply, agent billing, electronic commerce, export (BTAE-02).
   */
  transaction_flags?: string | null;
  /**
   * Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected invoice; by default
   * 380, or 480 of an invoice out of scope of tax in the UAE.
   */
  type_code?: string | null;
}

export interface InvoiceSummary {
  /** Where the buyer books the invoice (BT-19). */
  accounting_reference: string | null;
  /** What is asked for (BT-115): total_amount less prepaid_amount, plus rounding_amount. */
  amount_due: Decimal | null;
  /** Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01). */
  beneficiary_id: string | null;
  /** Buyer address line 3 (BT-163). */
  buyer_address_line: string | null;
  /** Buyer city (BT-52). */
  buyer_city: string | null;
  /** Contact at the buyer (BG-9). */
  buyer_contact: Contact | null;
  /** Buyer country (BT-55), two capital letters. */
  buyer_country: string | null;
  /** Electronic address scheme of the buyer (BT-49-1, EAS code). */
  buyer_endpoint_scheme: string | null;
  /** Another identifier of the buyer, such as your customer number or its GLN (BT-46). */
  buyer_identifier: string | null;
  /** Scheme of buyer_identifier (BT-46-1, ISO 6523). */
  buyer_identifier_scheme: string | null;
  /** Buyer legal registration (BT-47). */
  buyer_legal_id: string | null;
  /**
   * Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence
   * (BTAE-11), or the country of a passport.
   */
  buyer_legal_id_issuer: string | null;
  /**
   * Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD
   * (BTAE-16).
   */
  buyer_legal_id_scheme: string | null;
  /** Buyer postal code (BT-53). */
  buyer_postal_code: string | null;
  /** Reference that the buyer asked for (BT-10); defaults to that of the company profile. */
  buyer_reference: string | null;
  /** Buyer address line 1 (BT-50). */
  buyer_street: string | null;
  /** Buyer address line 2 (BT-51). */
  buyer_street_additional: string | null;
  /** Buyer country subdivision (BT-54). */
  buyer_subdivision: string | null;
  /** Buyer tax registration (BT-48). */
  buyer_tax_id: string | null;
  /** Name under which the buyer trades, if it is another one (BT-45). */
  buyer_trading_name: string | null;
  /** True if no field is missing for submission. */
  complete: boolean;
  /** Contract (BT-12). */
  contract_reference: string | null;
  /** Value of the contract of a continuous supply in the UAE (BTAE-05). */
  contract_value: string | null;
  /** When the draft was created (UTC). */
  created_at: string;
  /** Invoice currency (BT-5, ISO 4217). */
  currency: string | null;
  /** Customs declaration of an export from the UAE (BTAE-21). */
  customs_reference: string | null;
  /** When, where and to whom goods or services were delivered (BG-13). */
  delivery: DeliveryInformation | null;
  /** Despatch advice, or delivery note (BT-16). */
  despatch_reference: string | null;
  /** Mandate by which the seller collects the payment (BG-19). */
  direct_debit: DirectDebit | null;
  /** Payment due date (BT-9), YYYY-MM-DD. */
  due_date: string | null;
  /** Your system's key for the invoice. It has no meaning here and need not be unique. */
  external_id: string | null;
  /** Identifier. */
  id: string;
  /** Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not. */
  invoice_number: string | null;
  /** What the invoice is about, such as a meter or a subscription (BT-18). */
  invoiced_object: string | null;
  /** Scheme of invoiced_object (BT-18-1, UNTDID 1153). */
  invoiced_object_scheme: string | null;
  /** Issue date (BT-2), YYYY-MM-DD. */
  issue_date: string | null;
  /** Issue time, HH:MM (IBT-168). */
  issue_time: string | null;
  /** Number of invoice lines; read the invoice for the lines themselves. */
  item_count: number;
  /** JSON paths of the fields that are missing for submission: the first 20. */
  missing: string[];
  /** Number of fields that are missing for submission. */
  missing_count: number;
  /** Note on the invoice (BT-22); may contain TAB, LF and CR. */
  note: string | null;
  /** Purchase order (BT-13). */
  order_reference: string | null;
  /** Who is paid, if it is not the seller (BG-10). */
  payee: Payee | null;
  /** Card by which the buyer has paid (BG-18). */
  payment_card: PaymentCard | null;
  /** Payment means (BT-81, UNCL4461). */
  payment_means_code: string | null;
  /** Payment means in words (BT-82). */
  payment_means_name: string | null;
  /** Text by which you recognise the payment (BT-83). */
  payment_reference: string | null;
  /** Payment terms in words (BT-20); may contain TAB, LF and CR. */
  payment_terms: string | null;
  /** Period that the invoice is for (BG-14). */
  period: Period | null;
  /** What has been paid already (BT-113), within the currency's minor unit. */
  prepaid_amount: Decimal | null;
  /** Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14). */
  principal_id: string | null;
  /** Project (BT-11). */
  project_reference: string | null;
  /** Top-level provider invoice state, verbatim; null if never reported. */
  provider_invoice_state: string | null;
  /** Receiving advice of the buyer (BT-15). */
  receipt_reference: string | null;
  /** Receiver state, verbatim; null if never reported. */
  receiver_state: string | null;
  /** Buyer name (BT-44). */
  recipient_name: string | null;
  /** Buyer identifier in the e-invoicing network (BT-49). */
  recipient_network_id: string | null;
  /** What is added to round the amount due (BT-114), within the currency's minor unit; may be negative. */
  rounding_amount: Decimal | null;
  /** Your own number of the order (BT-14). */
  sales_order_reference: string | null;
  /** Further information about each of the four states. */
  states: StateDetails;
  /** The current submission, or null. */
  submission: Submission | null;
  /** Provider validation or submission result, verbatim; null if never reported. */
  submission_state: string | null;
  /** True as soon as the intent to submit is stored. It does not mean that the document was delivered. */
  submitted: boolean;
  /** When the intent to submit was stored. */
  submitted_at: string | null;
  /** Tax-authority reporting state, verbatim; null if never reported. */
  tax_authority_state: string | null;
  /** Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE always the dirham. */
  tax_currency: string | null;
  /** Units of the tax currency for one unit of the invoice's (BTAE-04). */
  tax_exchange_rate: Decimal | null;
  /**
   * What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date, 35 for the delivery,
   * 432 for the payment.
   */
  tax_point_code: string | null;
  /**
   * Date when the tax becomes chargeable, if it is neither the issue date nor that of the delivery (BT-7),
   * YYYY-MM-DD.
   */
  tax_point_date: string | null;
  /** Who represents the seller towards the tax authority (BG-11). */
  tax_representative: TaxRepresentative | null;
  /** Tender or lot (BT-17). */
  tender_reference: string | null;
  /** Invoice total with tax (BT-112), within the currency's minor unit. */
  total_amount: Decimal | null;
  /**
   * Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin scheme, summary
   * invoice, continuous supply, agent billing, electronic commerce, export (BTAE-02).
   */
  transaction_flags: string | null;
  /**
   * Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected invoice; by default
   * 380, or 480 of an invoice out of scope of tax in the UAE.
   */
  type_code: string | null;
  /** When the draft, or the information about its submission, last changed (UTC). */
  updated_at: string;
  /** Number of paths with advice. */
  warning_count: number;
  /**
   * Advice by JSON path, as of the last change of the draft: the first 20 paths, and those of the company profile.
   * Warnings do not prevent a submission.
   */
  warnings: Record<string, Fault[]>;
}

export interface Item {
  /** Where the buyer books the line (BT-133). */
  accounting_reference: string | null;
  /** Allowances on the line (BG-27). */
  allowances: LineAllowance[];
  /** Properties of the item (BG-32). */
  attributes: Attribute[];
  /** Quantity to which the price applies (BT-149); defaults to 1. */
  base_quantity: Decimal | null;
  /** Buyer's item identifier (BT-156). */
  buyer_item_code: string | null;
  /** Charges on the line (BG-28). */
  charges: LineAllowance[];
  /** Classification of the item (BT-158), such as a customs tariff number. */
  commodity_code: string | null;
  /** Scheme of commodity_code (BT-158-1). */
  commodity_scheme: string | null;
  /** Version of commodity_scheme (BT-158-2). */
  commodity_version: string | null;
  /** Item description (BT-154); may contain TAB, LF and CR. */
  description: string | null;
  /** Discount on the gross price (BT-147). */
  discount_amount: Decimal | null;
  /** Item gross price before the discount (BT-148). */
  gross_unit_price: Decimal | null;
  /** What the line is about, such as a meter (BT-128). */
  invoiced_object: string | null;
  /** Scheme of invoiced_object (BT-128-1, UNTDID 1153). */
  invoiced_object_scheme: string | null;
  /** Seller's item identifier (BT-155). */
  item_code: string | null;
  /** Lot of the item, for the UAE (BTAE-24). */
  lot_number: string | null;
  /** Item name (BT-153). */
  name: string | null;
  /** Item net price (BT-146). */
  net_unit_price: Decimal | null;
  /** Note on the line (BT-127); may contain TAB, LF and CR. */
  note: string | null;
  /** Line of the purchase order (BT-132). */
  order_line_reference: string | null;
  /** Purchase order of the line, in a summary invoice of the UAE (BT-183). */
  order_reference: string | null;
  /** Country of origin of the item (BT-159), two capital letters. */
  origin_country: string | null;
  /** Period that the line is for (BG-26). */
  period: LinePeriod | null;
  /** Invoiced quantity (BT-129). */
  quantity: Decimal | null;
  /** Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too. */
  service_code: string | null;
  /** Standard item identifier, such as a GTIN (BT-157). */
  standard_item_code: string | null;
  /** Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN. */
  standard_item_scheme: string | null;
  /** G for goods, S for services, B for both, in the UAE (BTAE-13). */
  supply_type: string | null;
  /** Coded reason why no tax is charged (BT-121). */
  tax_exemption_code: string | null;
  /** Why no tax is charged (BT-120). */
  tax_exemption_reason: string | null;
  /** Unit of measure (BT-130, UN/ECE Recommendation 20/21). */
  unit_code: string | null;
  /** Tax category (BT-151, UNCL5305). */
  vat_category: string | null;
  /**
   * Tax rate in per cent (BT-152). Above 0 for S; 0 for Z, E, G and K; 0 or absent for O. For AE and N it is
   * information: their tax is 0.
   */
  vat_rate: Decimal | null;
}

/** A merge patch (RFC 7396): null removes a field; an absent one is not changed. */
export interface ItemPatch {
  /** Quantity to which the price applies (BT-149); defaults to 1. A number, or a string that holds one. */
  base_quantity?: Decimal | null;
  /** Buyer's item identifier (BT-156). */
  buyer_item_code?: string | null;
  /** Classification of the item (BT-158), such as a customs tariff number. */
  commodity_code?: string | null;
  /** Scheme of commodity_code (BT-158-1). */
  commodity_scheme?: string | null;
  /** Version of commodity_scheme (BT-158-2). */
  commodity_version?: string | null;
  /** Currency of the prices (ISO 4217). The console copies them to invoices in this currency alone. */
  currency?: string | null;
  /** Item description (BT-154); may contain TAB, LF and CR. */
  description?: string | null;
  /** Discount on the gross price (BT-147). A number, or a string that holds one. */
  discount_amount?: Decimal | null;
  /** Item gross price before the discount (BT-148). A number, or a string that holds one. */
  gross_unit_price?: Decimal | null;
  /** Seller's item identifier (BT-155), such as your SKU. It need not be unique. */
  item_code?: string | null;
  /** Item name (BT-153). */
  name?: string;
  /** Item net price (BT-146). A number, or a string that holds one. */
  net_unit_price?: Decimal | null;
  /** Country of origin of the item (BT-159), two capital letters. */
  origin_country?: string | null;
  /** Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too. */
  service_code?: string | null;
  /** Standard item identifier, such as a GTIN (BT-157). */
  standard_item_code?: string | null;
  /** Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN. */
  standard_item_scheme?: string | null;
  /** G for goods, S for services, B for both, in the UAE (BTAE-13). */
  supply_type?: string | null;
  /** Coded reason why no tax is charged (BT-121). */
  tax_exemption_code?: string | null;
  /** Why no tax is charged (BT-120). */
  tax_exemption_reason?: string | null;
  /** Unit of measure (BT-130, UN/ECE Recommendation 20/21). */
  unit_code?: string | null;
  /** Tax category (BT-151, UNCL5305). */
  vat_category?: string | null;
  /** Tax rate in per cent (BT-152). A number, or a string that holds one. */
  vat_rate?: Decimal | null;
}

export interface ItemRequest {
  /** Where the buyer books the line (BT-133). */
  accounting_reference?: string | null;
  /** Allowances on the line (BG-27). */
  allowances?: LineAllowanceRequest[] | null;
  /** Properties of the item (BG-32). */
  attributes?: AttributeRequest[] | null;
  /** Quantity to which the price applies (BT-149); defaults to 1. A number, or a string that holds one. */
  base_quantity?: Decimal | null;
  /** Buyer's item identifier (BT-156). */
  buyer_item_code?: string | null;
  /** Charges on the line (BG-28). */
  charges?: LineAllowanceRequest[] | null;
  /** Classification of the item (BT-158), such as a customs tariff number. */
  commodity_code?: string | null;
  /** Scheme of commodity_code (BT-158-1). */
  commodity_scheme?: string | null;
  /** Version of commodity_scheme (BT-158-2). */
  commodity_version?: string | null;
  /** Item description (BT-154); may contain TAB, LF and CR. */
  description?: string | null;
  /** Discount on the gross price (BT-147). A number, or a string that holds one. */
  discount_amount?: Decimal | null;
  /** Item gross price before the discount (BT-148). A number, or a string that holds one. */
  gross_unit_price?: Decimal | null;
  /** What the line is about, such as a meter (BT-128). */
  invoiced_object?: string | null;
  /** Scheme of invoiced_object (BT-128-1, UNTDID 1153). */
  invoiced_object_scheme?: string | null;
  /** Seller's item identifier (BT-155). */
  item_code?: string | null;
  /** Lot of the item, for the UAE (BTAE-24). */
  lot_number?: string | null;
  /** Item name (BT-153). */
  name: string;
  /** Item net price (BT-146). A number, or a string that holds one. */
  net_unit_price: Decimal;
  /** Note on the line (BT-127); may contain TAB, LF and CR. */
  note?: string | null;
  /** Line of the purchase order (BT-132). */
  order_line_reference?: string | null;
  /** Purchase order of the line, in a summary invoice of the UAE (BT-183). */
  order_reference?: string | null;
  /** Country of origin of the item (BT-159), two capital letters. */
  origin_country?: string | null;
  /** Period that the line is for (BG-26). */
  period?: LinePeriodRequest | null;
  /** Invoiced quantity (BT-129). A number, or a string that holds one. */
  quantity: Decimal;
  /** Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too. */
  service_code?: string | null;
  /** Standard item identifier, such as a GTIN (BT-157). */
  standard_item_code?: string | null;
  /** Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN. */
  standard_item_scheme?: string | null;
  /** G for goods, S for services, B for both, in the UAE (BTAE-13). */
  supply_type?: string | null;
  /** Coded reason why no tax is charged (BT-121). */
  tax_exemption_code?: string | null;
  /** Why no tax is charged (BT-120). */
  tax_exemption_reason?: string | null;
  /** Unit of measure (BT-130, UN/ECE Recommendation 20/21). */
  unit_code?: string | null;
  /** Tax category (BT-151, UNCL5305). */
  vat_category?: string | null;
  /**
   * Tax rate in per cent (BT-152). Above 0 for S; 0 for Z, E, G and K; 0 or absent for O. For AE and N it is
   * information: their tax is 0. A number, or a string that holds one.
   */
  vat_rate?: Decimal | null;
}

export interface LineAllowance {
  /** Amount without tax (BT-136, of a charge BT-141); if absent, percent of base_amount. */
  amount: Decimal | null;
  /** Amount that percent is of (BT-137, BT-142); goes with percent. */
  base_amount: Decimal | null;
  /** Per cent of base_amount (BT-138, BT-143). */
  percent: Decimal | null;
  /** Reason (BT-139, BT-144). */
  reason: string | null;
  /** Coded reason: of an allowance UNCL5189 (BT-140), of a charge UNCL7161 (BT-145). */
  reason_code: string | null;
}

export interface LineAllowanceRequest {
  /**
   * Amount without tax (BT-136, of a charge BT-141); if absent, percent of base_amount. A number, or a string that
   * holds one.
   */
  amount?: Decimal | null;
  /** Amount that percent is of (BT-137, BT-142); goes with percent. A number, or a string that holds one. */
  base_amount?: Decimal | null;
  /** Per cent of base_amount (BT-138, BT-143). A number, or a string that holds one. */
  percent?: Decimal | null;
  /** Reason (BT-139, BT-144). */
  reason?: string | null;
  /** Coded reason: of an allowance UNCL5189 (BT-140), of a charge UNCL7161 (BT-145). */
  reason_code?: string | null;
}

export interface LinePeriod {
  /** Last day (BT-135), YYYY-MM-DD. */
  end: string | null;
  /** First day (BT-134), YYYY-MM-DD. */
  start: string | null;
}

export interface LinePeriodRequest {
  /** Last day (BT-135), YYYY-MM-DD. */
  end?: string | null;
  /** First day (BT-134), YYYY-MM-DD. */
  start?: string | null;
}

export interface LoggedOut {
  /** Always true. The presented token is revoked. */
  logged_out: boolean;
}

export interface Login {
  account: LoginAccount;
  /** When the token expires. Log in again before that. */
  expires_at: string;
  /**
   * True if an administrator set this password and the user has not changed it yet. The token is valid all the
   * same; change the password with POST /api/v1/client/auth/password.
   */
  password_change_required: boolean;
  /** Bearer token, for the header Authorization: Bearer <token>. */
  token: string;
  user: LoginUser;
}

export interface LoginAccount {
  /** Name of the company. */
  company_name: string;
  /** active; a suspended account is refused at login. */
  status: string;
}

export interface LoginRequest {
  /**
   * The account to log in to. It is needed only if users of several companies have the address and the same
   * password; without it, the one who has proved the address is meant, or else the one who was added first.
   */
  account_id?: string | null;
  /** E-mail address of the user. */
  email: string;
  /**
   * Code of the authenticator app, or a recovery code, which is the only one for a user who has only passkeys.
   * Required if the user has a second factor; otherwise it is ignored.
   */
  otp?: string | null;
  /** Password. */
  password: string;
}

export interface LoginUser {
  /** E-mail address of the user. */
  email: string;
  /** True if the user has proved to have the address, with a link that was mailed to it or by single sign-on. */
  email_proved: boolean;
  /** Name of the user. */
  name: string;
}

export interface NewAPIKey {
  /** When it was created. */
  created_at: string;
  /** E-mail address of the user who created it; null for an administrator. */
  created_by: string | null;
  /** When the key expires; null for never. */
  expires_at: string | null;
  /** Identifier, which logs and the audit log name. */
  id: string;
  /**
   * The key, shown in this response only, for the header Authorization: Bearer <key>. It matches
   * ^qk_(sandbox|production)_[0-9A-Za-z]{49}$.
   */
  key?: string;
  /** Last four characters of the key. */
  last_four: string;
  /** When it was used last, to a minute; null for never. */
  last_used_at: string | null;
  /** Address that it was used from then. */
  last_used_from: string | null;
  /** What uses the key. */
  name: string;
  /** Networks that the key is accepted from, in CIDR notation; empty for any. */
  networks: string[];
  /** Beginning of the key, which names its environment. */
  prefix: string;
  /** When it was revoked. */
  revoked_at: string | null;
  /** What the key may do. */
  scopes: ("read" | "write" | "submit" | "webhooks")[];
  /** Only an active key is accepted. */
  state: "active" | "expired" | "revoked";
}

export interface NewInvitation {
  /** E-mail address of the invited person. */
  email: string;
  /** When the invitation ends, 72 hours after it was made. */
  expires_at: string;
  /** Identifier. */
  id: string;
  /** Role that the person gets. */
  role: "owner" | "accountant" | "developer" | "viewer";
  /**
   * The link that the person opens to choose a password. Send it to this person only: whoever has it can use it.
   * Absent in a response that is replayed for an Idempotency-Key.
   */
  url?: string;
}

export interface NewSubscription {
  /** False after deactivation, which is permanent. */
  active: boolean;
  /** When it was created. */
  created_at: string;
  /** When it was deactivated. */
  deactivated_at: string | null;
  /** requested, redirect or unsafe_address. */
  deactivation_reason: string | null;
  /** A note for people. */
  description: string | null;
  /** Event kinds that are sent. */
  events: string[];
  /**
   * When the first of the attempts began that have failed since one arrived; null if the last one arrived, before
   * the first, and after deactivation.
   */
  failing_since: string | null;
  /** Identifier. */
  id: string;
  /** Signing secret, shown in this response only. The HMAC key is all its ASCII bytes, including whsec_. */
  secret?: string;
  /** Destination exactly as given. */
  url: string;
}

export interface Pagination {
  /** The requested page, from 1. */
  current_page: number;
  /** True if there are further pages. */
  has_more: boolean;
  /** Number of the last page; 1 for an empty list. */
  last_page: number;
  /** Entries on a full page, at most 100; a higher request is treated as 100. */
  per_page: number;
  /** Entries in the whole list; for a truncated list, among the examined ones. */
  total: number;
  /**
   * Present, and true, only if a filtered or sorted list has more than the 20,000 candidates that are examined;
   * narrow the filter.
   */
  truncated?: boolean;
}

export interface ParsedAllowance {
  /** Amount without tax. */
  amount: Decimal | null;
  /** Amount that the percentage applies to. */
  base_amount: Decimal | null;
  /** True for a charge, false for an allowance. */
  charge: boolean;
  /** Percentage. */
  percent: Decimal | null;
  /** Reason. */
  reason: string | null;
  /** Reason code. */
  reason_code: string | null;
  /** Tax category; null on a line, which has its own. */
  vat_category: string | null;
  /** Tax rate in percent; null on a line. */
  vat_rate: Decimal | null;
}

export interface ParsedAttribute {
  /** Name (BT-160). */
  name: string | null;
  /** Value (BT-161). */
  value: string | null;
}

export interface ParsedDates {
  /** Last day (BT-74, BT-135). */
  end: string | null;
  /** First day (BT-73, BT-134). */
  start: string | null;
}

export interface ParsedDelivery {
  /** Address line 3. */
  address_line: string | null;
  /** City. */
  city: string | null;
  /** Country code. */
  country: string | null;
  /** Date (BT-72). */
  date: string | null;
  /** Terms of the delivery (BTAE-22). */
  incoterms: string | null;
  /** Identifier of the place (BT-71). */
  location_id: string | null;
  /** Scheme of location_id (BT-71-1). */
  location_scheme: string | null;
  /** Who received the delivery (BT-70). */
  name: string | null;
  /** Postal code. */
  postal_code: string | null;
  /** Address line 1. */
  street: string | null;
  /** Address line 2. */
  street_additional: string | null;
  /** Subdivision, such as an emirate. */
  subdivision: string | null;
}

export interface ParsedDocument {
  /** Where the buyer books the invoice (BT-19). */
  accounting_reference: string | null;
  /** Allowances and charges on the whole document (BG-20, BG-21). */
  allowances: ParsedAllowance[];
  /**
   * Supporting documents (BG-24): embedded files, and addresses of external ones. This service does not fetch
   * external ones.
   */
  attachments: ParsedFile[];
  /** Beneficiary of a supply that involves a free trade zone (BTAE-01). */
  beneficiary_id: string | null;
  /** Business process type (BT-23), verbatim. */
  business_process: string | null;
  /** Buyer (BG-7). */
  buyer: ParsedParty;
  /** Currency of the amounts (BT-5). */
  currency: string | null;
  /** Delivery (BG-13). */
  delivery: ParsedDelivery | null;
  /** Payment due date (BT-9), without a time zone. */
  due_date: string | null;
  /** Issue date (BT-2), without a time zone. */
  issue_date: string | null;
  /** Issue time (IBT-168), verbatim. */
  issue_time: string | null;
  /** Lines of the document; greater than the length of lines if those are cut. */
  line_count: number;
  /** The first lines (BG-25), at most 1000. */
  lines: ParsedLine[];
  /** Notes (BT-22). */
  notes: string[];
  /** Invoice number (BT-1). */
  number: string | null;
  /**
   * What else the document says: values that have no field here, in the order of the document, and the same again
   * where it repeats what may be there once. The first 500.
   */
  other: ParsedOther[];
  /** How many such values the document has; greater than the length of other if that is cut. */
  other_count: number;
  /** Payee, if not the seller (BG-10). */
  payee: ParsedParty | null;
  /** Payment instructions (BG-16). */
  payment: ParsedPayment;
  /** Invoicing period (BG-14). */
  period: ParsedPeriod | null;
  /** Principal in whose name an agent invoices (BTAE-14). */
  principal_id: string | null;
  /** The document format, if it is one that this service knows. */
  profile: "pint-ae" | "bis3" | null;
  /** Reason of a credit note (BTAE-03). */
  reason_code: string | null;
  /** References to other documents. */
  references: ParsedReferences;
  /** Seller (BG-4). */
  seller: ParsedParty;
  /** Specification identifier (EN 16931 BT-24), verbatim. */
  specification: string | null;
  /** Tax by category and rate (BG-23). */
  tax_breakdown: ParsedTax[];
  /** Accounting currency of the tax (BT-6). */
  tax_currency: string | null;
  /** Exchange rate from the currency to the tax currency. */
  tax_exchange_rate: Decimal | null;
  /** What sets the tax point date (BT-8). */
  tax_point_code: string | null;
  /** Value added tax point date (BT-7), without a time zone. */
  tax_point_date: string | null;
  /** Tax representative of the seller (BG-11). */
  tax_representative: ParsedParty | null;
  /** Totals (BG-22), as the document states them. */
  totals: ParsedTotals;
  /** Transaction type flags (BTAE-02). */
  transaction_flags: string | null;
  /** What the document is. */
  type: "invoice" | "credit_note" | "self_billed_invoice" | "self_billed_credit_note";
  /** Invoice type code (BT-3). */
  type_code: string | null;
  /** The sender's universally unique identifier of the document. */
  uuid: string | null;
  /** Figures that disagree and values that cannot be used, by the path of the value in parsed; {} if there are none. */
  warnings: Record<string, Fault[]>;
}

export interface ParsedFile {
  /** Description (BT-123). */
  description: string | null;
  /** Identifier of the attachment in its revision. */
  id: string;
  /** Media type that the sender states, verbatim; null if it is not embedded. */
  media_type: string | null;
  /** File name (BT-125), verbatim; null if it is not embedded. */
  name: string | null;
  /** The document's own identifier of it (BT-122). */
  reference: string | null;
  /** Size in bytes; null if it is not embedded or not valid base64, and cannot be downloaded. */
  size: number | null;
  /** External address (BT-124), verbatim. Nothing has checked it. */
  url: string | null;
}

export interface ParsedLine {
  /** Where the buyer books the line (BT-133). */
  accounting_reference: string | null;
  /** Allowances and charges on the line (BG-27, BG-28). */
  allowances: ParsedAllowance[];
  /** Properties of the item (BG-32), at most 100. */
  attributes: ParsedAttribute[];
  /** Quantity to which the price applies (BT-149); null if the document states none, which means 1. */
  base_quantity: Decimal | null;
  /** Buyer's item identifier (BT-156). */
  buyer_item_code: string | null;
  /** First classification of the item (BT-158), such as a customs tariff number. */
  commodity_code: string | null;
  /** Scheme of commodity_code (BT-158-1). */
  commodity_scheme: string | null;
  /** Version of commodity_scheme (BT-158-2). */
  commodity_version: string | null;
  /** Item description (BT-154). */
  description: string | null;
  /** Discount on the gross price (BT-147); null if the document states none, which means 0. */
  discount_amount: Decimal | null;
  /** Gross price (BT-148). */
  gross_unit_price: Decimal | null;
  /** Line identifier (BT-126). */
  id: string | null;
  /** What the line is about (BT-128). */
  invoiced_object: string | null;
  /** Scheme of invoiced_object (BT-128-1). */
  invoiced_object_scheme: string | null;
  /** Seller's item identifier (BT-155). */
  item_code: string | null;
  /** Lot of the item (BTAE-24). */
  lot_number: string | null;
  /** Item name (BT-153). */
  name: string | null;
  /** Line amount without tax (BT-131). */
  net: Decimal | null;
  /** Net price (BT-146). */
  net_unit_price: Decimal | null;
  /** Line note (BT-127). */
  note: string | null;
  /** Referenced line of the order (BT-132). */
  order_line_reference: string | null;
  /** Purchase order of the line (BT-183). */
  order_reference: string | null;
  /** Country of origin of the item (BT-159). */
  origin_country: string | null;
  /** Period of the line (BG-26). */
  period: ParsedDates | null;
  /** Quantity (BT-129). */
  quantity: Decimal | null;
  /** Service accounting code (BTAE-17) of an item with another classification too. */
  service_code: string | null;
  /** Standard item identifier (BT-157). */
  standard_item_code: string | null;
  /** Scheme of standard_item_code (BT-157-1). */
  standard_item_scheme: string | null;
  /** G for goods, S for services, B for both (BTAE-13). */
  supply_type: string | null;
  /**
   * Coded reason why no tax is charged, if the line states it as in the UAE; with reverse charge the code of the
   * goods or services (BTAE-09).
   */
  tax_exemption_code: string | null;
  /** Why no tax is charged, if the line states it. */
  tax_exemption_reason: string | null;
  /** Tax of the line in dirhams (BTAE-08). */
  tax_in_tax_currency: Decimal | null;
  /** Amount of the line with tax in dirhams (BTAE-10). */
  total_in_tax_currency: Decimal | null;
  /** Unit of the quantity (BT-130). */
  unit_code: string | null;
  /** Tax category (BT-151). */
  vat_category: string | null;
  /** Tax rate in percent (BT-152); null if the document states none. */
  vat_rate: Decimal | null;
}

export interface ParsedOther {
  /**
   * Where it stands: elements with the usual prefixes of UBL, a number in brackets where there are several, and @
   * before the name of an attribute.
   */
  path: string;
  /** The value, verbatim, and cut after 4096 characters; null for an extension, which is not read. */
  value: string | null;
}

export interface ParsedParty {
  /** Address line 3. */
  address_line: string | null;
  /** City. */
  city: string | null;
  /** E-mail address of the contact. */
  contact_email: string | null;
  /** Contact point. */
  contact_name: string | null;
  /** Telephone number of the contact. */
  contact_phone: string | null;
  /** Country code. */
  country: string | null;
  /** Scheme of network_id. */
  endpoint_scheme: string | null;
  /** First other identifier (BT-29, BT-46). */
  identifier: string | null;
  /** Scheme of identifier. */
  identifier_scheme: string | null;
  /** Additional legal information (BT-33). */
  legal_form: string | null;
  /** Legal registration identifier (BT-30, BT-47). */
  legal_id: string | null;
  /** Authority or country that issued legal_id in the UAE (BTAE-12, BTAE-11). */
  legal_id_issuer: string | null;
  /** Scheme of legal_id (BT-30-1, BT-47-1), or in the UAE its type (BTAE-15, BTAE-16). */
  legal_id_scheme: string | null;
  /** Legal name, or else the trading name (BT-27, BT-44). */
  name: string | null;
  /** Electronic address (BT-34, BT-49). */
  network_id: string | null;
  /** Postal code. */
  postal_code: string | null;
  /** Address line 1. */
  street: string | null;
  /** Address line 2. */
  street_additional: string | null;
  /** Subdivision, such as an emirate. */
  subdivision: string | null;
  /** VAT identifier (BT-31, BT-48). */
  tax_id: string | null;
  /** Another tax registration identifier (BT-32). */
  tax_registration_id: string | null;
  /** Tax that tax_registration_id is of. */
  tax_registration_scheme: string | null;
  /** Trading name (BT-28, BT-45). */
  trading_name: string | null;
}

export interface ParsedPayment {
  /** Identifier of the creditor of a direct debit that the bank has assigned (BT-90). */
  creditor_id: string | null;
  /** Ways to pay (BG-16); a document may offer several. */
  means: ParsedPaymentMeans[];
  /** Payment terms (BT-20). */
  terms: string | null;
}

export interface ParsedPaymentMeans {
  /** Payment account, such as an IBAN (BT-84). */
  account: string | null;
  /** Name of the account (BT-85). */
  account_name: string | null;
  /** Kind of the account (BT-84-1). */
  account_scheme: string | null;
  /** Payment service provider, such as a BIC (BT-86). */
  bank_id: string | null;
  /** Payment card number as stated, usually its last digits (BT-87). */
  card: string | null;
  /** Card holder (BT-88). */
  card_holder: string | null;
  /** Network of the card. */
  card_network: string | null;
  /** Payment means code (BT-81). */
  code: string | null;
  /** Account that is debited (BT-91). */
  debited_account: string | null;
  /** Direct debit mandate (BT-89). */
  mandate: string | null;
  /** Name of the payment means (BT-82). */
  name: string | null;
  /** Remittance information (BT-83). */
  reference: string | null;
}

export interface ParsedPeriod {
  /** The period in words. */
  description: string | null;
  /** Last day (BT-74, BT-135). */
  end: string | null;
  /** How often a continuous supply is invoiced (BTAE-06). */
  frequency: string | null;
  /** First day (BT-73, BT-134). */
  start: string | null;
}

export interface ParsedPreceding {
  /** Issue date (BT-26). */
  issue_date: string | null;
  /** Number (BT-25). */
  number: string | null;
}

export interface ParsedReferences {
  /** Buyer reference (BT-10). */
  buyer: string | null;
  /** Contract (BT-12). */
  contract: string | null;
  /** Value of the contract (BTAE-05). */
  contract_value: string | null;
  /** Customs declaration of an export (BTAE-21). */
  customs: string | null;
  /** Despatch advice (BT-16). */
  despatch: string | null;
  /** What the invoice is about (BT-18). */
  invoiced_object: string | null;
  /** Scheme of invoiced_object (BT-18-1). */
  invoiced_object_scheme: string | null;
  /** Purchase order (BT-13). */
  order: string | null;
  /** Preceding invoices (BG-3). */
  preceding_invoices: ParsedPreceding[];
  /** Project (BT-11). */
  project: string | null;
  /** Receiving advice (BT-15). */
  receipt: string | null;
  /** Sales order (BT-14). */
  sales_order: string | null;
  /** Tender or lot (BT-17). */
  tender: string | null;
}

export interface ParsedTax {
  /** Tax category (BT-118). */
  category: string | null;
  /** Exemption reason code (BT-121). */
  exemption_code: string | null;
  /** Exemption reason (BT-120). */
  exemption_reason: string | null;
  /** Tax rate in percent (BT-119); null if the document states none. */
  rate: Decimal | null;
  /** Tax amount (BT-117). */
  tax: Decimal | null;
  /** Taxable amount (BT-116). */
  taxable: Decimal | null;
}

export interface ParsedTotals {
  /** Sum of the document's allowances (BT-107). */
  allowances: Decimal | null;
  /** Sum of the document's charges (BT-108). */
  charges: Decimal | null;
  /** Sum of the line amounts (BT-106). */
  lines: Decimal | null;
  /** Total without tax (BT-109). */
  net: Decimal | null;
  /** Amount due for payment (BT-115). */
  payable: Decimal | null;
  /** Paid amount (BT-113). */
  prepaid: Decimal | null;
  /** Rounding amount (BT-114). */
  rounding: Decimal | null;
  /** Total tax (BT-110). */
  tax: Decimal | null;
  /** Total tax in the tax currency (BT-111). */
  tax_in_tax_currency: Decimal | null;
  /** Total with tax (BT-112). */
  total: Decimal | null;
  /** Total with tax in dirhams, which a document of the UAE in another currency states. */
  total_in_tax_currency: Decimal | null;
}

export interface PasswordChanged {
  /** Always true. All other tokens of the user are revoked. */
  password_changed: boolean;
}

export interface PasswordRequest {
  /** The current password. */
  current_password: string;
  /** The new password: 15 to 256 characters, neither a common password nor the current one. */
  new_password: string;
}

export interface Payee {
  /** Payee identifier (BT-60). */
  identifier: string | null;
  /** Scheme of identifier (BT-60-1, ISO 6523). */
  identifier_scheme: string | null;
  /** Payee legal registration (BT-61). */
  legal_id: string | null;
  /** Scheme of legal_id (BT-61-1, ISO 6523). */
  legal_id_scheme: string | null;
  /** Payee name (BT-59). */
  name: string | null;
}

export interface PayeeRequest {
  /** Payee identifier (BT-60). */
  identifier?: string | null;
  /** Scheme of identifier (BT-60-1, ISO 6523). */
  identifier_scheme?: string | null;
  /** Payee legal registration (BT-61). */
  legal_id?: string | null;
  /** Scheme of legal_id (BT-61-1, ISO 6523). */
  legal_id_scheme?: string | null;
  /** Payee name (BT-59). */
  name?: string | null;
}

export interface PaymentCard {
  /** Card holder (BT-88). */
  holder: string | null;
  /** Network of the card, which UBL asks for (BG-18). */
  network: string | null;
  /** Card number (BT-87): by the rules of payment cards no more than its first six and last four digits. */
  number: string | null;
}

export interface PaymentCardRequest {
  /** Card holder (BT-88). */
  holder?: string | null;
  /** Network of the card, which UBL asks for (BG-18). */
  network?: string | null;
  /** Card number (BT-87): by the rules of payment cards no more than its first six and last four digits. */
  number?: string | null;
}

export interface Period {
  /** The period in words (BTAE-06). */
  description: string | null;
  /** Last day (BT-74), YYYY-MM-DD. */
  end: string | null;
  /**
   * How often a continuous supply is invoiced in the UAE (BTAE-06): DLY, WKY, Q15, MTH, Q45, Q60, QTR, HYR, YRL, or
   * OTH with an explanation in the note.
   */
  frequency: string | null;
  /** First day (BT-73), YYYY-MM-DD. */
  start: string | null;
}

export interface PeriodRequest {
  /** The period in words (BTAE-06). */
  description?: string | null;
  /** Last day (BT-74), YYYY-MM-DD. */
  end?: string | null;
  /**
   * How often a continuous supply is invoiced in the UAE (BTAE-06): DLY, WKY, Q15, MTH, Q45, Q60, QTR, HYR, YRL, or
   * OTH with an explanation in the note.
   */
  frequency?: string | null;
  /** First day (BT-73), YYYY-MM-DD. */
  start?: string | null;
}

export interface PrecedingInvoice {
  /** Issue date of the preceding invoice (BT-26), YYYY-MM-DD. */
  issue_date: string | null;
  /** Number of the preceding invoice (BT-25). */
  number: string | null;
}

export interface PrecedingInvoiceRequest {
  /** Issue date of the preceding invoice (BT-26), YYYY-MM-DD. */
  issue_date?: string | null;
  /** Number of the preceding invoice (BT-25). */
  number?: string | null;
}

export interface Preflight {
  /**
   * True if missing is empty: nothing is missing for submission or contradicts itself, including what the document
   * format of the connection needs, if it has one.
   */
  complete: boolean;
  /**
   * Totals as the server computes them: lines rounded to the minor unit, or to the digits of the document format of
   * the connection; tax rounded per category and rate.
   */
  computed: Computed;
  /**
   * JSON paths of the fields that a submission still needs: those that are missing, and those of a tax that
   * contradicts its category in every document format, such as a rate above 0 of a zero-rated item. warnings has
   * the rule of each contradiction.
   */
  missing: string[];
  /** Advice by JSON path. Warnings about paths that are not in missing do not prevent a submission. */
  warnings: Record<string, Fault[]>;
}

export interface Profile {
  /** Seller address line 3 (BT-162). */
  address_line: string | null;
  /** Default buyer reference (BT-10). */
  buyer_reference: string | null;
  /** Seller city (BT-37). */
  city: string | null;
  /** E-mail address of the contact (BT-43). */
  contact_email: string | null;
  /** Whom the buyer may ask about an invoice: a person or a department (BT-41). */
  contact_name: string | null;
  /** Telephone number of the contact (BT-42). */
  contact_phone: string | null;
  /** Seller country (BT-40). */
  country: string | null;
  /** Usual currency of the company's invoices (ISO 4217). */
  currency: string | null;
  /** Electronic address of the seller (BT-34). */
  endpoint_id: string | null;
  /** Electronic address scheme of the seller (BT-34-1). */
  endpoint_scheme: string | null;
  /** Another identifier of the seller, such as your GLN (BT-29). */
  identifier: string | null;
  /** Scheme of identifier (BT-29-1, ISO 6523). */
  identifier_scheme: string | null;
  /** Additional legal information about the seller, such as its legal form and capital (BT-33). */
  legal_form: string | null;
  /** Seller name (BT-27). */
  legal_name: string | null;
  /**
   * Issuer of the legal registration, which some kinds require: in the UAE the authority of a trade licence
   * (PINT-AE BTAE-12), or the country of a passport.
   */
  legal_registration_authority: string | null;
  /** Seller legal registration (BT-30). */
  legal_registration_number: string | null;
  /** Kind of the legal registration (PINT-AE BTAE-15). */
  legal_registration_type: string | null;
  /**
   * Logo for printed documents: a PNG or JPEG image as a data URL in base64, at most 65536 bytes, 2048 pixels wide
   * and high. It is not sent to the provider.
   */
  logo: string | null;
  /** Payment account (BT-84). */
  payee_account: string | null;
  /** Name of the payment account (BT-85). */
  payee_account_name: string | null;
  /** Kind of the payment account in the UAE, such as IBAN (BT-84-1). */
  payee_account_scheme: string | null;
  /** Bank of the payment account, such as its BIC (BT-86). */
  payee_bank_id: string | null;
  /** Seller postal code (BT-38). */
  postal_code: string | null;
  /** Seller address line 1 (BT-35). */
  street: string | null;
  /** Seller address line 2 (BT-36). */
  street_additional: string | null;
  /** Seller country subdivision (BT-39). */
  subdivision: string | null;
  /** Seller tax registration of another kind, such as a German Steuernummer (BT-32). */
  tax_registration_id: string | null;
  /** Seller tax registration (BT-31). */
  tax_registration_number: string | null;
  /** Name under which the seller trades, if it is another one (BT-28). */
  trading_name: string | null;
}

export interface Quota {
  /** The limit; null if there is none. */
  limit: number | null;
  /** The present use. */
  used: number;
}

export interface Quotas {
  /** API keys that are neither revoked nor expired. */
  api_keys: Quota;
  /** Entries of the customer book. */
  customers: Quota;
  /** Invoices that were not submitted. */
  drafts: Quota;
  /** Entries of the item catalogue. */
  items: Quota;
  /**
   * Bytes of invoices, credit notes, retained responses and documents, events, and responses stored for idempotency
   * keys.
   */
  stored_bytes: Quota;
  /** Active webhook subscriptions. */
  subscriptions: Quota;
  /** Webhook subscriptions that were ever created, including deactivated ones. */
  subscriptions_created: Quota;
  /**
   * Valid tokens and sessions of the calling user; an API key has none. A login beyond the limit is not refused; it
   * revokes the oldest one.
   */
  tokens: Quota;
}

export interface RecipientLookup {
  /** Whether the recipient can receive documents; null if the provider cannot say. */
  found: boolean | null;
  /** When the provider was asked. */
  looked_up_at: string;
  /** The document formats of this service that the recipient accepts, as far as the provider says: pint-ae, bis3. */
  profiles: string[];
}

export interface RecipientQueryRequest {
  /** Identifier in the e-invoicing network, as recipient_network_id of an invoice. */
  id: string;
  /** Electronic address scheme (EAS code), as buyer_endpoint_scheme of an invoice. */
  scheme: string;
}

export interface RecoveryCodes {
  /** Ten codes. Keep them like passwords. No other response has them; the service stores digests. */
  recovery_codes: string[];
}

export interface Resolution {
  /** When it was decided (UTC). */
  at: string;
  /** Name of the administrator. */
  by: string;
  /**
   * When the provider reported the document although it had been resolved by rejecting it, or null. Two documents
   * may then have been accepted for one invoice.
   */
  contradicted_at: string | null;
  /**
   * resend: sent again under its reference. reject: counted as rejected, so that the invoice can be corrected and
   * submitted again.
   */
  decision: "resend" | "reject";
  /** Reason that the administrator gave. */
  reason: string;
}

export interface RetainedBody {
  /** The bytes in base64 (RFC 4648, section 4); null if they are withheld or were not retained. */
  body_base64: string | null;
  /** Content-Type as it was sent; empty if unknown. */
  media_type: string;
  /** Lowercase hex SHA-256 of the bytes. */
  sha256: string;
  /** True if the bytes contain our credential; they are then sealed and never shown. */
  withheld: boolean;
}

export interface RetentionEvidence {
  /** The digest that the provider's metadata claim. If sha256 differs, sha256 is correct. */
  claimed_sha256: string | null;
  /** Chain digest: SHA-256 over this revision and previous. */
  digest: string;
  /** True if the document's bytes are retained. Of a document of more than 10 MiB, only metadata and digest are. */
  document_retained: boolean;
  /** Content-Type of the document as it was sent, or else as the metadata claim; empty if unknown. */
  media_type: string;
  /** Lowercase hex SHA-256 of the provider's metadata as received, which are retained too. */
  metadata_sha256: string;
  /** Chain digest of the previous revision; all zeros for the first. */
  previous: string;
  /** When it was retained (UTC). */
  retained_at: string;
  /** Size of the document in bytes; null if it was not received completely. */
  size: number | null;
  /** True if document or metadata contain our credential; both are then sealed and never shown. */
  withheld: boolean;
}

export interface SecondFactor {
  /** True if the user has an authenticator app or a passkey, so that a login needs more than the password. */
  enrolled: boolean;
  /** When the oldest second factor that the user has was set up; null without one. */
  enrolled_at: string | null;
  /** How many unused recovery codes are left. */
  recovery_codes_left: number;
}

export interface SecondFactorDisabled {
  /** Always true. All other sessions of the user have ended. */
  disabled: boolean;
}

export interface Session {
  /** What the user logged in to; null if an earlier release of the service began the session. */
  client: "api" | "console" | null;
  /** When the user logged in. */
  created_at: string;
  /** True for the session of the token that this call presents. */
  current: boolean;
  /**
   * Short description of the program and the system, made from the User-Agent of the login. It is what the program
   * says about itself, and proves nothing; null if it said nothing.
   */
  device: string | null;
  /** When the session was ended; null for one that was not. */
  ended_at: string | null;
  /** When the session ends unless it is ended before. */
  expires_at: string;
  /** Identifier. It is no credential. */
  id: string;
  /** When the session was used last, written at most once a minute; null if it was used for less than a minute. */
  last_used_at: string | null;
  /**
   * How the user logged in: with a password, with single sign-on, or with a link that a sandbox prints; null if an
   * earlier release began the session.
   */
  means: "password" | "single_sign_on" | "link" | null;
  /** Network address that the user logged in from; null if it is not known. */
  source: string | null;
  /** The first 256 bytes of the User-Agent of the login; null if there was none. */
  user_agent: string | null;
  /** The user who logged in. */
  user_id: string;
}

export interface SessionsEnded {
  /** How many sessions were ended. */
  ended: number;
}

export interface StateDetail {
  /** Identifier of the retained response that reported the value. */
  evidence_id: string;
  /** True if the provider calls the value final. */
  final: boolean;
  /** Meaning of the value according to the provider; null if the provider does not state it. */
  meaning: "positive" | "negative" | "waiting" | null;
  /** When the response that reported the value was retained (UTC). */
  reported_at: string;
  /** The state value, verbatim. */
  value: string;
}

export interface StateDetails {
  /** About the top-level provider invoice state; null if never reported. */
  provider_invoice_state: StateDetail | null;
  /** About the receiver state; null if never reported. */
  receiver_state: StateDetail | null;
  /** About the provider validation or submission result; null if never reported. */
  submission_state: StateDetail | null;
  /** About the tax-authority reporting state; null if never reported. */
  tax_authority_state: StateDetail | null;
}

export interface Submission {
  /** When the intent to submit was stored. */
  attempted_at: string;
  /** The permanent reference under which the provider has the document. */
  id: string;
  /** When the provider last responded about it. */
  last_checked_at: string | null;
  /**
   * When the provider is queried next, or at the earliest while its connection has failures; null once everything
   * is final.
   */
  next_check_at: string | null;
  /**
   * What this service knows about the submission; it is not a fifth state. rejected is the provider's decision;
   * resolved_rejected is the decision of an administrator of this service about an unknown outcome.
   */
  outcome: "in_progress" | "acknowledged" | "rejected" | "resolved_rejected" | "unknown";
  /** The provider's own identifier of the document, or null. */
  provider_reference: string | null;
  /** Decision of an administrator of this service about an unknown outcome; null if there is none. */
  resolved: Resolution | null;
}

export interface SubmissionPayload {
  /** Identifier of the credit note; absent for an invoice. */
  credit_note_id?: string;
  /** Number of the credit note; absent for an invoice. */
  credit_note_number?: string;
  /** Identifier of the invoice; for a credit note that of the credited invoice. */
  invoice_id: string;
  /** Number of that invoice. */
  invoice_number: string;
  /** Top-level provider invoice state, verbatim; null if never reported. */
  provider_invoice_state: string | null;
  /** Receiver state, verbatim; null if never reported. */
  receiver_state: string | null;
  /** Provider validation or submission result, verbatim; null if never reported. */
  submission_state: string | null;
  /** Tax-authority reporting state, verbatim; null if never reported. */
  tax_authority_state: string | null;
}

export interface SubmissionRecord {
  /** When the intent to submit was stored. */
  attempted_at: string;
  /** The number of the credit note; absent for an invoice. */
  credit_note_number?: string;
  /** True for the submission that the invoice shows. */
  current: boolean;
  /** The permanent reference under which the provider has the document. */
  id: string;
  /** The number of the invoice, for a credit note of the credited one, when it was submitted. */
  invoice_number: string;
  /** When the provider last responded about it. */
  last_checked_at: string | null;
  /**
   * When the provider is queried next, or at the earliest while its connection has failures; null once everything
   * is final.
   */
  next_check_at: string | null;
  /**
   * What this service knows about the submission; it is not a fifth state. rejected is the provider's decision;
   * resolved_rejected is the decision of an administrator of this service about an unknown outcome.
   */
  outcome: "in_progress" | "acknowledged" | "rejected" | "resolved_rejected" | "unknown";
  /** Top-level provider invoice state, verbatim; null if never reported. */
  provider_invoice_state: string | null;
  /** The provider's own identifier of the document, or null. */
  provider_reference: string | null;
  /** Receiver state, verbatim; null if never reported. */
  receiver_state: string | null;
  /** Decision of an administrator of this service about an unknown outcome; null if there is none. */
  resolved: Resolution | null;
  /** Further information about each of the four states. */
  states: StateDetails;
  /** Provider validation or submission result, verbatim; null if never reported. */
  submission_state: string | null;
  /** Tax-authority reporting state, verbatim; null if never reported. */
  tax_authority_state: string | null;
}

export interface Subscription {
  /** False after deactivation, which is permanent. */
  active: boolean;
  /** When it was created. */
  created_at: string;
  /** When it was deactivated. */
  deactivated_at: string | null;
  /** requested, redirect or unsafe_address. */
  deactivation_reason: string | null;
  /** A note for people. */
  description: string | null;
  /** Event kinds that are sent. */
  events: string[];
  /**
   * When the first of the attempts began that have failed since one arrived; null if the last one arrived, before
   * the first, and after deactivation.
   */
  failing_since: string | null;
  /** Identifier. */
  id: string;
  /** Destination exactly as given. */
  url: string;
}

export interface SubscriptionRequest {
  /** A note for people. */
  description?: string | null;
  /** Event kinds to send; defaults to all. */
  events?: ("einvoice.submission.updated" | "einvoice.status.changed" | "einvoice.terminal" | "einvoice.incoming.received" | "einvoice.incoming.revised")[] | null;
  /** HTTPS destination: at most 2048 characters, a public host, no user info, query or fragment. */
  url: string;
}

export interface TOTPConfirmationRequest {
  /** Present code of the new authenticator app. */
  code: string;
  /** The current password; required if the user has no second factor yet. */
  current_password?: string | null;
  /**
   * Code of the present authenticator app, or a recovery code; required if the user has a second factor, which the
   * new app replaces.
   */
  otp?: string | null;
}

export interface TOTPEnrollment {
  /**
   * Address with the secret, for a QR code that the authenticator app reads. Codes are those of RFC 6238 with
   * SHA-1, six digits and steps of 30 seconds.
   */
  otpauth_url: string;
  /** Secret that the service and the authenticator app share, in base32 (RFC 4648). No other response has it. */
  secret: string;
}

export interface TaxRepresentative {
  /** Address line 3 (BT-164). */
  address_line: string | null;
  /** City (BT-66). */
  city: string | null;
  /** Country (BT-69), two capital letters. */
  country: string | null;
  /** Name of the tax representative (BT-62). */
  name: string | null;
  /** Postal code (BT-67). */
  postal_code: string | null;
  /** Address line 1 (BT-64). */
  street: string | null;
  /** Address line 2 (BT-65). */
  street_additional: string | null;
  /** Country subdivision (BT-68). */
  subdivision: string | null;
  /** Tax registration of the tax representative (BT-63). */
  tax_id: string | null;
}

export interface TaxRepresentativeRequest {
  /** Address line 3 (BT-164). */
  address_line?: string | null;
  /** City (BT-66). */
  city?: string | null;
  /** Country (BT-69), two capital letters. */
  country?: string | null;
  /** Name of the tax representative (BT-62). */
  name?: string | null;
  /** Postal code (BT-67). */
  postal_code?: string | null;
  /** Address line 1 (BT-64). */
  street?: string | null;
  /** Address line 2 (BT-65). */
  street_additional?: string | null;
  /** Country subdivision (BT-68). */
  subdivision?: string | null;
  /** Tax registration of the tax representative (BT-63). */
  tax_id?: string | null;
}

export interface User {
  /** False for a user who is disabled and cannot log in. */
  active: boolean;
  /** When the user was added. */
  created_at: string;
  /** E-mail address, with which the user logs in. */
  email: string;
  /**
   * True if the user has proved to have the address, with a link that was mailed to it or by single sign-on. An
   * unproved address gets no e-mails but those with such a link, and the user may lose the login when somebody else
   * proves it.
   */
  email_proved: boolean;
  /** Identifier. */
  id: string;
  /**
   * True for a user who has logged in by single sign-on. The first such login links the user to a person at the
   * OpenID provider, and nobody else there logs in as this user.
   */
  linked: boolean;
  /** Name of the user. */
  name: string;
  /** What the user may do. */
  role: "owner" | "accountant" | "developer" | "viewer";
}

export interface UserChangeRequest {
  /**
   * false prevents the user from logging in, and revokes the tokens of the user and the invitations that the user
   * has made; true allows the login again.
   */
  active: boolean;
  /**
   * The new e-mail address of a colleague, who proves it with a link that is mailed to it. Users change their own
   * with POST /api/v1/client/auth/address.
   */
  email: string;
  /**
   * false ends the link to a person at the OpenID provider, so that the next login by single sign-on makes another
   * one. true is allowed only for a user who is linked.
   */
  linked: boolean;
  /**
   * true also revokes the API keys that the user has made, which otherwise go on working when the user is disabled
   * or gets another role.
   */
  revoke_api_keys: boolean;
  /** The new role. It takes effect with the user's next request. */
  role: "owner" | "accountant" | "developer" | "viewer";
}

/** A merge patch (RFC 7396): null removes a field; an absent one is not changed. */
export interface UserPatch {
  /**
   * false prevents the user from logging in, and revokes the tokens of the user and the invitations that the user
   * has made; true allows the login again.
   */
  active?: boolean;
  /**
   * The new e-mail address of a colleague, who proves it with a link that is mailed to it. Users change their own
   * with POST /api/v1/client/auth/address.
   */
  email?: string;
  /**
   * false ends the link to a person at the OpenID provider, so that the next login by single sign-on makes another
   * one. true is allowed only for a user who is linked.
   */
  linked?: boolean;
  /**
   * true also revokes the API keys that the user has made, which otherwise go on working when the user is disabled
   * or gets another role.
   */
  revoke_api_keys?: boolean;
  /** The new role. It takes effect with the user's next request. */
  role?: "owner" | "accountant" | "developer" | "viewer";
}
