package server

import "quittance/sdk/go/api"

// The paragraphs of the API document.
const (
	loginText = "Returns a bearer token. Unknown e-mail addresses and wrong passwords get the same response. Logins are limited; " +
		"a login beyond a limit gets 429 with `Retry-After`. Tokens cannot be refreshed: log in again when a call returns 401. " +
		"`password_change_required` is true while the user has a password from an administrator; the token is valid nevertheless."
	createText = "Stores an invoice draft. Nothing is sent anywhere: `submitted` is false and the four states are null. A draft may be " +
		"incomplete; `missing` lists the fields that submission still requires, and `warnings` has advice. All faults of a payload are reported at once."
	listText = "Newest first unless `sort` says otherwise. Entries have no `items` but `item_count`, and the first 20 paths of `missing` and `warnings` with their counts: read the invoice for the rest. " +
		"A page past the end is an empty list. Values of `page` and `per_page` below 1 are rejected; a `per_page` above 100 counts as 100.\n\n" +
		"The plain list in the order of creation costs the same for any page. A filtered or sorted list searches at most 20,000 invoices: those with the requested number, `external_id` or state, " +
		"those that changed last since `updated_since`, those of the issue dates or first in the order of the issue date, otherwise the newest ones. If there are more, `pagination.truncated` is true, " +
		"and `total` counts only invoices that were searched: narrow the filter. A company can read two lists at the same time; a third one waits for up to two seconds and then fails with `unavailable` and `Retry-After`. " +
		"So does a list that takes longer than five seconds."
	readText = "Returns the invoice with its four states, each in the provider's own words, or null if it was never reported. No state is derived from another one, " +
		"from `outcome`, or from an HTTP status."
	submitText = "Submits a complete draft to the provider, once. The intent is stored before anything is sent. Repeating the call is safe: it returns the " +
		"recorded result without network traffic. 200 means that the provider responded about the document; `submission.outcome` and the four states have its response."
	submitUnknown = "It is not known whether the provider has the document. The service polls the provider; do not create a new invoice. Read the invoice, or wait for the webhook."
	passwordText  = "Every other token of the user is revoked within a second. A wrong current password is a fault of `current_password` and counts as a failed login: " +
		"the limits of logins apply here, too. The status is 401 if the token was revoked meanwhile: an administrator's reset of the password always prevails."
	accountText   = "The company, its profile, its provider connection, whose credential is never shown, and its quotas. When a quota is used up, new drafts, credit notes and subscriptions fail with `limit_reached`; no stored data is lost."
	preflightText = "Checks the payload of a creation: the missing fields, the warnings, and the totals by the server's own rules. Nothing is stored." + profileText
	profileText   = " With `profile` it also checks what that document format needs: `missing` and `warnings` have the paths and rules of its findings, those of the company profile under `seller.`, " +
		"and `computed` has the figures that the document carries."
	invoiceDocumentText = "The invoice as a UBL 2.1 document in the format `profile`, which is required (422). If the invoice lacks something that the format needs, the response is 422 `invoice_incomplete` " +
		"with each finding by its path, and those of the company profile under `seller.`. A draft is written with the present company profile; a submitted invoice from the data that were submitted, " +
		"including the company profile of that moment. The document is written on request: it is not what the provider received, which is the JSON of the invoice."
	creditDocumentText = "The credit note as a UBL 2.1 document in the format `profile`, which is required (422), with the present company profile. If something is missing, the response is 422 `invoice_incomplete`: " +
		"paths of the credited invoice begin with `invoice.`, those of the company profile with `seller.`."
	patchText = "A JSON merge patch (RFC 7396): members that are null are removed, and `items` is replaced completely. Only a draft can be changed, or an invoice that the provider has rejected, " +
		"which is then a draft again: its submission stays in the history, the next one has a new id. With `If-Match`, only the version with that ETag is changed."
	deleteText = "Deletes a draft permanently. An invoice that was ever submitted cannot be deleted, even if the provider did not accept it, and neither can one that has credit notes, " +
		"including void ones: 409 `invoice_not_editable`. With `If-Match`, only the version with that ETag is deleted. The operation takes no `Idempotency-Key`: a repetition returns 404."
	patchCreditText = "A JSON merge patch (RFC 7396) of `issue_date`, `reason` and `reason_code`; the credited amounts cannot be changed. " +
		"With `If-Match`, only the version with that ETag is changed."
	submissionsText = "Every submission of the invoice, newest first, each with its own four states. The default of `per_page` is 100."
	evidenceText    = "The responses of the provider about the invoice, oldest first: an append-only chain of digests for each submission. A response with the same bytes as the one before is not retained again. " +
		"The default of `per_page` is 100."
	evidenceBodyText = "The retained bytes of one response."
	deactivateText   = "A deactivation is permanent. The subscription and its history are kept; pending deliveries end as failed with the reason `subscription_inactive`, those in flight finish."
	deliveriesText   = "Newest first. The list searches the newest 20,000 deliveries: of the event, of the subscription, of the undelivered ones, or of all. " +
		"If there are more, `pagination.truncated` is true and `total` counts only deliveries that were searched."
	deliveryText  = "A delivery with all its attempts. A 2xx response of a destination proves nothing about network exchange, authority reporting or receiver acceptance."
	redeliverText = "Continues the same delivery: the same event UUID, the same bytes, the same signature, and a new round of attempts."
	eventsText    = "All events of the company, oldest first. Send `next_cursor` as `after` to continue: no event is ever inserted before a cursor that was returned, so a client that continues misses none. " +
		"The default of `limit` is 25; a value above 100 counts as 100."
	creditText = "Stores a credit note of an invoice: an internal draft, which is not sent anywhere. `full` credits every line and the invoice's `total_amount`; " +
		"`partial` credits the given items, each by `quantity` or by `net_amount`, and their tax, rounded per category and rate. The live credit notes of an invoice together never exceed " +
		"a line's net amount or quantity, nor the invoice's `total_amount`, and each has their sign: faults `exceeds_line`, `exceeds_invoice`, `sign`. An invoice with live credit notes cannot be changed."
	voidText         = "Voids the credit note permanently, so that its amounts can be credited again. Repeating the call changes nothing."
	submitCreditText = "Always fails: regulated submission of credit notes is disabled."
	incomingText     = "Purchase documents retained from the provider, newest first, each in its latest revision. The values of the provider's metadata are shown in its own " +
		"words; a value that does not have the form of its field is null. A document that could not be read or fetched has the `document_type` `unreadable`."
	documentText = "Returns the bytes as the provider sent them. `body_base64` is null if they were not retained (more than 10 MiB, or never received), " +
		"or are withheld because they echo a credential."
	readIncomingText = "Returns the latest revision, and in `parsed` what its document says, if that is a UBL invoice or credit note. The document is read anew for each request. " +
		"Its bytes, which `readDocument` returns, prevail; values that disagree or cannot be used have an entry in `parsed.warnings`."
	attachmentText = "Returns the bytes of a file that the document embeds; `attachment` is its `id` in `parsed.attachments`. The content comes from the sender and is not checked. " +
		"The `Content-Type` is that of a PDF, PNG, JPEG, CSV, XLSX or ODS file, or `application/octet-stream`; `Content-Disposition` has a safe file name."
	subscribeText = "Only this response has the signing `secret`. Deliveries go to the `https` destination exactly as given; redirects are not followed."
)

// xmlType is the media type of UBL documents.
const xmlType = "application/xml"

// documentCodes are the errors of a document.
var documentCodes = []api.Code{api.CodeValidationFailed, api.CodeInvoiceIncomplete} //nolint:gochecknoglobals // a constant table

// submitCodes are the errors of a submission, in the order in which they are checked.
var submitCodes = []api.Code{ //nolint:gochecknoglobals // a constant table
	api.CodeSubmissionInProgress, api.CodeInvoiceIncomplete, api.CodeProviderConnectionRequired,
	api.CodeProductionNotApproved, api.CodeDuplicateInvoiceNumber, api.CodeProviderError}
