"""The types of the API: what its requests take and its responses contain.

go run ./sdk/generate writes this file from the OpenAPI document; do not edit it.

The types are those of JSON: a response is a dictionary with the field names of the API, and null
is None. Later versions of the service may add fields, and values where a Literal lists the known
ones. Decimals are decimal.Decimal, exact and with their scale. Times are texts (RFC 3339, UTC).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NotRequired, TypedDict


class APIKey(TypedDict):
    """What a response contains."""

    #: When it was created.
    created_at: str
    #: E-mail address of the user who created it; null for an administrator.
    created_by: str | None
    #: When the key expires; null for never.
    expires_at: str | None
    #: Identifier, which logs and the audit log name.
    id: str
    #: Last four characters of the key.
    last_four: str
    #: When it was used last, to a minute; null for never.
    last_used_at: str | None
    #: Address that it was used from then.
    last_used_from: str | None
    #: What uses the key.
    name: str
    #: Networks that the key is accepted from, in CIDR notation; empty for any.
    networks: list[str]
    #: Beginning of the key, which names its environment.
    prefix: str
    #: When it was revoked.
    revoked_at: str | None
    #: What the key may do.
    scopes: list[Literal["read", "write", "submit", "webhooks"]]
    #: Only an active key is accepted.
    state: Literal["active", "expired", "revoked"]


class APIKeyRequest(TypedDict):
    """The body of a request."""

    #: Time in the future from which the key is not accepted any more (RFC 3339); null for never.
    expires_at: NotRequired[str | None]
    #: What uses the key, for people.
    name: str
    #: Networks that the key is accepted from, as addresses or in CIDR notation; any if null or
    #: empty. A call from elsewhere gets 403.
    networks: NotRequired[list[str] | None]
    #: What the key may do, which is nothing that the role of its maker does not allow: owners give
    #: any scope, developers read and webhooks. read: read everything that people can read. write:
    #: create, change and delete drafts and credit notes. submit: submit them to the provider.
    #: webhooks: read, create and deactivate webhook subscriptions, and deliver again.
    scopes: list[Literal["read", "write", "submit", "webhooks"]]


class Account(TypedDict):
    """What a response contains."""

    #: Who makes the call, and what it may do.
    caller: Caller
    #: Name of the company.
    company_name: str
    #: The active provider connection, or null. Its credential is never shown.
    connection: Connection | None
    #: When the account was created.
    created_at: str
    #: Identifier.
    id: str
    #: How the users have to log in. second_factor requires one of those who log in with a
    #: password; who has none can only set one up, in the console. single_sign_on allows no
    #: password, neither in the console nor in the API; API keys go on working.
    login_policy: Literal["any", "second_factor", "single_sign_on"]
    #: The seller's data on invoices.
    profile: Profile
    #: The company's quotas and their use.
    quotas: Quotas
    #: State of the account.
    status: Literal["active", "suspended"]


class AddressProofRequest(TypedDict):
    """The body of a request."""

    #: What follows # in the link of the e-mail.
    code: str


class AddressProofRequested(TypedDict):
    """What a response contains."""

    #: False if the installation sends no e-mails.
    requested: bool


class AddressRequest(TypedDict):
    """The body of a request."""

    #: The current password.
    current_password: str
    #: The new e-mail address.
    email: str
    #: Code of the authenticator app, or a recovery code. Required if the user has a second factor.
    otp: NotRequired[str | None]


class Allowance(TypedDict):
    """A part of Invoice."""

    #: Amount without tax (BT-92, of a charge BT-99); if absent, percent of base_amount.
    amount: Decimal | None
    #: Amount that percent is of (BT-93, BT-100); goes with percent.
    base_amount: Decimal | None
    #: Per cent of base_amount (BT-94, BT-101).
    percent: Decimal | None
    #: Reason (BT-97, BT-104).
    reason: str | None
    #: Coded reason: of an allowance UNCL5189 (BT-98), of a charge UNCL7161 (BT-105).
    reason_code: str | None
    #: Coded reason why no tax is charged (BT-121), if no line of the category has it.
    tax_exemption_code: str | None
    #: Why no tax is charged (BT-120), if no line of the category says it.
    tax_exemption_reason: str | None
    #: Tax category (BT-95, BT-102, UNCL5305).
    vat_category: str | None
    #: Tax rate in per cent (BT-96, BT-103), as in a line.
    vat_rate: Decimal | None


class AllowanceRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Amount without tax (BT-92, of a charge BT-99); if absent, percent of base_amount. A number,
    #: or a string that holds one.
    amount: NotRequired[Decimal | int | str | None]
    #: Amount that percent is of (BT-93, BT-100); goes with percent. A number, or a string that
    #: holds one.
    base_amount: NotRequired[Decimal | int | str | None]
    #: Per cent of base_amount (BT-94, BT-101). A number, or a string that holds one.
    percent: NotRequired[Decimal | int | str | None]
    #: Reason (BT-97, BT-104).
    reason: NotRequired[str | None]
    #: Coded reason: of an allowance UNCL5189 (BT-98), of a charge UNCL7161 (BT-105).
    reason_code: NotRequired[str | None]
    #: Coded reason why no tax is charged (BT-121), if no line of the category has it.
    tax_exemption_code: NotRequired[str | None]
    #: Why no tax is charged (BT-120), if no line of the category says it.
    tax_exemption_reason: NotRequired[str | None]
    #: Tax category (BT-95, BT-102, UNCL5305).
    vat_category: NotRequired[str | None]
    #: Tax rate in per cent (BT-96, BT-103), as in a line. A number, or a string that holds one.
    vat_rate: NotRequired[Decimal | int | str | None]


class Attempt(TypedDict):
    """A part of DeliveryDetail."""

    #: The first 1024 bytes of the response body, with bytes that are not UTF-8 replaced; empty if
    #: they contain the signing secret.
    answer: str
    #: How long it took, in milliseconds.
    duration_ms: Decimal
    #: Why there was no response: dns, connect, tls, timeout, unsafe_address, protocol, canceled;
    #: abandoned if the service stopped before it could record the response.
    error_class: str | None
    #: HTTP status of the response; null if there was none.
    http_status: int | None
    #: When it began (UTC).
    started_at: str


class Attribute(TypedDict):
    """A part of Item."""

    #: Name of the property (BT-160).
    name: str | None
    #: Value of the property (BT-161).
    value: str | None


class AttributeRequest(TypedDict):
    """A part of ItemRequest."""

    #: Name of the property (BT-160).
    name: NotRequired[str | None]
    #: Value of the property (BT-161).
    value: NotRequired[str | None]


class AuditActor(TypedDict):
    """A part of AuditEntry."""

    #: A user, an API key, an administrator of the service, or the service itself.
    kind: Literal["user", "key", "administrator", "system"]
    #: E-mail address of the user, or identifier of the key. Null for an administrator.
    name: str | None


class AuditEntry(TypedDict):
    """What a response contains."""

    #: What was done: a family and a verb.
    act: str
    #: Who did it.
    actor: AuditActor
    #: When.
    at: str
    #: Identifiers, and in fields the names of the fields that changed, separated by commas; never
    #: contents or secrets.
    details: dict[str, str]
    #: Identifier.
    id: str
    #: By what means.
    means: Literal["api", "console", "command_line", "service"]
    #: The X-Request-Id of the request. Null for administrators and the service itself.
    request_id: str | None
    #: Network address of the caller. Null for administrators and the service itself.
    source: str | None
    #: What it was done to.
    subject: AuditSubject


class AuditSubject(TypedDict):
    """A part of AuditEntry."""

    #: Its identifier; empty if it has none.
    id: str
    #: invoice, credit_note, subscription, delivery, user, account, connection, submission and
    #: others.
    type: str


class BothFactorsRequest(TypedDict):
    """The body of a request."""

    #: The current password.
    current_password: str
    #: Code of the authenticator app, or a recovery code.
    otp: str


class Caller(TypedDict):
    """A part of Account."""

    #: Identifier of the API key; null for a user.
    api_key_id: str | None
    #: E-mail address of the user; null for an API key.
    email: str | None
    #: user for the token of a login, api_key for an API key.
    kind: Literal["user", "api_key"]
    #: Role of the user; null for an API key.
    role: Literal["owner", "accountant", "developer", "viewer", ""] | None
    #: Scopes of the API key; empty for a user, who may do what the role allows.
    scopes: list[Literal["read", "write", "submit", "webhooks"]]


class CatalogueItem(TypedDict):
    """What a response contains."""

    #: Quantity to which the price applies (BT-149); defaults to 1.
    base_quantity: Decimal | None
    #: Buyer's item identifier (BT-156).
    buyer_item_code: str | None
    #: Classification of the item (BT-158), such as a customs tariff number.
    commodity_code: str | None
    #: Scheme of commodity_code (BT-158-1).
    commodity_scheme: str | None
    #: Version of commodity_scheme (BT-158-2).
    commodity_version: str | None
    #: When the item was created (UTC).
    created_at: str
    #: Currency of the prices (ISO 4217). The console copies them to invoices in this currency
    #: alone.
    currency: str | None
    #: Item description (BT-154); may contain TAB, LF and CR.
    description: str | None
    #: Discount on the gross price (BT-147).
    discount_amount: Decimal | None
    #: Item gross price before the discount (BT-148).
    gross_unit_price: Decimal | None
    #: Identifier.
    id: str
    #: Seller's item identifier (BT-155), such as your SKU. It need not be unique.
    item_code: str | None
    #: Item name (BT-153).
    name: str | None
    #: Item net price (BT-146).
    net_unit_price: Decimal | None
    #: Country of origin of the item (BT-159), two capital letters.
    origin_country: str | None
    #: Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too.
    service_code: str | None
    #: Standard item identifier, such as a GTIN (BT-157).
    standard_item_code: str | None
    #: Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN.
    standard_item_scheme: str | None
    #: G for goods, S for services, B for both, in the UAE (BTAE-13).
    supply_type: str | None
    #: Coded reason why no tax is charged (BT-121).
    tax_exemption_code: str | None
    #: Why no tax is charged (BT-120).
    tax_exemption_reason: str | None
    #: Unit of measure (BT-130, UN/ECE Recommendation 20/21).
    unit_code: str | None
    #: When the item last changed (UTC).
    updated_at: str
    #: Tax category (BT-151, UNCL5305).
    vat_category: str | None
    #: Tax rate in per cent (BT-152).
    vat_rate: Decimal | None


class CatalogueItemFieldsRequest(TypedDict):
    """The body of a request."""

    #: Quantity to which the price applies (BT-149); defaults to 1. A number, or a string that
    #: holds one.
    base_quantity: NotRequired[Decimal | int | str | None]
    #: Buyer's item identifier (BT-156).
    buyer_item_code: NotRequired[str | None]
    #: Classification of the item (BT-158), such as a customs tariff number.
    commodity_code: NotRequired[str | None]
    #: Scheme of commodity_code (BT-158-1).
    commodity_scheme: NotRequired[str | None]
    #: Version of commodity_scheme (BT-158-2).
    commodity_version: NotRequired[str | None]
    #: Currency of the prices (ISO 4217). The console copies them to invoices in this currency
    #: alone.
    currency: NotRequired[str | None]
    #: Item description (BT-154); may contain TAB, LF and CR.
    description: NotRequired[str | None]
    #: Discount on the gross price (BT-147). A number, or a string that holds one.
    discount_amount: NotRequired[Decimal | int | str | None]
    #: Item gross price before the discount (BT-148). A number, or a string that holds one.
    gross_unit_price: NotRequired[Decimal | int | str | None]
    #: Seller's item identifier (BT-155), such as your SKU. It need not be unique.
    item_code: NotRequired[str | None]
    #: Item name (BT-153).
    name: str
    #: Item net price (BT-146). A number, or a string that holds one.
    net_unit_price: NotRequired[Decimal | int | str | None]
    #: Country of origin of the item (BT-159), two capital letters.
    origin_country: NotRequired[str | None]
    #: Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too.
    service_code: NotRequired[str | None]
    #: Standard item identifier, such as a GTIN (BT-157).
    standard_item_code: NotRequired[str | None]
    #: Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN.
    standard_item_scheme: NotRequired[str | None]
    #: G for goods, S for services, B for both, in the UAE (BTAE-13).
    supply_type: NotRequired[str | None]
    #: Coded reason why no tax is charged (BT-121).
    tax_exemption_code: NotRequired[str | None]
    #: Why no tax is charged (BT-120).
    tax_exemption_reason: NotRequired[str | None]
    #: Unit of measure (BT-130, UN/ECE Recommendation 20/21).
    unit_code: NotRequired[str | None]
    #: Tax category (BT-151, UNCL5305).
    vat_category: NotRequired[str | None]
    #: Tax rate in per cent (BT-152). A number, or a string that holds one.
    vat_rate: NotRequired[Decimal | int | str | None]


class Computed(TypedDict):
    """A part of Preflight."""

    #: Sum of the allowances on the whole invoice (BT-107).
    allowances: Decimal | None
    #: Total less prepaid_amount, plus rounding_amount (BT-115).
    amount_due: Decimal | None
    #: Sum of the charges on the whole invoice (BT-108).
    charges: Decimal | None
    #: Sum of the amounts of the lines (BT-106), each after its own allowances and charges.
    lines: Decimal | None
    #: Total without tax (BT-109): lines less allowances, plus charges.
    net: Decimal | None
    #: Sum of the tax per category and rate (BT-110). The categories Z, E, AE, N, G, K and O have
    #: no tax.
    tax: Decimal | None
    #: Sum of net and tax (BT-112).
    total: Decimal | None


class Connection(TypedDict):
    """A part of Account."""

    #: Environment of the provider.
    environment: Literal["sandbox", "production"]
    #: Time since which no request about a submission has had a usable response from the provider;
    #: null if the last one had.
    failing_since: str | None
    #: Adapter of the connection, such as http.
    kind: str
    #: Document format in which invoices are submitted over the connection; drafts are complete
    #: only if they can be rendered in it. Null if it has none.
    profile: str | None
    #: State of the connection.
    state: Literal["pending", "active", "disabled"]


class Contact(TypedDict):
    """A part of Customer and of Invoice and of InvoiceSummary."""

    #: E-mail address (BT-58).
    email: str | None
    #: Contact point (BT-56).
    name: str | None
    #: Telephone number (BT-57).
    phone: str | None


class ContactRequest(TypedDict):
    """A part of CustomerFieldsRequest, CustomerPatch and other types."""

    #: E-mail address (BT-58).
    email: NotRequired[str | None]
    #: Contact point (BT-56).
    name: NotRequired[str | None]
    #: Telephone number (BT-57).
    phone: NotRequired[str | None]


class CreditItemRequest(TypedDict):
    """A part of CreditNoteRequest."""

    #: Credited amount without tax, not 0, with the sign of the line's amount, within the
    #: currency's minor unit. A number, or a string that holds one.
    net_amount: NotRequired[Decimal | int | str | None]
    #: Position of the line in the items of the invoice, from 0.
    position: int
    #: Credited quantity, not 0, with the sign of the line's quantity. Its net amount is computed
    #: with the price of the line. A number, or a string that holds one.
    quantity: NotRequired[Decimal | int | str | None]


class CreditNote(TypedDict):
    """What a response contains."""

    #: When it was created (UTC).
    created_at: str
    #: Number of the credit note (BT-1).
    credit_note_number: str
    #: Currency of the invoice (BT-5, ISO 4217).
    currency: str
    #: Identifier.
    id: str
    #: Identifier of the credited invoice.
    invoice_id: str
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str
    #: Credited lines. full: in the order of the invoice; partial: in the order in which they were
    #: given.
    items: list[CreditNoteItem]
    #: full credits all lines and the total of the invoice.
    kind: Literal["full", "partial"]
    #: Top-level provider invoice state, verbatim; null if never reported.
    provider_invoice_state: str | None
    #: Reason for the credit (BT-22).
    reason: str
    #: Coded reason, or null.
    reason_code: str | None
    #: Receiver state, verbatim; null if never reported.
    receiver_state: str | None
    #: Further information about each of the four states.
    states: StateDetails
    #: The current submission, or null.
    submission: Submission | None
    #: Provider validation or submission result, verbatim; null if never reported.
    submission_state: str | None
    #: True as soon as the intent to submit is stored. It does not mean that the document was
    #: delivered.
    submitted: bool
    #: When the intent to submit was stored.
    submitted_at: str | None
    #: Tax-authority reporting state, verbatim; null if never reported.
    tax_authority_state: str | None
    #: Credited total with tax (BT-112). full: the total_amount of the invoice; partial: the items
    #: and their tax, rounded per category and rate.
    total_amount: Decimal
    #: When it last changed (UTC).
    updated_at: str
    #: When it was voided (UTC), which releases its amount; null if it is not void.
    voided_at: str | None


class CreditNoteChangeRequest(TypedDict):
    """The body of a request."""

    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str
    #: Reason for the credit (BT-22); may contain TAB, LF and CR.
    reason: str
    #: Coded reason, if the document format has a list of them.
    reason_code: NotRequired[str | None]


class CreditNoteItem(TypedDict):
    """A part of CreditNote."""

    #: Item name (BT-153).
    name: str
    #: Credited amount without tax (BT-131); null in a full credit note if the amount of the line
    #: cannot be computed.
    net_amount: Decimal | None
    #: Position of the line in the items of the invoice, from 0.
    position: int
    #: Credited quantity (BT-129); null if an amount is credited.
    quantity: Decimal | None
    #: Unit of measure (BT-130).
    unit_code: str | None
    #: Tax category (BT-151).
    vat_category: str | None
    #: Tax rate in per cent (BT-152).
    vat_rate: Decimal | None


class CreditNotePatch(TypedDict):
    """A merge patch (RFC 7396): null removes a field; an absent one is not changed."""

    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: NotRequired[str]
    #: Reason for the credit (BT-22); may contain TAB, LF and CR.
    reason: NotRequired[str]
    #: Coded reason, if the document format has a list of them.
    reason_code: NotRequired[str | None]


class CreditNoteRequest(TypedDict):
    """The body of a request."""

    #: Number of the credit note (EN 16931 BT-1). Drafts may share a number, submitted credit notes
    #: may not.
    credit_note_number: str
    #: Identifier of the credited invoice.
    invoice_id: str
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str
    #: Items of a partial credit note; absent if kind is full.
    items: NotRequired[list[CreditItemRequest] | None]
    #: full credits all lines and the total of the invoice; partial credits the given items.
    kind: Literal["full", "partial"]
    #: Reason for the credit (BT-22); may contain TAB, LF and CR.
    reason: str
    #: Coded reason, if the document format has a list of them; in the UAE DL8.61.1.A to E, or VD
    #: for a volume discount.
    reason_code: NotRequired[str | None]


class CreditNoteSummary(TypedDict):
    """What a response contains."""

    #: When it was created (UTC).
    created_at: str
    #: Number of the credit note (BT-1).
    credit_note_number: str
    #: Currency of the invoice (BT-5, ISO 4217).
    currency: str
    #: Identifier.
    id: str
    #: Identifier of the credited invoice.
    invoice_id: str
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str
    #: Number of credited lines; read the credit note for the lines themselves.
    item_count: int
    #: full credits all lines and the total of the invoice.
    kind: Literal["full", "partial"]
    #: Top-level provider invoice state, verbatim; null if never reported.
    provider_invoice_state: str | None
    #: Reason for the credit (BT-22).
    reason: str
    #: Coded reason, or null.
    reason_code: str | None
    #: Receiver state, verbatim; null if never reported.
    receiver_state: str | None
    #: Further information about each of the four states.
    states: StateDetails
    #: The current submission, or null.
    submission: Submission | None
    #: Provider validation or submission result, verbatim; null if never reported.
    submission_state: str | None
    #: True as soon as the intent to submit is stored. It does not mean that the document was
    #: delivered.
    submitted: bool
    #: When the intent to submit was stored.
    submitted_at: str | None
    #: Tax-authority reporting state, verbatim; null if never reported.
    tax_authority_state: str | None
    #: Credited total with tax (BT-112). full: the total_amount of the invoice; partial: the items
    #: and their tax, rounded per category and rate.
    total_amount: Decimal
    #: When it last changed (UTC).
    updated_at: str
    #: When it was voided (UTC), which releases its amount; null if it is not void.
    voided_at: str | None


class Cursor(TypedDict):
    """What a response contains."""

    #: True if there are further entries now.
    has_more: bool
    #: Cursor for the parameter after of the next request. New entries always come after a returned
    #: cursor.
    next_cursor: str


class Customer(TypedDict):
    """What a response contains."""

    #: Buyer address line 3 (BT-163).
    buyer_address_line: str | None
    #: Buyer city (BT-52).
    buyer_city: str | None
    #: Contact at the buyer (BG-9).
    buyer_contact: Contact | None
    #: Buyer country (BT-55), two capital letters.
    buyer_country: str | None
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: str | None
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: str | None
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: str | None
    #: Buyer legal registration (BT-47).
    buyer_legal_id: str | None
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: str | None
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: str | None
    #: Buyer postal code (BT-53).
    buyer_postal_code: str | None
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: str | None
    #: Buyer address line 1 (BT-50).
    buyer_street: str | None
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: str | None
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: str | None
    #: Buyer tax registration (BT-48).
    buyer_tax_id: str | None
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: str | None
    #: When the customer was created (UTC).
    created_at: str
    #: Currency of new invoices to the customer (BT-5, ISO 4217).
    currency: str | None
    #: Name by which your people choose the customer, for example of one of several branches;
    #: without it, recipient_name.
    display_name: str | None
    #: Identifier.
    id: str
    #: Note on new invoices to the customer (BT-22); may contain TAB, LF and CR.
    note: str | None
    #: Payment means of new invoices to the customer (BT-81, UNCL4461).
    payment_means_code: str | None
    #: Days from the issue date to the due date of new invoices to the customer.
    payment_terms_days: int | None
    #: Buyer name (BT-44).
    recipient_name: str | None
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: str | None
    #: When the customer last changed (UTC).
    updated_at: str


class CustomerFieldsRequest(TypedDict):
    """The body of a request."""

    #: Buyer address line 3 (BT-163).
    buyer_address_line: NotRequired[str | None]
    #: Buyer city (BT-52).
    buyer_city: NotRequired[str | None]
    #: Contact at the buyer (BG-9).
    buyer_contact: NotRequired[ContactRequest | None]
    #: Buyer country (BT-55), two capital letters.
    buyer_country: NotRequired[str | None]
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: NotRequired[str | None]
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: NotRequired[str | None]
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: NotRequired[str | None]
    #: Buyer legal registration (BT-47).
    buyer_legal_id: NotRequired[str | None]
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: NotRequired[str | None]
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: NotRequired[str | None]
    #: Buyer postal code (BT-53).
    buyer_postal_code: NotRequired[str | None]
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: NotRequired[str | None]
    #: Buyer address line 1 (BT-50).
    buyer_street: NotRequired[str | None]
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: NotRequired[str | None]
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: NotRequired[str | None]
    #: Buyer tax registration (BT-48).
    buyer_tax_id: NotRequired[str | None]
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: NotRequired[str | None]
    #: Currency of new invoices to the customer (BT-5, ISO 4217).
    currency: NotRequired[str | None]
    #: Name by which your people choose the customer, for example of one of several branches;
    #: without it, recipient_name.
    display_name: NotRequired[str | None]
    #: Note on new invoices to the customer (BT-22); may contain TAB, LF and CR.
    note: NotRequired[str | None]
    #: Payment means of new invoices to the customer (BT-81, UNCL4461).
    payment_means_code: NotRequired[str | None]
    #: Days from the issue date to the due date of new invoices to the customer.
    payment_terms_days: NotRequired[int | None]
    #: Buyer name (BT-44).
    recipient_name: str
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: NotRequired[str | None]


class CustomerPatch(TypedDict):
    """A merge patch (RFC 7396): null removes a field; an absent one is not changed."""

    #: Buyer address line 3 (BT-163).
    buyer_address_line: NotRequired[str | None]
    #: Buyer city (BT-52).
    buyer_city: NotRequired[str | None]
    #: Contact at the buyer (BG-9).
    buyer_contact: NotRequired[ContactRequest | None]
    #: Buyer country (BT-55), two capital letters.
    buyer_country: NotRequired[str | None]
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: NotRequired[str | None]
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: NotRequired[str | None]
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: NotRequired[str | None]
    #: Buyer legal registration (BT-47).
    buyer_legal_id: NotRequired[str | None]
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: NotRequired[str | None]
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: NotRequired[str | None]
    #: Buyer postal code (BT-53).
    buyer_postal_code: NotRequired[str | None]
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: NotRequired[str | None]
    #: Buyer address line 1 (BT-50).
    buyer_street: NotRequired[str | None]
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: NotRequired[str | None]
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: NotRequired[str | None]
    #: Buyer tax registration (BT-48).
    buyer_tax_id: NotRequired[str | None]
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: NotRequired[str | None]
    #: Currency of new invoices to the customer (BT-5, ISO 4217).
    currency: NotRequired[str | None]
    #: Name by which your people choose the customer, for example of one of several branches;
    #: without it, recipient_name.
    display_name: NotRequired[str | None]
    #: Note on new invoices to the customer (BT-22); may contain TAB, LF and CR.
    note: NotRequired[str | None]
    #: Payment means of new invoices to the customer (BT-81, UNCL4461).
    payment_means_code: NotRequired[str | None]
    #: Days from the issue date to the due date of new invoices to the customer.
    payment_terms_days: NotRequired[int | None]
    #: Buyer name (BT-44).
    recipient_name: NotRequired[str]
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: NotRequired[str | None]


class Deleted(TypedDict):
    """What a response contains."""

    #: Always true. The deletion is permanent.
    deleted: bool
    #: Identifier of what was deleted.
    id: str


class Delivery(TypedDict):
    """What a response contains."""

    #: Attempts so far.
    attempt_count: int
    #: When the event was recorded (UTC).
    created_at: str
    #: Event kind. Known values: einvoice.submission.updated, einvoice.status.changed,
    #: einvoice.terminal, einvoice.incoming.received, einvoice.incoming.revised. More may come:
    #: accept and ignore what you do not know.
    event: str
    #: UUID of the event, as in X-Webhook-Delivery.
    event_id: str
    #: Identifier of the delivery.
    id: str
    #: When the next attempt is made; null if there is none.
    next_attempt_at: str | None
    #: Why it failed or was blocked: refused, attempts_exhausted, subscription_inactive,
    #: subscription_changed, redirect, unsafe_address.
    reason: str | None
    #: State of the delivery. blocked: this delivery deactivated its subscription.
    state: Literal["pending", "delivered", "failed", "blocked"]
    #: The subscription.
    subscription_id: str
    #: When it last changed (UTC).
    updated_at: str


class DeliveryDetail(TypedDict):
    """What a response contains."""

    #: Attempts so far.
    attempt_count: int
    #: Every attempt, oldest first.
    attempts: list[Attempt]
    #: When the event was recorded (UTC).
    created_at: str
    #: Event kind. Known values: einvoice.submission.updated, einvoice.status.changed,
    #: einvoice.terminal, einvoice.incoming.received, einvoice.incoming.revised. More may come:
    #: accept and ignore what you do not know.
    event: str
    #: UUID of the event, as in X-Webhook-Delivery.
    event_id: str
    #: Identifier of the delivery.
    id: str
    #: When the next attempt is made; null if there is none.
    next_attempt_at: str | None
    #: Why it failed or was blocked: refused, attempts_exhausted, subscription_inactive,
    #: subscription_changed, redirect, unsafe_address.
    reason: str | None
    #: State of the delivery. blocked: this delivery deactivated its subscription.
    state: Literal["pending", "delivered", "failed", "blocked"]
    #: The subscription.
    subscription_id: str
    #: When it last changed (UTC).
    updated_at: str


class DeliveryInformation(TypedDict):
    """A part of Invoice and of InvoiceSummary."""

    #: Address line 3 (BT-165).
    address_line: str | None
    #: City (BT-77).
    city: str | None
    #: Country (BT-80), two capital letters.
    country: str | None
    #: Date of the delivery (BT-72), YYYY-MM-DD.
    date: str | None
    #: Terms of the delivery in the UAE, a rule of the Incoterms (BTAE-22).
    incoterms: str | None
    #: Identifier of the place (BT-71), such as a GLN.
    location_id: str | None
    #: Scheme of location_id (BT-71-1, ISO 6523).
    location_scheme: str | None
    #: Who received the delivery (BT-70).
    name: str | None
    #: Postal code (BT-78).
    postal_code: str | None
    #: Address line 1 (BT-75).
    street: str | None
    #: Address line 2 (BT-76).
    street_additional: str | None
    #: Country subdivision (BT-79).
    subdivision: str | None


class DeliveryInformationRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Address line 3 (BT-165).
    address_line: NotRequired[str | None]
    #: City (BT-77).
    city: NotRequired[str | None]
    #: Country (BT-80), two capital letters.
    country: NotRequired[str | None]
    #: Date of the delivery (BT-72), YYYY-MM-DD.
    date: NotRequired[str | None]
    #: Terms of the delivery in the UAE, a rule of the Incoterms (BTAE-22).
    incoterms: NotRequired[str | None]
    #: Identifier of the place (BT-71), such as a GLN.
    location_id: NotRequired[str | None]
    #: Scheme of location_id (BT-71-1, ISO 6523).
    location_scheme: NotRequired[str | None]
    #: Who received the delivery (BT-70).
    name: NotRequired[str | None]
    #: Postal code (BT-78).
    postal_code: NotRequired[str | None]
    #: Address line 1 (BT-75).
    street: NotRequired[str | None]
    #: Address line 2 (BT-76).
    street_additional: NotRequired[str | None]
    #: Country subdivision (BT-79).
    subdivision: NotRequired[str | None]


class DirectDebit(TypedDict):
    """A part of Invoice and of InvoiceSummary."""

    #: Identifier of the creditor that the bank has assigned (BT-90).
    creditor_id: str | None
    #: Account that is debited (BT-91), such as an IBAN.
    debited_account: str | None
    #: Reference of the mandate (BT-89).
    mandate: str | None


class DirectDebitRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Identifier of the creditor that the bank has assigned (BT-90).
    creditor_id: NotRequired[str | None]
    #: Account that is debited (BT-91), such as an IBAN.
    debited_account: NotRequired[str | None]
    #: Reference of the mandate (BT-89).
    mandate: NotRequired[str | None]


class DraftRequest(TypedDict):
    """The body of a request."""

    #: Where the buyer books the invoice (BT-19).
    accounting_reference: NotRequired[str | None]
    #: Allowances on the whole invoice (BG-20), such as a discount.
    allowances: NotRequired[list[AllowanceRequest] | None]
    #: Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01).
    beneficiary_id: NotRequired[str | None]
    #: Buyer address line 3 (BT-163).
    buyer_address_line: NotRequired[str | None]
    #: Buyer city (BT-52).
    buyer_city: NotRequired[str | None]
    #: Contact at the buyer (BG-9).
    buyer_contact: NotRequired[ContactRequest | None]
    #: Buyer country (BT-55), two capital letters.
    buyer_country: NotRequired[str | None]
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: NotRequired[str | None]
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: NotRequired[str | None]
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: NotRequired[str | None]
    #: Buyer legal registration (BT-47).
    buyer_legal_id: NotRequired[str | None]
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: NotRequired[str | None]
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: NotRequired[str | None]
    #: Buyer postal code (BT-53).
    buyer_postal_code: NotRequired[str | None]
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: NotRequired[str | None]
    #: Buyer address line 1 (BT-50).
    buyer_street: NotRequired[str | None]
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: NotRequired[str | None]
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: NotRequired[str | None]
    #: Buyer tax registration (BT-48).
    buyer_tax_id: NotRequired[str | None]
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: NotRequired[str | None]
    #: Charges on the whole invoice (BG-21), such as freight.
    charges: NotRequired[list[AllowanceRequest] | None]
    #: Contract (BT-12).
    contract_reference: NotRequired[str | None]
    #: Value of the contract of a continuous supply in the UAE (BTAE-05).
    contract_value: NotRequired[str | None]
    #: Invoice currency (BT-5, ISO 4217).
    currency: str
    #: Customs declaration of an export from the UAE (BTAE-21).
    customs_reference: NotRequired[str | None]
    #: When, where and to whom goods or services were delivered (BG-13).
    delivery: NotRequired[DeliveryInformationRequest | None]
    #: Despatch advice, or delivery note (BT-16).
    despatch_reference: NotRequired[str | None]
    #: Mandate by which the seller collects the payment (BG-19).
    direct_debit: NotRequired[DirectDebitRequest | None]
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: NotRequired[str | None]
    #: Your system's key for the invoice. It has no meaning here and need not be unique.
    external_id: NotRequired[str | None]
    #: Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not.
    invoice_number: str
    #: What the invoice is about, such as a meter or a subscription (BT-18).
    invoiced_object: NotRequired[str | None]
    #: Scheme of invoiced_object (BT-18-1, UNTDID 1153).
    invoiced_object_scheme: NotRequired[str | None]
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str
    #: Issue time, HH:MM (IBT-168).
    issue_time: NotRequired[str | None]
    #: Invoice lines (BG-25).
    items: list[ItemRequest]
    #: Note on the invoice (BT-22); may contain TAB, LF and CR.
    note: NotRequired[str | None]
    #: Purchase order (BT-13).
    order_reference: NotRequired[str | None]
    #: Who is paid, if it is not the seller (BG-10).
    payee: NotRequired[PayeeRequest | None]
    #: Card by which the buyer has paid (BG-18).
    payment_card: NotRequired[PaymentCardRequest | None]
    #: Payment means (BT-81, UNCL4461).
    payment_means_code: NotRequired[str | None]
    #: Payment means in words (BT-82).
    payment_means_name: NotRequired[str | None]
    #: Text by which you recognise the payment (BT-83).
    payment_reference: NotRequired[str | None]
    #: Payment terms in words (BT-20); may contain TAB, LF and CR.
    payment_terms: NotRequired[str | None]
    #: Period that the invoice is for (BG-14).
    period: NotRequired[PeriodRequest | None]
    #: Invoices that this one corrects or continues (BG-3).
    preceding_invoices: NotRequired[list[PrecedingInvoiceRequest] | None]
    #: What has been paid already (BT-113), within the currency's minor unit. A number, or a string
    #: that holds one.
    prepaid_amount: NotRequired[Decimal | int | str | None]
    #: Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14).
    principal_id: NotRequired[str | None]
    #: Project (BT-11).
    project_reference: NotRequired[str | None]
    #: Receiving advice of the buyer (BT-15).
    receipt_reference: NotRequired[str | None]
    #: Buyer name (BT-44).
    recipient_name: str
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: NotRequired[str | None]
    #: What is added to round the amount due (BT-114), within the currency's minor unit; may be
    #: negative. A number, or a string that holds one.
    rounding_amount: NotRequired[Decimal | int | str | None]
    #: Your own number of the order (BT-14).
    sales_order_reference: NotRequired[str | None]
    #: Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE
    #: always the dirham.
    tax_currency: NotRequired[str | None]
    #: Units of the tax currency for one unit of the invoice's (BTAE-04). A number, or a string
    #: that holds one.
    tax_exchange_rate: NotRequired[Decimal | int | str | None]
    #: What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date,
    #: 35 for the delivery, 432 for the payment.
    tax_point_code: NotRequired[str | None]
    #: Date when the tax becomes chargeable, if it is neither the issue date nor that of the
    #: delivery (BT-7), YYYY-MM-DD.
    tax_point_date: NotRequired[str | None]
    #: Who represents the seller towards the tax authority (BG-11).
    tax_representative: NotRequired[TaxRepresentativeRequest | None]
    #: Tender or lot (BT-17).
    tender_reference: NotRequired[str | None]
    #: Invoice total with tax (BT-112), within the currency's minor unit. A number, or a string
    #: that holds one.
    total_amount: Decimal | int | str
    #: Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin
    #: scheme, summary invoice, continuous supply, agent billing, electronic commerce, export
    #: (BTAE-02).
    transaction_flags: NotRequired[str | None]
    #: Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected
    #: invoice; by default 380, or 480 of an invoice out of scope of tax in the UAE.
    type_code: NotRequired[str | None]


class Error(TypedDict):
    """What a response contains."""

    #: Stable code for programs. Known values: account_suspended, credit_note_not_editable,
    #: credit_note_submission_disabled, document_unreadable, duplicate_credit_note_number,
    #: duplicate_invoice_number, forbidden, idempotency_key_reused, internal, invalid_credentials,
    #: invoice_incomplete, invoice_not_acknowledged, invoice_not_editable, limit_reached,
    #: malformed_request, method_not_allowed, not_found, otp_required, payload_too_large,
    #: precondition_failed, production_not_approved, provider_connection_required, provider_error,
    #: rate_limited, second_factor_required, single_sign_on_required, submission_in_progress,
    #: subscription_inactive, too_many_rows, unauthenticated, unavailable, unsafe_destination,
    #: unsupported_media_type, validation_failed. More may come: go by the HTTP status then.
    code: str
    #: For validation failures, lists of faults by JSON field path; otherwise further facts, or {}.
    details: dict[str, list[Fault] | str | int]
    #: Address of the description of the code. It is relative to the address of the service unless
    #: that has a public one.
    doc_url: str
    #: One English sentence for people; may change.
    message: str


class EventIncomingPayload(TypedDict):
    """What a response contains."""

    #: Event kind; equals X-Webhook-Event. Known values: einvoice.submission.updated,
    #: einvoice.status.changed, einvoice.terminal, einvoice.incoming.received,
    #: einvoice.incoming.revised. More may come: accept and ignore what you do not know.
    event: str
    #: Stable event UUID; equals X-Webhook-Delivery.
    id: str
    #: Event time; equals X-Webhook-Timestamp.
    occurred_at: str
    payload: IncomingPayload
    #: Identifier of the resource that the event is about.
    resource_id: str
    #: Type of the resource that the event is about.
    resource_type: Literal["incoming_invoice"]
    #: service-webhook-v2
    schema_version: str


class EventSubmissionPayload(TypedDict):
    """What a response contains."""

    #: Event kind; equals X-Webhook-Event. Known values: einvoice.submission.updated,
    #: einvoice.status.changed, einvoice.terminal, einvoice.incoming.received,
    #: einvoice.incoming.revised. More may come: accept and ignore what you do not know.
    event: str
    #: Stable event UUID; equals X-Webhook-Delivery.
    id: str
    #: Event time; equals X-Webhook-Timestamp.
    occurred_at: str
    payload: SubmissionPayload
    #: Identifier of the resource that the event is about.
    resource_id: str
    #: Type of the resource that the event is about.
    resource_type: Literal["submission"]
    #: service-webhook-v2
    schema_version: str


class EventValue(TypedDict):
    """What a response contains."""

    #: Event kind; equals X-Webhook-Event. Known values: einvoice.submission.updated,
    #: einvoice.status.changed, einvoice.terminal, einvoice.incoming.received,
    #: einvoice.incoming.revised. More may come: accept and ignore what you do not know.
    event: str
    #: Stable event UUID; equals X-Webhook-Delivery.
    id: str
    #: Event time; equals X-Webhook-Timestamp.
    occurred_at: str
    payload: SubmissionPayload | IncomingPayload
    #: Identifier of the resource that the event is about.
    resource_id: str
    #: Type of the resource that the event is about.
    resource_type: Literal["submission", "incoming_invoice"]
    #: service-webhook-v2
    schema_version: str


class Evidence(TypedDict):
    """What a response contains."""

    #: Kind of the request: the submission, a status query, or the request for an event of the
    #: provider's queue.
    call: Literal["submit", "status", "event"]
    #: Digest of this entry, which covers all its fields and the previous entry.
    digest: str
    #: HTTP status of the response. Nothing is derived from it.
    http_status: int
    #: Identifier.
    id: str
    #: Content-Type of the response as received.
    media_type: str
    #: Position in the chain of its submission, from 1 without gaps.
    ordinal: int
    #: Digest of the previous entry; all zeros for the first.
    previous: str
    #: When it was retained (UTC).
    received_at: str
    #: Lowercase hex digest of the retained bytes.
    sha256: str
    #: The submission it is about.
    submission_id: str
    #: True if only the beginning of the response is retained.
    truncated: bool
    #: True if the response contains a credential; its body is then sealed.
    withheld: bool
    #: The reported state values by dimension, verbatim.
    words: dict[str, str]


class Fault(TypedDict):
    """A part of Error, IncomingInvoiceDetail and other types."""

    #: What the rule requires.
    message: str
    #: This API's name of the violated rule: required, type, max_length, country_unknown …
    rule: str
    #: Official identifier of the business rule; absent if there is none.
    rule_id: NotRequired[str]


class Import(TypedDict):
    """What a response contains."""

    #: Number of different invoice numbers.
    drafts: int
    #: The first 1,000 faults, in the order of the rows.
    faults: list[ImportFault]
    #: Number of drafts that lack fields which submission needs. They can be imported.
    incomplete: int
    #: The created drafts in the order of the file; empty after a dry run.
    invoices: list[ImportedInvoice]
    #: Number of the faults that are not listed.
    more_faults: int
    #: Number of rows below the header that are not empty.
    rows: int
    #: Totals of the drafts by currency, in the order of their first draft.
    totals: list[ImportTotal]
    #: Number of drafts whose invoice number another invoice of the company has already, drafts
    #: included. They can be imported.
    used_numbers: int
    #: True if the file has no faults. Otherwise nothing is stored.
    valid: bool


class ImportFault(TypedDict):
    """A part of Import."""

    #: Name of the column, which is that of the field; empty for the row as a whole.
    column: str
    #: What the rule requires.
    message: str
    #: Number of the row, as spreadsheets count: the header is row 1. 0 for the file as a whole.
    row: int
    #: This API's name of the violated rule: required, type, max_length, country_unknown …
    rule: str
    #: Official identifier of the business rule; absent if there is none.
    rule_id: NotRequired[str]
    #: Beginning of the text in the cell.
    value: str


class ImportTotal(TypedDict):
    """A part of Import."""

    #: Currency (ISO 4217).
    currency: str
    #: Number of drafts.
    drafts: int
    #: Sum of total_amount.
    total_amount: Decimal


class ImportedInvoice(TypedDict):
    """A part of Import."""

    #: Identifier.
    id: str
    #: Invoice number.
    invoice_number: str


class IncomingInvoice(TypedDict):
    """What a response contains."""

    #: Currency code (BT-5), three capital letters.
    currency: str | None
    #: The provider's document type; unreadable if the metadata or the document could not be read
    #: or fetched.
    document_type: str | None
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: str | None
    #: How the revision was retained.
    evidence: RetentionEvidence
    #: Identifier.
    id: str
    #: Invoice number (EN 16931 BT-1), at most 64 characters.
    invoice_number: str | None
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str | None
    #: The provider's identifier of the document; sha256: and a digest if the provider gave no
    #: usable one.
    provider_document_id: str
    #: When the provider received it, according to the provider (UTC).
    received_at: str | None
    #: Number of the revision, from 1. Its bytes differ from those of the previous revision.
    revision: int
    #: Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document
    #: was not received completely.
    sha256: str
    #: Seller name (BT-27), at most 256 characters.
    supplier_name: str | None
    #: Seller identifier in the e-invoicing network (BT-34), at most 64 characters.
    supplier_network_id: str | None
    #: Invoice total with tax (BT-112), at most 18 digits.
    total_amount: Decimal | None


class IncomingInvoiceDetail(TypedDict):
    """What a response contains."""

    #: Currency code (BT-5), three capital letters.
    currency: str | None
    #: The provider's document type; unreadable if the metadata or the document could not be read
    #: or fetched.
    document_type: str | None
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: str | None
    #: How the revision was retained.
    evidence: RetentionEvidence
    #: Identifier.
    id: str
    #: Invoice number (EN 16931 BT-1), at most 64 characters.
    invoice_number: str | None
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str | None
    #: Why the document cannot be read: malformed, unsupported, unsafe or limit. Null if it was
    #: read, is not retained or is withheld.
    parse_error: Fault | None
    #: What the document of this revision says; null if it is not retained, is withheld, or cannot
    #: be read. The bytes of the document prevail.
    parsed: ParsedDocument | None
    #: The provider's identifier of the document; sha256: and a digest if the provider gave no
    #: usable one.
    provider_document_id: str
    #: When the provider received it, according to the provider (UTC).
    received_at: str | None
    #: Number of the revision, from 1. Its bytes differ from those of the previous revision.
    revision: int
    #: Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document
    #: was not received completely.
    sha256: str
    #: Seller name (BT-27), at most 256 characters.
    supplier_name: str | None
    #: Seller identifier in the e-invoicing network (BT-34), at most 64 characters.
    supplier_network_id: str | None
    #: Invoice total with tax (BT-112), at most 18 digits.
    total_amount: Decimal | None


class IncomingPayload(TypedDict):
    """A part of EventIncomingPayload and of EventValue."""

    #: Identifier of the incoming e-invoice.
    incoming_invoice_id: str
    #: The provider's identifier of the document.
    provider_document_id: str
    #: Number of the revision, from 1.
    revision: int
    #: Lowercase hex digest of the retained bytes.
    sha256: str


class IncomingRevision(TypedDict):
    """What a response contains."""

    #: Currency code (BT-5), three capital letters.
    currency: str | None
    #: The provider's document type; unreadable if the metadata or the document could not be read
    #: or fetched.
    document_type: str | None
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: str | None
    #: How the revision was retained.
    evidence: RetentionEvidence
    #: Invoice number (EN 16931 BT-1), at most 64 characters.
    invoice_number: str | None
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str | None
    #: When the provider received it, according to the provider (UTC).
    received_at: str | None
    #: Number of the revision, from 1. Its bytes differ from those of the previous revision.
    revision: int
    #: Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document
    #: was not received completely.
    sha256: str
    #: Seller name (BT-27), at most 256 characters.
    supplier_name: str | None
    #: Seller identifier in the e-invoicing network (BT-34), at most 64 characters.
    supplier_network_id: str | None
    #: Invoice total with tax (BT-112), at most 18 digits.
    total_amount: Decimal | None


class Invitation(TypedDict):
    """What a response contains."""

    #: E-mail address of the invited person.
    email: str
    #: When the invitation ends, 72 hours after it was made.
    expires_at: str
    #: Identifier.
    id: str
    #: Role that the person gets.
    role: Literal["owner", "accountant", "developer", "viewer"]


class InvitationRequest(TypedDict):
    """The body of a request."""

    #: E-mail address of the person, with which this person logs in.
    email: str
    #: What the person may do.
    role: Literal["owner", "accountant", "developer", "viewer"]


class Invoice(TypedDict):
    """What a response contains."""

    #: Where the buyer books the invoice (BT-19).
    accounting_reference: str | None
    #: Allowances on the whole invoice (BG-20), such as a discount.
    allowances: list[Allowance]
    #: What is asked for (BT-115): total_amount less prepaid_amount, plus rounding_amount.
    amount_due: Decimal | None
    #: Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01).
    beneficiary_id: str | None
    #: Buyer address line 3 (BT-163).
    buyer_address_line: str | None
    #: Buyer city (BT-52).
    buyer_city: str | None
    #: Contact at the buyer (BG-9).
    buyer_contact: Contact | None
    #: Buyer country (BT-55), two capital letters.
    buyer_country: str | None
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: str | None
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: str | None
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: str | None
    #: Buyer legal registration (BT-47).
    buyer_legal_id: str | None
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: str | None
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: str | None
    #: Buyer postal code (BT-53).
    buyer_postal_code: str | None
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: str | None
    #: Buyer address line 1 (BT-50).
    buyer_street: str | None
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: str | None
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: str | None
    #: Buyer tax registration (BT-48).
    buyer_tax_id: str | None
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: str | None
    #: Charges on the whole invoice (BG-21), such as freight.
    charges: list[Allowance]
    #: True if missing is empty: nothing is missing for submission or contradicts itself, including
    #: what the document format of the connection needs, if it has one.
    complete: bool
    #: Contract (BT-12).
    contract_reference: str | None
    #: Value of the contract of a continuous supply in the UAE (BTAE-05).
    contract_value: str | None
    #: When the draft was created (UTC).
    created_at: str
    #: Invoice currency (BT-5, ISO 4217).
    currency: str | None
    #: Customs declaration of an export from the UAE (BTAE-21).
    customs_reference: str | None
    #: When, where and to whom goods or services were delivered (BG-13).
    delivery: DeliveryInformation | None
    #: Despatch advice, or delivery note (BT-16).
    despatch_reference: str | None
    #: Mandate by which the seller collects the payment (BG-19).
    direct_debit: DirectDebit | None
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: str | None
    #: Your system's key for the invoice. It has no meaning here and need not be unique.
    external_id: str | None
    #: Identifier.
    id: str
    #: Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not.
    invoice_number: str | None
    #: What the invoice is about, such as a meter or a subscription (BT-18).
    invoiced_object: str | None
    #: Scheme of invoiced_object (BT-18-1, UNTDID 1153).
    invoiced_object_scheme: str | None
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str | None
    #: Issue time, HH:MM (IBT-168).
    issue_time: str | None
    #: Invoice lines (BG-25).
    items: list[Item]
    #: JSON paths of the fields that a submission still needs: those that are missing, and those of
    #: a tax that contradicts its category in every document format, such as a rate above 0 of a
    #: zero-rated item. warnings has the rule of each contradiction.
    missing: list[str]
    #: Note on the invoice (BT-22); may contain TAB, LF and CR.
    note: str | None
    #: Purchase order (BT-13).
    order_reference: str | None
    #: Who is paid, if it is not the seller (BG-10).
    payee: Payee | None
    #: Card by which the buyer has paid (BG-18).
    payment_card: PaymentCard | None
    #: Payment means (BT-81, UNCL4461).
    payment_means_code: str | None
    #: Payment means in words (BT-82).
    payment_means_name: str | None
    #: Text by which you recognise the payment (BT-83).
    payment_reference: str | None
    #: Payment terms in words (BT-20); may contain TAB, LF and CR.
    payment_terms: str | None
    #: Period that the invoice is for (BG-14).
    period: Period | None
    #: Invoices that this one corrects or continues (BG-3).
    preceding_invoices: list[PrecedingInvoice]
    #: What has been paid already (BT-113), within the currency's minor unit.
    prepaid_amount: Decimal | None
    #: Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14).
    principal_id: str | None
    #: Project (BT-11).
    project_reference: str | None
    #: Top-level provider invoice state, verbatim; null if never reported.
    provider_invoice_state: str | None
    #: Receiving advice of the buyer (BT-15).
    receipt_reference: str | None
    #: Receiver state, verbatim; null if never reported.
    receiver_state: str | None
    #: Buyer name (BT-44).
    recipient_name: str | None
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: str | None
    #: What is added to round the amount due (BT-114), within the currency's minor unit; may be
    #: negative.
    rounding_amount: Decimal | None
    #: Your own number of the order (BT-14).
    sales_order_reference: str | None
    #: Further information about each of the four states.
    states: StateDetails
    #: The current submission, or null.
    submission: Submission | None
    #: Provider validation or submission result, verbatim; null if never reported.
    submission_state: str | None
    #: True as soon as the intent to submit is stored. It does not mean that the document was
    #: delivered.
    submitted: bool
    #: When the intent to submit was stored.
    submitted_at: str | None
    #: Tax-authority reporting state, verbatim; null if never reported.
    tax_authority_state: str | None
    #: Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE
    #: always the dirham.
    tax_currency: str | None
    #: Units of the tax currency for one unit of the invoice's (BTAE-04).
    tax_exchange_rate: Decimal | None
    #: What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date,
    #: 35 for the delivery, 432 for the payment.
    tax_point_code: str | None
    #: Date when the tax becomes chargeable, if it is neither the issue date nor that of the
    #: delivery (BT-7), YYYY-MM-DD.
    tax_point_date: str | None
    #: Who represents the seller towards the tax authority (BG-11).
    tax_representative: TaxRepresentative | None
    #: Tender or lot (BT-17).
    tender_reference: str | None
    #: Invoice total with tax (BT-112), within the currency's minor unit.
    total_amount: Decimal | None
    #: Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin
    #: scheme, summary invoice, continuous supply, agent billing, electronic commerce, export
    #: (BTAE-02).
    transaction_flags: str | None
    #: Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected
    #: invoice; by default 380, or 480 of an invoice out of scope of tax in the UAE.
    type_code: str | None
    #: When the draft, or the information about its submission, last changed (UTC).
    updated_at: str
    #: Advice by JSON path. Warnings about paths that are not in missing do not prevent a
    #: submission.
    warnings: dict[str, list[Fault]]


class InvoicePatch(TypedDict):
    """A merge patch (RFC 7396): null removes a field; an absent one is not changed."""

    #: Where the buyer books the invoice (BT-19).
    accounting_reference: NotRequired[str | None]
    #: Allowances on the whole invoice (BG-20), such as a discount.
    allowances: NotRequired[list[AllowanceRequest] | None]
    #: Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01).
    beneficiary_id: NotRequired[str | None]
    #: Buyer address line 3 (BT-163).
    buyer_address_line: NotRequired[str | None]
    #: Buyer city (BT-52).
    buyer_city: NotRequired[str | None]
    #: Contact at the buyer (BG-9).
    buyer_contact: NotRequired[ContactRequest | None]
    #: Buyer country (BT-55), two capital letters.
    buyer_country: NotRequired[str | None]
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: NotRequired[str | None]
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: NotRequired[str | None]
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: NotRequired[str | None]
    #: Buyer legal registration (BT-47).
    buyer_legal_id: NotRequired[str | None]
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: NotRequired[str | None]
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: NotRequired[str | None]
    #: Buyer postal code (BT-53).
    buyer_postal_code: NotRequired[str | None]
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: NotRequired[str | None]
    #: Buyer address line 1 (BT-50).
    buyer_street: NotRequired[str | None]
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: NotRequired[str | None]
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: NotRequired[str | None]
    #: Buyer tax registration (BT-48).
    buyer_tax_id: NotRequired[str | None]
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: NotRequired[str | None]
    #: Charges on the whole invoice (BG-21), such as freight.
    charges: NotRequired[list[AllowanceRequest] | None]
    #: Contract (BT-12).
    contract_reference: NotRequired[str | None]
    #: Value of the contract of a continuous supply in the UAE (BTAE-05).
    contract_value: NotRequired[str | None]
    #: Invoice currency (BT-5, ISO 4217).
    currency: NotRequired[str]
    #: Customs declaration of an export from the UAE (BTAE-21).
    customs_reference: NotRequired[str | None]
    #: When, where and to whom goods or services were delivered (BG-13).
    delivery: NotRequired[DeliveryInformationRequest | None]
    #: Despatch advice, or delivery note (BT-16).
    despatch_reference: NotRequired[str | None]
    #: Mandate by which the seller collects the payment (BG-19).
    direct_debit: NotRequired[DirectDebitRequest | None]
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: NotRequired[str | None]
    #: Your system's key for the invoice. It has no meaning here and need not be unique.
    external_id: NotRequired[str | None]
    #: Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not.
    invoice_number: NotRequired[str]
    #: What the invoice is about, such as a meter or a subscription (BT-18).
    invoiced_object: NotRequired[str | None]
    #: Scheme of invoiced_object (BT-18-1, UNTDID 1153).
    invoiced_object_scheme: NotRequired[str | None]
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: NotRequired[str]
    #: Issue time, HH:MM (IBT-168).
    issue_time: NotRequired[str | None]
    #: Invoice lines (BG-25).
    items: NotRequired[list[ItemRequest]]
    #: Note on the invoice (BT-22); may contain TAB, LF and CR.
    note: NotRequired[str | None]
    #: Purchase order (BT-13).
    order_reference: NotRequired[str | None]
    #: Who is paid, if it is not the seller (BG-10).
    payee: NotRequired[PayeeRequest | None]
    #: Card by which the buyer has paid (BG-18).
    payment_card: NotRequired[PaymentCardRequest | None]
    #: Payment means (BT-81, UNCL4461).
    payment_means_code: NotRequired[str | None]
    #: Payment means in words (BT-82).
    payment_means_name: NotRequired[str | None]
    #: Text by which you recognise the payment (BT-83).
    payment_reference: NotRequired[str | None]
    #: Payment terms in words (BT-20); may contain TAB, LF and CR.
    payment_terms: NotRequired[str | None]
    #: Period that the invoice is for (BG-14).
    period: NotRequired[PeriodRequest | None]
    #: Invoices that this one corrects or continues (BG-3).
    preceding_invoices: NotRequired[list[PrecedingInvoiceRequest] | None]
    #: What has been paid already (BT-113), within the currency's minor unit. A number, or a string
    #: that holds one.
    prepaid_amount: NotRequired[Decimal | int | str | None]
    #: Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14).
    principal_id: NotRequired[str | None]
    #: Project (BT-11).
    project_reference: NotRequired[str | None]
    #: Receiving advice of the buyer (BT-15).
    receipt_reference: NotRequired[str | None]
    #: Buyer name (BT-44).
    recipient_name: NotRequired[str]
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: NotRequired[str | None]
    #: What is added to round the amount due (BT-114), within the currency's minor unit; may be
    #: negative. A number, or a string that holds one.
    rounding_amount: NotRequired[Decimal | int | str | None]
    #: Your own number of the order (BT-14).
    sales_order_reference: NotRequired[str | None]
    #: Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE
    #: always the dirham.
    tax_currency: NotRequired[str | None]
    #: Units of the tax currency for one unit of the invoice's (BTAE-04). A number, or a string
    #: that holds one.
    tax_exchange_rate: NotRequired[Decimal | int | str | None]
    #: What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date,
    #: 35 for the delivery, 432 for the payment.
    tax_point_code: NotRequired[str | None]
    #: Date when the tax becomes chargeable, if it is neither the issue date nor that of the
    #: delivery (BT-7), YYYY-MM-DD.
    tax_point_date: NotRequired[str | None]
    #: Who represents the seller towards the tax authority (BG-11).
    tax_representative: NotRequired[TaxRepresentativeRequest | None]
    #: Tender or lot (BT-17).
    tender_reference: NotRequired[str | None]
    #: Invoice total with tax (BT-112), within the currency's minor unit. A number, or a string
    #: that holds one.
    total_amount: NotRequired[Decimal | int | str]
    #: Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin
    #: scheme, summary invoice, continuous supply, agent billing, electronic commerce, export
    #: (BTAE-02).
    transaction_flags: NotRequired[str | None]
    #: Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected
    #: invoice; by default 380, or 480 of an invoice out of scope of tax in the UAE.
    type_code: NotRequired[str | None]


class InvoiceSummary(TypedDict):
    """What a response contains."""

    #: Where the buyer books the invoice (BT-19).
    accounting_reference: str | None
    #: What is asked for (BT-115): total_amount less prepaid_amount, plus rounding_amount.
    amount_due: Decimal | None
    #: Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01).
    beneficiary_id: str | None
    #: Buyer address line 3 (BT-163).
    buyer_address_line: str | None
    #: Buyer city (BT-52).
    buyer_city: str | None
    #: Contact at the buyer (BG-9).
    buyer_contact: Contact | None
    #: Buyer country (BT-55), two capital letters.
    buyer_country: str | None
    #: Electronic address scheme of the buyer (BT-49-1, EAS code).
    buyer_endpoint_scheme: str | None
    #: Another identifier of the buyer, such as your customer number or its GLN (BT-46).
    buyer_identifier: str | None
    #: Scheme of buyer_identifier (BT-46-1, ISO 6523).
    buyer_identifier_scheme: str | None
    #: Buyer legal registration (BT-47).
    buyer_legal_id: str | None
    #: Issuer of the legal registration, which some kinds require in the UAE: the authority of a
    #: trade licence (BTAE-11), or the country of a passport.
    buyer_legal_id_issuer: str | None
    #: Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type,
    #: TL, EID, PAS or CD (BTAE-16).
    buyer_legal_id_scheme: str | None
    #: Buyer postal code (BT-53).
    buyer_postal_code: str | None
    #: Reference that the buyer asked for (BT-10); defaults to that of the company profile.
    buyer_reference: str | None
    #: Buyer address line 1 (BT-50).
    buyer_street: str | None
    #: Buyer address line 2 (BT-51).
    buyer_street_additional: str | None
    #: Buyer country subdivision (BT-54).
    buyer_subdivision: str | None
    #: Buyer tax registration (BT-48).
    buyer_tax_id: str | None
    #: Name under which the buyer trades, if it is another one (BT-45).
    buyer_trading_name: str | None
    #: True if no field is missing for submission.
    complete: bool
    #: Contract (BT-12).
    contract_reference: str | None
    #: Value of the contract of a continuous supply in the UAE (BTAE-05).
    contract_value: str | None
    #: When the draft was created (UTC).
    created_at: str
    #: Invoice currency (BT-5, ISO 4217).
    currency: str | None
    #: Customs declaration of an export from the UAE (BTAE-21).
    customs_reference: str | None
    #: When, where and to whom goods or services were delivered (BG-13).
    delivery: DeliveryInformation | None
    #: Despatch advice, or delivery note (BT-16).
    despatch_reference: str | None
    #: Mandate by which the seller collects the payment (BG-19).
    direct_debit: DirectDebit | None
    #: Payment due date (BT-9), YYYY-MM-DD.
    due_date: str | None
    #: Your system's key for the invoice. It has no meaning here and need not be unique.
    external_id: str | None
    #: Identifier.
    id: str
    #: Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not.
    invoice_number: str | None
    #: What the invoice is about, such as a meter or a subscription (BT-18).
    invoiced_object: str | None
    #: Scheme of invoiced_object (BT-18-1, UNTDID 1153).
    invoiced_object_scheme: str | None
    #: Issue date (BT-2), YYYY-MM-DD.
    issue_date: str | None
    #: Issue time, HH:MM (IBT-168).
    issue_time: str | None
    #: Number of invoice lines; read the invoice for the lines themselves.
    item_count: int
    #: JSON paths of the fields that are missing for submission: the first 20.
    missing: list[str]
    #: Number of fields that are missing for submission.
    missing_count: int
    #: Note on the invoice (BT-22); may contain TAB, LF and CR.
    note: str | None
    #: Purchase order (BT-13).
    order_reference: str | None
    #: Who is paid, if it is not the seller (BG-10).
    payee: Payee | None
    #: Card by which the buyer has paid (BG-18).
    payment_card: PaymentCard | None
    #: Payment means (BT-81, UNCL4461).
    payment_means_code: str | None
    #: Payment means in words (BT-82).
    payment_means_name: str | None
    #: Text by which you recognise the payment (BT-83).
    payment_reference: str | None
    #: Payment terms in words (BT-20); may contain TAB, LF and CR.
    payment_terms: str | None
    #: Period that the invoice is for (BG-14).
    period: Period | None
    #: What has been paid already (BT-113), within the currency's minor unit.
    prepaid_amount: Decimal | None
    #: Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14).
    principal_id: str | None
    #: Project (BT-11).
    project_reference: str | None
    #: Top-level provider invoice state, verbatim; null if never reported.
    provider_invoice_state: str | None
    #: Receiving advice of the buyer (BT-15).
    receipt_reference: str | None
    #: Receiver state, verbatim; null if never reported.
    receiver_state: str | None
    #: Buyer name (BT-44).
    recipient_name: str | None
    #: Buyer identifier in the e-invoicing network (BT-49).
    recipient_network_id: str | None
    #: What is added to round the amount due (BT-114), within the currency's minor unit; may be
    #: negative.
    rounding_amount: Decimal | None
    #: Your own number of the order (BT-14).
    sales_order_reference: str | None
    #: Further information about each of the four states.
    states: StateDetails
    #: The current submission, or null.
    submission: Submission | None
    #: Provider validation or submission result, verbatim; null if never reported.
    submission_state: str | None
    #: True as soon as the intent to submit is stored. It does not mean that the document was
    #: delivered.
    submitted: bool
    #: When the intent to submit was stored.
    submitted_at: str | None
    #: Tax-authority reporting state, verbatim; null if never reported.
    tax_authority_state: str | None
    #: Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE
    #: always the dirham.
    tax_currency: str | None
    #: Units of the tax currency for one unit of the invoice's (BTAE-04).
    tax_exchange_rate: Decimal | None
    #: What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date,
    #: 35 for the delivery, 432 for the payment.
    tax_point_code: str | None
    #: Date when the tax becomes chargeable, if it is neither the issue date nor that of the
    #: delivery (BT-7), YYYY-MM-DD.
    tax_point_date: str | None
    #: Who represents the seller towards the tax authority (BG-11).
    tax_representative: TaxRepresentative | None
    #: Tender or lot (BT-17).
    tender_reference: str | None
    #: Invoice total with tax (BT-112), within the currency's minor unit.
    total_amount: Decimal | None
    #: Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin
    #: scheme, summary invoice, continuous supply, agent billing, electronic commerce, export
    #: (BTAE-02).
    transaction_flags: str | None
    #: Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected
    #: invoice; by default 380, or 480 of an invoice out of scope of tax in the UAE.
    type_code: str | None
    #: When the draft, or the information about its submission, last changed (UTC).
    updated_at: str
    #: Number of paths with advice.
    warning_count: int
    #: Advice by JSON path, as of the last change of the draft: the first 20 paths, and those of
    #: the company profile. Warnings do not prevent a submission.
    warnings: dict[str, list[Fault]]


class Item(TypedDict):
    """A part of Invoice."""

    #: Where the buyer books the line (BT-133).
    accounting_reference: str | None
    #: Allowances on the line (BG-27).
    allowances: list[LineAllowance]
    #: Properties of the item (BG-32).
    attributes: list[Attribute]
    #: Quantity to which the price applies (BT-149); defaults to 1.
    base_quantity: Decimal | None
    #: Buyer's item identifier (BT-156).
    buyer_item_code: str | None
    #: Charges on the line (BG-28).
    charges: list[LineAllowance]
    #: Classification of the item (BT-158), such as a customs tariff number.
    commodity_code: str | None
    #: Scheme of commodity_code (BT-158-1).
    commodity_scheme: str | None
    #: Version of commodity_scheme (BT-158-2).
    commodity_version: str | None
    #: Item description (BT-154); may contain TAB, LF and CR.
    description: str | None
    #: Discount on the gross price (BT-147).
    discount_amount: Decimal | None
    #: Item gross price before the discount (BT-148).
    gross_unit_price: Decimal | None
    #: What the line is about, such as a meter (BT-128).
    invoiced_object: str | None
    #: Scheme of invoiced_object (BT-128-1, UNTDID 1153).
    invoiced_object_scheme: str | None
    #: Seller's item identifier (BT-155).
    item_code: str | None
    #: Lot of the item, for the UAE (BTAE-24).
    lot_number: str | None
    #: Item name (BT-153).
    name: str | None
    #: Item net price (BT-146).
    net_unit_price: Decimal | None
    #: Note on the line (BT-127); may contain TAB, LF and CR.
    note: str | None
    #: Line of the purchase order (BT-132).
    order_line_reference: str | None
    #: Purchase order of the line, in a summary invoice of the UAE (BT-183).
    order_reference: str | None
    #: Country of origin of the item (BT-159), two capital letters.
    origin_country: str | None
    #: Period that the line is for (BG-26).
    period: LinePeriod | None
    #: Invoiced quantity (BT-129).
    quantity: Decimal | None
    #: Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too.
    service_code: str | None
    #: Standard item identifier, such as a GTIN (BT-157).
    standard_item_code: str | None
    #: Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN.
    standard_item_scheme: str | None
    #: G for goods, S for services, B for both, in the UAE (BTAE-13).
    supply_type: str | None
    #: Coded reason why no tax is charged (BT-121).
    tax_exemption_code: str | None
    #: Why no tax is charged (BT-120).
    tax_exemption_reason: str | None
    #: Unit of measure (BT-130, UN/ECE Recommendation 20/21).
    unit_code: str | None
    #: Tax category (BT-151, UNCL5305).
    vat_category: str | None
    #: Tax rate in per cent (BT-152). Above 0 for S; 0 for Z, E, G and K; 0 or absent for O. For AE
    #: and N it is information: their tax is 0.
    vat_rate: Decimal | None


class ItemPatch(TypedDict):
    """A merge patch (RFC 7396): null removes a field; an absent one is not changed."""

    #: Quantity to which the price applies (BT-149); defaults to 1. A number, or a string that
    #: holds one.
    base_quantity: NotRequired[Decimal | int | str | None]
    #: Buyer's item identifier (BT-156).
    buyer_item_code: NotRequired[str | None]
    #: Classification of the item (BT-158), such as a customs tariff number.
    commodity_code: NotRequired[str | None]
    #: Scheme of commodity_code (BT-158-1).
    commodity_scheme: NotRequired[str | None]
    #: Version of commodity_scheme (BT-158-2).
    commodity_version: NotRequired[str | None]
    #: Currency of the prices (ISO 4217). The console copies them to invoices in this currency
    #: alone.
    currency: NotRequired[str | None]
    #: Item description (BT-154); may contain TAB, LF and CR.
    description: NotRequired[str | None]
    #: Discount on the gross price (BT-147). A number, or a string that holds one.
    discount_amount: NotRequired[Decimal | int | str | None]
    #: Item gross price before the discount (BT-148). A number, or a string that holds one.
    gross_unit_price: NotRequired[Decimal | int | str | None]
    #: Seller's item identifier (BT-155), such as your SKU. It need not be unique.
    item_code: NotRequired[str | None]
    #: Item name (BT-153).
    name: NotRequired[str]
    #: Item net price (BT-146). A number, or a string that holds one.
    net_unit_price: NotRequired[Decimal | int | str | None]
    #: Country of origin of the item (BT-159), two capital letters.
    origin_country: NotRequired[str | None]
    #: Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too.
    service_code: NotRequired[str | None]
    #: Standard item identifier, such as a GTIN (BT-157).
    standard_item_code: NotRequired[str | None]
    #: Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN.
    standard_item_scheme: NotRequired[str | None]
    #: G for goods, S for services, B for both, in the UAE (BTAE-13).
    supply_type: NotRequired[str | None]
    #: Coded reason why no tax is charged (BT-121).
    tax_exemption_code: NotRequired[str | None]
    #: Why no tax is charged (BT-120).
    tax_exemption_reason: NotRequired[str | None]
    #: Unit of measure (BT-130, UN/ECE Recommendation 20/21).
    unit_code: NotRequired[str | None]
    #: Tax category (BT-151, UNCL5305).
    vat_category: NotRequired[str | None]
    #: Tax rate in per cent (BT-152). A number, or a string that holds one.
    vat_rate: NotRequired[Decimal | int | str | None]


class ItemRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Where the buyer books the line (BT-133).
    accounting_reference: NotRequired[str | None]
    #: Allowances on the line (BG-27).
    allowances: NotRequired[list[LineAllowanceRequest] | None]
    #: Properties of the item (BG-32).
    attributes: NotRequired[list[AttributeRequest] | None]
    #: Quantity to which the price applies (BT-149); defaults to 1. A number, or a string that
    #: holds one.
    base_quantity: NotRequired[Decimal | int | str | None]
    #: Buyer's item identifier (BT-156).
    buyer_item_code: NotRequired[str | None]
    #: Charges on the line (BG-28).
    charges: NotRequired[list[LineAllowanceRequest] | None]
    #: Classification of the item (BT-158), such as a customs tariff number.
    commodity_code: NotRequired[str | None]
    #: Scheme of commodity_code (BT-158-1).
    commodity_scheme: NotRequired[str | None]
    #: Version of commodity_scheme (BT-158-2).
    commodity_version: NotRequired[str | None]
    #: Item description (BT-154); may contain TAB, LF and CR.
    description: NotRequired[str | None]
    #: Discount on the gross price (BT-147). A number, or a string that holds one.
    discount_amount: NotRequired[Decimal | int | str | None]
    #: Item gross price before the discount (BT-148). A number, or a string that holds one.
    gross_unit_price: NotRequired[Decimal | int | str | None]
    #: What the line is about, such as a meter (BT-128).
    invoiced_object: NotRequired[str | None]
    #: Scheme of invoiced_object (BT-128-1, UNTDID 1153).
    invoiced_object_scheme: NotRequired[str | None]
    #: Seller's item identifier (BT-155).
    item_code: NotRequired[str | None]
    #: Lot of the item, for the UAE (BTAE-24).
    lot_number: NotRequired[str | None]
    #: Item name (BT-153).
    name: str
    #: Item net price (BT-146). A number, or a string that holds one.
    net_unit_price: Decimal | int | str
    #: Note on the line (BT-127); may contain TAB, LF and CR.
    note: NotRequired[str | None]
    #: Line of the purchase order (BT-132).
    order_line_reference: NotRequired[str | None]
    #: Purchase order of the line, in a summary invoice of the UAE (BT-183).
    order_reference: NotRequired[str | None]
    #: Country of origin of the item (BT-159), two capital letters.
    origin_country: NotRequired[str | None]
    #: Period that the line is for (BG-26).
    period: NotRequired[LinePeriodRequest | None]
    #: Invoiced quantity (BT-129). A number, or a string that holds one.
    quantity: Decimal | int | str
    #: Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too.
    service_code: NotRequired[str | None]
    #: Standard item identifier, such as a GTIN (BT-157).
    standard_item_code: NotRequired[str | None]
    #: Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN.
    standard_item_scheme: NotRequired[str | None]
    #: G for goods, S for services, B for both, in the UAE (BTAE-13).
    supply_type: NotRequired[str | None]
    #: Coded reason why no tax is charged (BT-121).
    tax_exemption_code: NotRequired[str | None]
    #: Why no tax is charged (BT-120).
    tax_exemption_reason: NotRequired[str | None]
    #: Unit of measure (BT-130, UN/ECE Recommendation 20/21).
    unit_code: NotRequired[str | None]
    #: Tax category (BT-151, UNCL5305).
    vat_category: NotRequired[str | None]
    #: Tax rate in per cent (BT-152). Above 0 for S; 0 for Z, E, G and K; 0 or absent for O. For AE
    #: and N it is information: their tax is 0. A number, or a string that holds one.
    vat_rate: NotRequired[Decimal | int | str | None]


class LineAllowance(TypedDict):
    """A part of Item."""

    #: Amount without tax (BT-136, of a charge BT-141); if absent, percent of base_amount.
    amount: Decimal | None
    #: Amount that percent is of (BT-137, BT-142); goes with percent.
    base_amount: Decimal | None
    #: Per cent of base_amount (BT-138, BT-143).
    percent: Decimal | None
    #: Reason (BT-139, BT-144).
    reason: str | None
    #: Coded reason: of an allowance UNCL5189 (BT-140), of a charge UNCL7161 (BT-145).
    reason_code: str | None


class LineAllowanceRequest(TypedDict):
    """A part of ItemRequest."""

    #: Amount without tax (BT-136, of a charge BT-141); if absent, percent of base_amount. A
    #: number, or a string that holds one.
    amount: NotRequired[Decimal | int | str | None]
    #: Amount that percent is of (BT-137, BT-142); goes with percent. A number, or a string that
    #: holds one.
    base_amount: NotRequired[Decimal | int | str | None]
    #: Per cent of base_amount (BT-138, BT-143). A number, or a string that holds one.
    percent: NotRequired[Decimal | int | str | None]
    #: Reason (BT-139, BT-144).
    reason: NotRequired[str | None]
    #: Coded reason: of an allowance UNCL5189 (BT-140), of a charge UNCL7161 (BT-145).
    reason_code: NotRequired[str | None]


class LinePeriod(TypedDict):
    """A part of Item."""

    #: Last day (BT-135), YYYY-MM-DD.
    end: str | None
    #: First day (BT-134), YYYY-MM-DD.
    start: str | None


class LinePeriodRequest(TypedDict):
    """A part of ItemRequest."""

    #: Last day (BT-135), YYYY-MM-DD.
    end: NotRequired[str | None]
    #: First day (BT-134), YYYY-MM-DD.
    start: NotRequired[str | None]


class LoggedOut(TypedDict):
    """What a response contains."""

    #: Always true. The presented token is revoked.
    logged_out: bool


class Login(TypedDict):
    """What a response contains."""

    account: LoginAccount
    #: When the token expires. Log in again before that.
    expires_at: str
    #: True if an administrator set this password and the user has not changed it yet. The token is
    #: valid all the same; change the password with POST /api/v1/client/auth/password.
    password_change_required: bool
    #: Bearer token, for the header Authorization: Bearer <token>.
    token: str
    user: LoginUser


class LoginAccount(TypedDict):
    """A part of Login."""

    #: Name of the company.
    company_name: str
    #: active; a suspended account is refused at login.
    status: str


class LoginRequest(TypedDict):
    """The body of a request."""

    #: The account to log in to. It is needed only if users of several companies have the address
    #: and the same password; without it, the one who has proved the address is meant, or else the
    #: one who was added first.
    account_id: NotRequired[str | None]
    #: E-mail address of the user.
    email: str
    #: Code of the authenticator app, or a recovery code, which is the only one for a user who has
    #: only passkeys. Required if the user has a second factor; otherwise it is ignored.
    otp: NotRequired[str | None]
    #: Password.
    password: str


class LoginUser(TypedDict):
    """A part of Login."""

    #: E-mail address of the user.
    email: str
    #: True if the user has proved to have the address, with a link that was mailed to it or by
    #: single sign-on.
    email_proved: bool
    #: Name of the user.
    name: str


class NewAPIKey(TypedDict):
    """What a response contains."""

    #: When it was created.
    created_at: str
    #: E-mail address of the user who created it; null for an administrator.
    created_by: str | None
    #: When the key expires; null for never.
    expires_at: str | None
    #: Identifier, which logs and the audit log name.
    id: str
    #: The key, shown in this response only, for the header Authorization: Bearer <key>. It matches
    #: ^qk_(sandbox|production)_[0-9A-Za-z]{49}$.
    key: NotRequired[str]
    #: Last four characters of the key.
    last_four: str
    #: When it was used last, to a minute; null for never.
    last_used_at: str | None
    #: Address that it was used from then.
    last_used_from: str | None
    #: What uses the key.
    name: str
    #: Networks that the key is accepted from, in CIDR notation; empty for any.
    networks: list[str]
    #: Beginning of the key, which names its environment.
    prefix: str
    #: When it was revoked.
    revoked_at: str | None
    #: What the key may do.
    scopes: list[Literal["read", "write", "submit", "webhooks"]]
    #: Only an active key is accepted.
    state: Literal["active", "expired", "revoked"]


class NewInvitation(TypedDict):
    """What a response contains."""

    #: E-mail address of the invited person.
    email: str
    #: When the invitation ends, 72 hours after it was made.
    expires_at: str
    #: Identifier.
    id: str
    #: Role that the person gets.
    role: Literal["owner", "accountant", "developer", "viewer"]
    #: The link that the person opens to choose a password. Send it to this person only: whoever
    #: has it can use it. Absent in a response that is replayed for an Idempotency-Key.
    url: NotRequired[str]


class NewSubscription(TypedDict):
    """What a response contains."""

    #: False after deactivation, which is permanent.
    active: bool
    #: When it was created.
    created_at: str
    #: When it was deactivated.
    deactivated_at: str | None
    #: requested, redirect or unsafe_address.
    deactivation_reason: str | None
    #: A note for people.
    description: str | None
    #: Event kinds that are sent.
    events: list[str]
    #: When the first of the attempts began that have failed since one arrived; null if the last
    #: one arrived, before the first, and after deactivation.
    failing_since: str | None
    #: Identifier.
    id: str
    #: Signing secret, shown in this response only. The HMAC key is all its ASCII bytes, including
    #: whsec_.
    secret: NotRequired[str]
    #: Destination exactly as given.
    url: str


class Pagination(TypedDict):
    """What a response contains."""

    #: The requested page, from 1.
    current_page: int
    #: True if there are further pages.
    has_more: bool
    #: Number of the last page; 1 for an empty list.
    last_page: int
    #: Entries on a full page, at most 100; a higher request is treated as 100.
    per_page: int
    #: Entries in the whole list; for a truncated list, among the examined ones.
    total: int
    #: Present, and true, only if a filtered or sorted list has more than the 20,000 candidates
    #: that are examined; narrow the filter.
    truncated: NotRequired[bool]


class ParsedAllowance(TypedDict):
    """A part of ParsedDocument and of ParsedLine."""

    #: Amount without tax.
    amount: Decimal | None
    #: Amount that the percentage applies to.
    base_amount: Decimal | None
    #: True for a charge, false for an allowance.
    charge: bool
    #: Percentage.
    percent: Decimal | None
    #: Reason.
    reason: str | None
    #: Reason code.
    reason_code: str | None
    #: Tax category; null on a line, which has its own.
    vat_category: str | None
    #: Tax rate in percent; null on a line.
    vat_rate: Decimal | None


class ParsedAttribute(TypedDict):
    """A part of ParsedLine."""

    #: Name (BT-160).
    name: str | None
    #: Value (BT-161).
    value: str | None


class ParsedDates(TypedDict):
    """A part of ParsedLine."""

    #: Last day (BT-74, BT-135).
    end: str | None
    #: First day (BT-73, BT-134).
    start: str | None


class ParsedDelivery(TypedDict):
    """A part of ParsedDocument."""

    #: Address line 3.
    address_line: str | None
    #: City.
    city: str | None
    #: Country code.
    country: str | None
    #: Date (BT-72).
    date: str | None
    #: Terms of the delivery (BTAE-22).
    incoterms: str | None
    #: Identifier of the place (BT-71).
    location_id: str | None
    #: Scheme of location_id (BT-71-1).
    location_scheme: str | None
    #: Who received the delivery (BT-70).
    name: str | None
    #: Postal code.
    postal_code: str | None
    #: Address line 1.
    street: str | None
    #: Address line 2.
    street_additional: str | None
    #: Subdivision, such as an emirate.
    subdivision: str | None


class ParsedDocument(TypedDict):
    """A part of IncomingInvoiceDetail."""

    #: Where the buyer books the invoice (BT-19).
    accounting_reference: str | None
    #: Allowances and charges on the whole document (BG-20, BG-21).
    allowances: list[ParsedAllowance]
    #: Supporting documents (BG-24): embedded files, and addresses of external ones. This service
    #: does not fetch external ones.
    attachments: list[ParsedFile]
    #: Beneficiary of a supply that involves a free trade zone (BTAE-01).
    beneficiary_id: str | None
    #: Business process type (BT-23), verbatim.
    business_process: str | None
    #: Buyer (BG-7).
    buyer: ParsedParty
    #: Currency of the amounts (BT-5).
    currency: str | None
    #: Delivery (BG-13).
    delivery: ParsedDelivery | None
    #: Payment due date (BT-9), without a time zone.
    due_date: str | None
    #: Issue date (BT-2), without a time zone.
    issue_date: str | None
    #: Issue time (IBT-168), verbatim.
    issue_time: str | None
    #: Lines of the document; greater than the length of lines if those are cut.
    line_count: int
    #: The first lines (BG-25), at most 1000.
    lines: list[ParsedLine]
    #: Notes (BT-22).
    notes: list[str]
    #: Invoice number (BT-1).
    number: str | None
    #: What else the document says: values that have no field here, in the order of the document,
    #: and the same again where it repeats what may be there once. The first 500.
    other: list[ParsedOther]
    #: How many such values the document has; greater than the length of other if that is cut.
    other_count: int
    #: Payee, if not the seller (BG-10).
    payee: ParsedParty | None
    #: Payment instructions (BG-16).
    payment: ParsedPayment
    #: Invoicing period (BG-14).
    period: ParsedPeriod | None
    #: Principal in whose name an agent invoices (BTAE-14).
    principal_id: str | None
    #: The document format, if it is one that this service knows.
    profile: Literal["pint-ae", "bis3", ""] | None
    #: Reason of a credit note (BTAE-03).
    reason_code: str | None
    #: References to other documents.
    references: ParsedReferences
    #: Seller (BG-4).
    seller: ParsedParty
    #: Specification identifier (EN 16931 BT-24), verbatim.
    specification: str | None
    #: Tax by category and rate (BG-23).
    tax_breakdown: list[ParsedTax]
    #: Accounting currency of the tax (BT-6).
    tax_currency: str | None
    #: Exchange rate from the currency to the tax currency.
    tax_exchange_rate: Decimal | None
    #: What sets the tax point date (BT-8).
    tax_point_code: str | None
    #: Value added tax point date (BT-7), without a time zone.
    tax_point_date: str | None
    #: Tax representative of the seller (BG-11).
    tax_representative: ParsedParty | None
    #: Totals (BG-22), as the document states them.
    totals: ParsedTotals
    #: Transaction type flags (BTAE-02).
    transaction_flags: str | None
    #: What the document is.
    type: Literal["invoice", "credit_note", "self_billed_invoice", "self_billed_credit_note"]
    #: Invoice type code (BT-3).
    type_code: str | None
    #: The sender's universally unique identifier of the document.
    uuid: str | None
    #: Figures that disagree and values that cannot be used, by the path of the value in parsed; {}
    #: if there are none.
    warnings: dict[str, list[Fault]]


class ParsedFile(TypedDict):
    """A part of ParsedDocument."""

    #: Description (BT-123).
    description: str | None
    #: Identifier of the attachment in its revision.
    id: str
    #: Media type that the sender states, verbatim; null if it is not embedded.
    media_type: str | None
    #: File name (BT-125), verbatim; null if it is not embedded.
    name: str | None
    #: The document's own identifier of it (BT-122).
    reference: str | None
    #: Size in bytes; null if it is not embedded or not valid base64, and cannot be downloaded.
    size: int | None
    #: External address (BT-124), verbatim. Nothing has checked it.
    url: str | None


class ParsedLine(TypedDict):
    """A part of ParsedDocument."""

    #: Where the buyer books the line (BT-133).
    accounting_reference: str | None
    #: Allowances and charges on the line (BG-27, BG-28).
    allowances: list[ParsedAllowance]
    #: Properties of the item (BG-32), at most 100.
    attributes: list[ParsedAttribute]
    #: Quantity to which the price applies (BT-149); null if the document states none, which means
    #: 1.
    base_quantity: Decimal | None
    #: Buyer's item identifier (BT-156).
    buyer_item_code: str | None
    #: First classification of the item (BT-158), such as a customs tariff number.
    commodity_code: str | None
    #: Scheme of commodity_code (BT-158-1).
    commodity_scheme: str | None
    #: Version of commodity_scheme (BT-158-2).
    commodity_version: str | None
    #: Item description (BT-154).
    description: str | None
    #: Discount on the gross price (BT-147); null if the document states none, which means 0.
    discount_amount: Decimal | None
    #: Gross price (BT-148).
    gross_unit_price: Decimal | None
    #: Line identifier (BT-126).
    id: str | None
    #: What the line is about (BT-128).
    invoiced_object: str | None
    #: Scheme of invoiced_object (BT-128-1).
    invoiced_object_scheme: str | None
    #: Seller's item identifier (BT-155).
    item_code: str | None
    #: Lot of the item (BTAE-24).
    lot_number: str | None
    #: Item name (BT-153).
    name: str | None
    #: Line amount without tax (BT-131).
    net: Decimal | None
    #: Net price (BT-146).
    net_unit_price: Decimal | None
    #: Line note (BT-127).
    note: str | None
    #: Referenced line of the order (BT-132).
    order_line_reference: str | None
    #: Purchase order of the line (BT-183).
    order_reference: str | None
    #: Country of origin of the item (BT-159).
    origin_country: str | None
    #: Period of the line (BG-26).
    period: ParsedDates | None
    #: Quantity (BT-129).
    quantity: Decimal | None
    #: Service accounting code (BTAE-17) of an item with another classification too.
    service_code: str | None
    #: Standard item identifier (BT-157).
    standard_item_code: str | None
    #: Scheme of standard_item_code (BT-157-1).
    standard_item_scheme: str | None
    #: G for goods, S for services, B for both (BTAE-13).
    supply_type: str | None
    #: Coded reason why no tax is charged, if the line states it as in the UAE; with reverse charge
    #: the code of the goods or services (BTAE-09).
    tax_exemption_code: str | None
    #: Why no tax is charged, if the line states it.
    tax_exemption_reason: str | None
    #: Tax of the line in dirhams (BTAE-08).
    tax_in_tax_currency: Decimal | None
    #: Amount of the line with tax in dirhams (BTAE-10).
    total_in_tax_currency: Decimal | None
    #: Unit of the quantity (BT-130).
    unit_code: str | None
    #: Tax category (BT-151).
    vat_category: str | None
    #: Tax rate in percent (BT-152); null if the document states none.
    vat_rate: Decimal | None


class ParsedOther(TypedDict):
    """A part of ParsedDocument."""

    #: Where it stands: elements with the usual prefixes of UBL, a number in brackets where there
    #: are several, and @ before the name of an attribute.
    path: str
    #: The value, verbatim, and cut after 4096 characters; null for an extension, which is not
    #: read.
    value: str | None


class ParsedParty(TypedDict):
    """A part of ParsedDocument."""

    #: Address line 3.
    address_line: str | None
    #: City.
    city: str | None
    #: E-mail address of the contact.
    contact_email: str | None
    #: Contact point.
    contact_name: str | None
    #: Telephone number of the contact.
    contact_phone: str | None
    #: Country code.
    country: str | None
    #: Scheme of network_id.
    endpoint_scheme: str | None
    #: First other identifier (BT-29, BT-46).
    identifier: str | None
    #: Scheme of identifier.
    identifier_scheme: str | None
    #: Additional legal information (BT-33).
    legal_form: str | None
    #: Legal registration identifier (BT-30, BT-47).
    legal_id: str | None
    #: Authority or country that issued legal_id in the UAE (BTAE-12, BTAE-11).
    legal_id_issuer: str | None
    #: Scheme of legal_id (BT-30-1, BT-47-1), or in the UAE its type (BTAE-15, BTAE-16).
    legal_id_scheme: str | None
    #: Legal name, or else the trading name (BT-27, BT-44).
    name: str | None
    #: Electronic address (BT-34, BT-49).
    network_id: str | None
    #: Postal code.
    postal_code: str | None
    #: Address line 1.
    street: str | None
    #: Address line 2.
    street_additional: str | None
    #: Subdivision, such as an emirate.
    subdivision: str | None
    #: VAT identifier (BT-31, BT-48).
    tax_id: str | None
    #: Another tax registration identifier (BT-32).
    tax_registration_id: str | None
    #: Tax that tax_registration_id is of.
    tax_registration_scheme: str | None
    #: Trading name (BT-28, BT-45).
    trading_name: str | None


class ParsedPayment(TypedDict):
    """A part of ParsedDocument."""

    #: Identifier of the creditor of a direct debit that the bank has assigned (BT-90).
    creditor_id: str | None
    #: Ways to pay (BG-16); a document may offer several.
    means: list[ParsedPaymentMeans]
    #: Payment terms (BT-20).
    terms: str | None


class ParsedPaymentMeans(TypedDict):
    """A part of ParsedPayment."""

    #: Payment account, such as an IBAN (BT-84).
    account: str | None
    #: Name of the account (BT-85).
    account_name: str | None
    #: Kind of the account (BT-84-1).
    account_scheme: str | None
    #: Payment service provider, such as a BIC (BT-86).
    bank_id: str | None
    #: Payment card number as stated, usually its last digits (BT-87).
    card: str | None
    #: Card holder (BT-88).
    card_holder: str | None
    #: Network of the card.
    card_network: str | None
    #: Payment means code (BT-81).
    code: str | None
    #: Account that is debited (BT-91).
    debited_account: str | None
    #: Direct debit mandate (BT-89).
    mandate: str | None
    #: Name of the payment means (BT-82).
    name: str | None
    #: Remittance information (BT-83).
    reference: str | None


class ParsedPeriod(TypedDict):
    """A part of ParsedDocument."""

    #: The period in words.
    description: str | None
    #: Last day (BT-74, BT-135).
    end: str | None
    #: How often a continuous supply is invoiced (BTAE-06).
    frequency: str | None
    #: First day (BT-73, BT-134).
    start: str | None


class ParsedPreceding(TypedDict):
    """A part of ParsedReferences."""

    #: Issue date (BT-26).
    issue_date: str | None
    #: Number (BT-25).
    number: str | None


class ParsedReferences(TypedDict):
    """A part of ParsedDocument."""

    #: Buyer reference (BT-10).
    buyer: str | None
    #: Contract (BT-12).
    contract: str | None
    #: Value of the contract (BTAE-05).
    contract_value: str | None
    #: Customs declaration of an export (BTAE-21).
    customs: str | None
    #: Despatch advice (BT-16).
    despatch: str | None
    #: What the invoice is about (BT-18).
    invoiced_object: str | None
    #: Scheme of invoiced_object (BT-18-1).
    invoiced_object_scheme: str | None
    #: Purchase order (BT-13).
    order: str | None
    #: Preceding invoices (BG-3).
    preceding_invoices: list[ParsedPreceding]
    #: Project (BT-11).
    project: str | None
    #: Receiving advice (BT-15).
    receipt: str | None
    #: Sales order (BT-14).
    sales_order: str | None
    #: Tender or lot (BT-17).
    tender: str | None


class ParsedTax(TypedDict):
    """A part of ParsedDocument."""

    #: Tax category (BT-118).
    category: str | None
    #: Exemption reason code (BT-121).
    exemption_code: str | None
    #: Exemption reason (BT-120).
    exemption_reason: str | None
    #: Tax rate in percent (BT-119); null if the document states none.
    rate: Decimal | None
    #: Tax amount (BT-117).
    tax: Decimal | None
    #: Taxable amount (BT-116).
    taxable: Decimal | None


class ParsedTotals(TypedDict):
    """A part of ParsedDocument."""

    #: Sum of the document's allowances (BT-107).
    allowances: Decimal | None
    #: Sum of the document's charges (BT-108).
    charges: Decimal | None
    #: Sum of the line amounts (BT-106).
    lines: Decimal | None
    #: Total without tax (BT-109).
    net: Decimal | None
    #: Amount due for payment (BT-115).
    payable: Decimal | None
    #: Paid amount (BT-113).
    prepaid: Decimal | None
    #: Rounding amount (BT-114).
    rounding: Decimal | None
    #: Total tax (BT-110).
    tax: Decimal | None
    #: Total tax in the tax currency (BT-111).
    tax_in_tax_currency: Decimal | None
    #: Total with tax (BT-112).
    total: Decimal | None
    #: Total with tax in dirhams, which a document of the UAE in another currency states.
    total_in_tax_currency: Decimal | None


class PasswordChanged(TypedDict):
    """What a response contains."""

    #: Always true. All other tokens of the user are revoked.
    password_changed: bool


class PasswordRequest(TypedDict):
    """The body of a request."""

    #: The current password.
    current_password: str
    #: The new password: 15 to 256 characters, neither a common password nor the current one.
    new_password: str


class Payee(TypedDict):
    """A part of Invoice and of InvoiceSummary."""

    #: Payee identifier (BT-60).
    identifier: str | None
    #: Scheme of identifier (BT-60-1, ISO 6523).
    identifier_scheme: str | None
    #: Payee legal registration (BT-61).
    legal_id: str | None
    #: Scheme of legal_id (BT-61-1, ISO 6523).
    legal_id_scheme: str | None
    #: Payee name (BT-59).
    name: str | None


class PayeeRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Payee identifier (BT-60).
    identifier: NotRequired[str | None]
    #: Scheme of identifier (BT-60-1, ISO 6523).
    identifier_scheme: NotRequired[str | None]
    #: Payee legal registration (BT-61).
    legal_id: NotRequired[str | None]
    #: Scheme of legal_id (BT-61-1, ISO 6523).
    legal_id_scheme: NotRequired[str | None]
    #: Payee name (BT-59).
    name: NotRequired[str | None]


class PaymentCard(TypedDict):
    """A part of Invoice and of InvoiceSummary."""

    #: Card holder (BT-88).
    holder: str | None
    #: Network of the card, which UBL asks for (BG-18).
    network: str | None
    #: Card number (BT-87): by the rules of payment cards no more than its first six and last four
    #: digits.
    number: str | None


class PaymentCardRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Card holder (BT-88).
    holder: NotRequired[str | None]
    #: Network of the card, which UBL asks for (BG-18).
    network: NotRequired[str | None]
    #: Card number (BT-87): by the rules of payment cards no more than its first six and last four
    #: digits.
    number: NotRequired[str | None]


class Period(TypedDict):
    """A part of Invoice and of InvoiceSummary."""

    #: The period in words (BTAE-06).
    description: str | None
    #: Last day (BT-74), YYYY-MM-DD.
    end: str | None
    #: How often a continuous supply is invoiced in the UAE (BTAE-06): DLY, WKY, Q15, MTH, Q45,
    #: Q60, QTR, HYR, YRL, or OTH with an explanation in the note.
    frequency: str | None
    #: First day (BT-73), YYYY-MM-DD.
    start: str | None


class PeriodRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: The period in words (BTAE-06).
    description: NotRequired[str | None]
    #: Last day (BT-74), YYYY-MM-DD.
    end: NotRequired[str | None]
    #: How often a continuous supply is invoiced in the UAE (BTAE-06): DLY, WKY, Q15, MTH, Q45,
    #: Q60, QTR, HYR, YRL, or OTH with an explanation in the note.
    frequency: NotRequired[str | None]
    #: First day (BT-73), YYYY-MM-DD.
    start: NotRequired[str | None]


class PrecedingInvoice(TypedDict):
    """A part of Invoice."""

    #: Issue date of the preceding invoice (BT-26), YYYY-MM-DD.
    issue_date: str | None
    #: Number of the preceding invoice (BT-25).
    number: str | None


class PrecedingInvoiceRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Issue date of the preceding invoice (BT-26), YYYY-MM-DD.
    issue_date: NotRequired[str | None]
    #: Number of the preceding invoice (BT-25).
    number: NotRequired[str | None]


class Preflight(TypedDict):
    """What a response contains."""

    #: True if missing is empty: nothing is missing for submission or contradicts itself, including
    #: what the document format of the connection needs, if it has one.
    complete: bool
    #: Totals as the server computes them: lines rounded to the minor unit, or to the digits of the
    #: document format of the connection; tax rounded per category and rate.
    computed: Computed
    #: JSON paths of the fields that a submission still needs: those that are missing, and those of
    #: a tax that contradicts its category in every document format, such as a rate above 0 of a
    #: zero-rated item. warnings has the rule of each contradiction.
    missing: list[str]
    #: Advice by JSON path. Warnings about paths that are not in missing do not prevent a
    #: submission.
    warnings: dict[str, list[Fault]]


class Profile(TypedDict):
    """A part of Account."""

    #: Seller address line 3 (BT-162).
    address_line: str | None
    #: Default buyer reference (BT-10).
    buyer_reference: str | None
    #: Seller city (BT-37).
    city: str | None
    #: E-mail address of the contact (BT-43).
    contact_email: str | None
    #: Whom the buyer may ask about an invoice: a person or a department (BT-41).
    contact_name: str | None
    #: Telephone number of the contact (BT-42).
    contact_phone: str | None
    #: Seller country (BT-40).
    country: str | None
    #: Usual currency of the company's invoices (ISO 4217).
    currency: str | None
    #: Electronic address of the seller (BT-34).
    endpoint_id: str | None
    #: Electronic address scheme of the seller (BT-34-1).
    endpoint_scheme: str | None
    #: Another identifier of the seller, such as your GLN (BT-29).
    identifier: str | None
    #: Scheme of identifier (BT-29-1, ISO 6523).
    identifier_scheme: str | None
    #: Additional legal information about the seller, such as its legal form and capital (BT-33).
    legal_form: str | None
    #: Seller name (BT-27).
    legal_name: str | None
    #: Issuer of the legal registration, which some kinds require: in the UAE the authority of a
    #: trade licence (PINT-AE BTAE-12), or the country of a passport.
    legal_registration_authority: str | None
    #: Seller legal registration (BT-30).
    legal_registration_number: str | None
    #: Kind of the legal registration (PINT-AE BTAE-15).
    legal_registration_type: str | None
    #: Logo for printed documents: a PNG or JPEG image as a data URL in base64, at most 65536
    #: bytes, 2048 pixels wide and high. It is not sent to the provider.
    logo: str | None
    #: Payment account (BT-84).
    payee_account: str | None
    #: Name of the payment account (BT-85).
    payee_account_name: str | None
    #: Kind of the payment account in the UAE, such as IBAN (BT-84-1).
    payee_account_scheme: str | None
    #: Bank of the payment account, such as its BIC (BT-86).
    payee_bank_id: str | None
    #: Seller postal code (BT-38).
    postal_code: str | None
    #: Seller address line 1 (BT-35).
    street: str | None
    #: Seller address line 2 (BT-36).
    street_additional: str | None
    #: Seller country subdivision (BT-39).
    subdivision: str | None
    #: Seller tax registration of another kind, such as a German Steuernummer (BT-32).
    tax_registration_id: str | None
    #: Seller tax registration (BT-31).
    tax_registration_number: str | None
    #: Name under which the seller trades, if it is another one (BT-28).
    trading_name: str | None


class Quota(TypedDict):
    """A part of Quotas."""

    #: The limit; null if there is none.
    limit: int | None
    #: The present use.
    used: int


class Quotas(TypedDict):
    """A part of Account."""

    #: API keys that are neither revoked nor expired.
    api_keys: Quota
    #: Entries of the customer book.
    customers: Quota
    #: Invoices that were not submitted.
    drafts: Quota
    #: Entries of the item catalogue.
    items: Quota
    #: Bytes of invoices, credit notes, retained responses and documents, events, and responses
    #: stored for idempotency keys.
    stored_bytes: Quota
    #: Active webhook subscriptions.
    subscriptions: Quota
    #: Webhook subscriptions that were ever created, including deactivated ones.
    subscriptions_created: Quota
    #: Valid tokens and sessions of the calling user; an API key has none. A login beyond the limit
    #: is not refused; it revokes the oldest one.
    tokens: Quota


class RecipientLookup(TypedDict):
    """What a response contains."""

    #: Whether the recipient can receive documents; null if the provider cannot say.
    found: bool | None
    #: When the provider was asked.
    looked_up_at: str
    #: The document formats of this service that the recipient accepts, as far as the provider
    #: says: pint-ae, bis3.
    profiles: list[str]


class RecipientQueryRequest(TypedDict):
    """The body of a request."""

    #: Identifier in the e-invoicing network, as recipient_network_id of an invoice.
    id: str
    #: Electronic address scheme (EAS code), as buyer_endpoint_scheme of an invoice.
    scheme: str


class RecoveryCodes(TypedDict):
    """What a response contains."""

    #: Ten codes. Keep them like passwords. No other response has them; the service stores digests.
    recovery_codes: list[str]


class Resolution(TypedDict):
    """A part of Submission and of SubmissionRecord."""

    #: When it was decided (UTC).
    at: str
    #: Name of the administrator.
    by: str
    #: When the provider reported the document although it had been resolved by rejecting it, or
    #: null. Two documents may then have been accepted for one invoice.
    contradicted_at: str | None
    #: resend: sent again under its reference. reject: counted as rejected, so that the invoice can
    #: be corrected and submitted again.
    decision: Literal["resend", "reject"]
    #: Reason that the administrator gave.
    reason: str


class RetainedBody(TypedDict):
    """What a response contains."""

    #: The bytes in base64 (RFC 4648, section 4); null if they are withheld or were not retained.
    body_base64: str | None
    #: Content-Type as it was sent; empty if unknown.
    media_type: str
    #: Lowercase hex SHA-256 of the bytes.
    sha256: str
    #: True if the bytes contain our credential; they are then sealed and never shown.
    withheld: bool


class RetentionEvidence(TypedDict):
    """A part of IncomingInvoice and of IncomingInvoiceDetail and of IncomingRevision."""

    #: The digest that the provider's metadata claim. If sha256 differs, sha256 is correct.
    claimed_sha256: str | None
    #: Chain digest: SHA-256 over this revision and previous.
    digest: str
    #: True if the document's bytes are retained. Of a document of more than 10 MiB, only metadata
    #: and digest are.
    document_retained: bool
    #: Content-Type of the document as it was sent, or else as the metadata claim; empty if
    #: unknown.
    media_type: str
    #: Lowercase hex SHA-256 of the provider's metadata as received, which are retained too.
    metadata_sha256: str
    #: Chain digest of the previous revision; all zeros for the first.
    previous: str
    #: When it was retained (UTC).
    retained_at: str
    #: Size of the document in bytes; null if it was not received completely.
    size: int | None
    #: True if document or metadata contain our credential; both are then sealed and never shown.
    withheld: bool


class SecondFactor(TypedDict):
    """What a response contains."""

    #: True if the user has an authenticator app or a passkey, so that a login needs more than the
    #: password.
    enrolled: bool
    #: When the oldest second factor that the user has was set up; null without one.
    enrolled_at: str | None
    #: How many unused recovery codes are left.
    recovery_codes_left: int


class SecondFactorDisabled(TypedDict):
    """What a response contains."""

    #: Always true. All other sessions of the user have ended.
    disabled: bool


class Session(TypedDict):
    """What a response contains."""

    #: What the user logged in to; null if an earlier release of the service began the session.
    client: Literal["api", "console", ""] | None
    #: When the user logged in.
    created_at: str
    #: True for the session of the token that this call presents.
    current: bool
    #: Short description of the program and the system, made from the User-Agent of the login. It
    #: is what the program says about itself, and proves nothing; null if it said nothing.
    device: str | None
    #: When the session was ended; null for one that was not.
    ended_at: str | None
    #: When the session ends unless it is ended before.
    expires_at: str
    #: Identifier. It is no credential.
    id: str
    #: When the session was used last, written at most once a minute; null if it was used for less
    #: than a minute.
    last_used_at: str | None
    #: How the user logged in: with a password, with single sign-on, or with a link that a sandbox
    #: prints; null if an earlier release began the session.
    means: Literal["password", "single_sign_on", "link", ""] | None
    #: Network address that the user logged in from; null if it is not known.
    source: str | None
    #: The first 256 bytes of the User-Agent of the login; null if there was none.
    user_agent: str | None
    #: The user who logged in.
    user_id: str


class SessionsEnded(TypedDict):
    """What a response contains."""

    #: How many sessions were ended.
    ended: int


class StateDetail(TypedDict):
    """A part of StateDetails."""

    #: Identifier of the retained response that reported the value.
    evidence_id: str
    #: True if the provider calls the value final.
    final: bool
    #: Meaning of the value according to the provider; null if the provider does not state it.
    meaning: Literal["positive", "negative", "waiting", ""] | None
    #: When the response that reported the value was retained (UTC).
    reported_at: str
    #: The state value, verbatim.
    value: str


class StateDetails(TypedDict):
    """A part of CreditNote, CreditNoteSummary and other types."""

    #: About the top-level provider invoice state; null if never reported.
    provider_invoice_state: StateDetail | None
    #: About the receiver state; null if never reported.
    receiver_state: StateDetail | None
    #: About the provider validation or submission result; null if never reported.
    submission_state: StateDetail | None
    #: About the tax-authority reporting state; null if never reported.
    tax_authority_state: StateDetail | None


class Submission(TypedDict):
    """A part of CreditNote, CreditNoteSummary and other types."""

    #: When the intent to submit was stored.
    attempted_at: str
    #: The permanent reference under which the provider has the document.
    id: str
    #: When the provider last responded about it.
    last_checked_at: str | None
    #: When the provider is queried next, or at the earliest while its connection has failures;
    #: null once everything is final.
    next_check_at: str | None
    #: What this service knows about the submission; it is not a fifth state. rejected is the
    #: provider's decision; resolved_rejected is the decision of an administrator of this service
    #: about an unknown outcome.
    outcome: Literal["in_progress", "acknowledged", "rejected", "resolved_rejected", "unknown"]
    #: The provider's own identifier of the document, or null.
    provider_reference: str | None
    #: Decision of an administrator of this service about an unknown outcome; null if there is
    #: none.
    resolved: Resolution | None


class SubmissionPayload(TypedDict):
    """A part of EventSubmissionPayload and of EventValue."""

    #: Identifier of the credit note; absent for an invoice.
    credit_note_id: NotRequired[str]
    #: Number of the credit note; absent for an invoice.
    credit_note_number: NotRequired[str]
    #: Identifier of the invoice; for a credit note that of the credited invoice.
    invoice_id: str
    #: Number of that invoice.
    invoice_number: str
    #: Top-level provider invoice state, verbatim; null if never reported.
    provider_invoice_state: str | None
    #: Receiver state, verbatim; null if never reported.
    receiver_state: str | None
    #: Provider validation or submission result, verbatim; null if never reported.
    submission_state: str | None
    #: Tax-authority reporting state, verbatim; null if never reported.
    tax_authority_state: str | None


class SubmissionRecord(TypedDict):
    """What a response contains."""

    #: When the intent to submit was stored.
    attempted_at: str
    #: The number of the credit note; absent for an invoice.
    credit_note_number: NotRequired[str]
    #: True for the submission that the invoice shows.
    current: bool
    #: The permanent reference under which the provider has the document.
    id: str
    #: The number of the invoice, for a credit note of the credited one, when it was submitted.
    invoice_number: str
    #: When the provider last responded about it.
    last_checked_at: str | None
    #: When the provider is queried next, or at the earliest while its connection has failures;
    #: null once everything is final.
    next_check_at: str | None
    #: What this service knows about the submission; it is not a fifth state. rejected is the
    #: provider's decision; resolved_rejected is the decision of an administrator of this service
    #: about an unknown outcome.
    outcome: Literal["in_progress", "acknowledged", "rejected", "resolved_rejected", "unknown"]
    #: Top-level provider invoice state, verbatim; null if never reported.
    provider_invoice_state: str | None
    #: The provider's own identifier of the document, or null.
    provider_reference: str | None
    #: Receiver state, verbatim; null if never reported.
    receiver_state: str | None
    #: Decision of an administrator of this service about an unknown outcome; null if there is
    #: none.
    resolved: Resolution | None
    #: Further information about each of the four states.
    states: StateDetails
    #: Provider validation or submission result, verbatim; null if never reported.
    submission_state: str | None
    #: Tax-authority reporting state, verbatim; null if never reported.
    tax_authority_state: str | None


class Subscription(TypedDict):
    """What a response contains."""

    #: False after deactivation, which is permanent.
    active: bool
    #: When it was created.
    created_at: str
    #: When it was deactivated.
    deactivated_at: str | None
    #: requested, redirect or unsafe_address.
    deactivation_reason: str | None
    #: A note for people.
    description: str | None
    #: Event kinds that are sent.
    events: list[str]
    #: When the first of the attempts began that have failed since one arrived; null if the last
    #: one arrived, before the first, and after deactivation.
    failing_since: str | None
    #: Identifier.
    id: str
    #: Destination exactly as given.
    url: str


class SubscriptionRequest(TypedDict):
    """The body of a request."""

    #: A note for people.
    description: NotRequired[str | None]
    #: Event kinds to send; defaults to all.
    events: NotRequired[list[Literal[
        "einvoice.submission.updated",
        "einvoice.status.changed",
        "einvoice.terminal",
        "einvoice.incoming.received",
        "einvoice.incoming.revised",
    ]] | None]
    #: HTTPS destination: at most 2048 characters, a public host, no user info, query or fragment.
    url: str


class TOTPConfirmationRequest(TypedDict):
    """The body of a request."""

    #: Present code of the new authenticator app.
    code: str
    #: The current password; required if the user has no second factor yet.
    current_password: NotRequired[str | None]
    #: Code of the present authenticator app, or a recovery code; required if the user has a second
    #: factor, which the new app replaces.
    otp: NotRequired[str | None]


class TOTPEnrollment(TypedDict):
    """What a response contains."""

    #: Address with the secret, for a QR code that the authenticator app reads. Codes are those of
    #: RFC 6238 with SHA-1, six digits and steps of 30 seconds.
    otpauth_url: str
    #: Secret that the service and the authenticator app share, in base32 (RFC 4648). No other
    #: response has it.
    secret: str


class TaxRepresentative(TypedDict):
    """A part of Invoice and of InvoiceSummary."""

    #: Address line 3 (BT-164).
    address_line: str | None
    #: City (BT-66).
    city: str | None
    #: Country (BT-69), two capital letters.
    country: str | None
    #: Name of the tax representative (BT-62).
    name: str | None
    #: Postal code (BT-67).
    postal_code: str | None
    #: Address line 1 (BT-64).
    street: str | None
    #: Address line 2 (BT-65).
    street_additional: str | None
    #: Country subdivision (BT-68).
    subdivision: str | None
    #: Tax registration of the tax representative (BT-63).
    tax_id: str | None


class TaxRepresentativeRequest(TypedDict):
    """A part of DraftRequest and of InvoicePatch."""

    #: Address line 3 (BT-164).
    address_line: NotRequired[str | None]
    #: City (BT-66).
    city: NotRequired[str | None]
    #: Country (BT-69), two capital letters.
    country: NotRequired[str | None]
    #: Name of the tax representative (BT-62).
    name: NotRequired[str | None]
    #: Postal code (BT-67).
    postal_code: NotRequired[str | None]
    #: Address line 1 (BT-64).
    street: NotRequired[str | None]
    #: Address line 2 (BT-65).
    street_additional: NotRequired[str | None]
    #: Country subdivision (BT-68).
    subdivision: NotRequired[str | None]
    #: Tax registration of the tax representative (BT-63).
    tax_id: NotRequired[str | None]


class User(TypedDict):
    """What a response contains."""

    #: False for a user who is disabled and cannot log in.
    active: bool
    #: When the user was added.
    created_at: str
    #: E-mail address, with which the user logs in.
    email: str
    #: True if the user has proved to have the address, with a link that was mailed to it or by
    #: single sign-on. An unproved address gets no e-mails but those with such a link, and the user
    #: may lose the login when somebody else proves it.
    email_proved: bool
    #: Identifier.
    id: str
    #: True for a user who has logged in by single sign-on. The first such login links the user to
    #: a person at the OpenID provider, and nobody else there logs in as this user.
    linked: bool
    #: Name of the user.
    name: str
    #: What the user may do.
    role: Literal["owner", "accountant", "developer", "viewer"]


class UserChangeRequest(TypedDict):
    """The body of a request."""

    #: false prevents the user from logging in, and revokes the tokens of the user and the
    #: invitations that the user has made; true allows the login again.
    active: bool
    #: The new e-mail address of a colleague, who proves it with a link that is mailed to it. Users
    #: change their own with POST /api/v1/client/auth/address.
    email: str
    #: false ends the link to a person at the OpenID provider, so that the next login by single
    #: sign-on makes another one. true is allowed only for a user who is linked.
    linked: bool
    #: true also revokes the API keys that the user has made, which otherwise go on working when
    #: the user is disabled or gets another role.
    revoke_api_keys: bool
    #: The new role. It takes effect with the user's next request.
    role: Literal["owner", "accountant", "developer", "viewer"]


class UserPatch(TypedDict):
    """A merge patch (RFC 7396): null removes a field; an absent one is not changed."""

    #: false prevents the user from logging in, and revokes the tokens of the user and the
    #: invitations that the user has made; true allows the login again.
    active: NotRequired[bool]
    #: The new e-mail address of a colleague, who proves it with a link that is mailed to it. Users
    #: change their own with POST /api/v1/client/auth/address.
    email: NotRequired[str]
    #: false ends the link to a person at the OpenID provider, so that the next login by single
    #: sign-on makes another one. true is allowed only for a user who is linked.
    linked: NotRequired[bool]
    #: true also revokes the API keys that the user has made, which otherwise go on working when
    #: the user is disabled or gets another role.
    revoke_api_keys: NotRequired[bool]
    #: The new role. It takes effect with the user's next request.
    role: NotRequired[Literal["owner", "accountant", "developer", "viewer"]]
