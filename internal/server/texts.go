package server

import "quittance/sdk/go/api"

// The paragraphs of the API document.
const (
	loginText = "Returns a bearer token. Unknown e-mail addresses and wrong passwords get the same answer. Logins are limited; " +
		"when a limit is exceeded the answer is 429 with `Retry-After`. There is no refresh: log in again when a call answers 401. " +
		"`password_change_required` is true while the password is one that an administrator gave; the token works all the same."
	createText = "Stores an invoice draft. Nothing is sent anywhere: `submitted` is false and the four states are null. A draft may be " +
		"incomplete; `missing` says what submission still needs and `warnings` what we advise. All faults of a payload are reported at once."
	listText = "Newest first unless `sort` says otherwise. Entries have no `items` but `item_count`, and the first 20 paths of `missing` and `warnings` with their counts: read the invoice for the rest. " +
		"A page past the end is an empty list. Values of `page` and `per_page` below 1 are refused; a `per_page` above 100 is served as 100.\n\n" +
		"The plain list in the order of creation costs the same at any page. A filtered or sorted list looks through at most 20,000 invoices: those with the number, `external_id` or state that is asked for, " +
		"those that changed last since `updated_since`, those of the issue dates or first in the order of the issue date, otherwise the newest ones. Where there are more, `pagination.truncated` is true, " +
		"and `total` counts among those that were looked through: narrow the filter. A company reads two lists at a time; a third waits for two seconds, and is refused with `unavailable` and `Retry-After` after that. " +
		"So is a list that takes longer than five seconds."
	readText = "Returns the invoice with its four states, each in the provider's own words or null when never reported. None is derived from another, " +
		"from `outcome`, or from an HTTP status."
	submitText = "Submits a complete draft to the provider, once. The intent is durable before a byte leaves. Repeating the call is safe: it returns what is " +
		"recorded without network traffic. 200 means that the provider answered about the document; what it said is in `submission.outcome` and the four states."
	submitUnknown = "It is not known whether the provider has the document. The service keeps asking; do not create a new invoice. Read the invoice, or wait for the webhook."
	passwordText  = "Every other token of the user is revoked within a second. A wrong current password is a fault of `current_password` and counts as a failed login: " +
		"the limits of logins hold here too. 401 when the token was revoked meanwhile: an administrator's reset of the password always stands."
	accountText   = "The company, its profile, its provider connection, whose credential is never shown, and its quotas. A quota that is used up refuses new drafts, credit notes and subscriptions with `limit_reached`; nothing that is stored is lost."
	preflightText = "Takes the payload of a creation and says what would be said of it: what is missing, what we advise, and the totals by the server's own rules. Nothing is stored."
	patchText     = "A JSON merge patch (RFC 7396): members that are null are removed, `items` is replaced whole. Only a draft can be changed, or an invoice that the provider has rejected, " +
		"which is then a draft again: its submission stays in the history, the next one has a new id. With `If-Match`, only the version with that ETag is changed."
	deleteText = "Deletes a draft for good. An invoice that was ever submitted stays, if only in an attempt of which the provider took nothing, and so does one that has credit notes, " +
		"void ones included: 409 `invoice_not_editable`. With `If-Match`, only the version with that ETag is deleted. The operation takes no `Idempotency-Key`: a repeat answers 404."
	patchCreditText = "A JSON merge patch (RFC 7396) of `issue_date`, `reason` and `reason_code`; what a credit note takes of its invoice cannot be changed. " +
		"With `If-Match`, only the version with that ETag is changed."
	submissionsText = "Every submission of the invoice, newest first, each with its own four states. `per_page` is 100 when absent."
	evidenceText    = "What the provider returned about the invoice, oldest first: an append-only chain of digests per submission. An answer to the byte like the one before is not kept twice. " +
		"`per_page` is 100 when absent."
	evidenceBodyText = "The retained bytes of one answer."
	deactivateText   = "There is no way back. The subscription and its history stay; pending deliveries end as failed with the reason `subscription_inactive`, those in flight finish."
	deliveriesText   = "Newest first. The list looks through the newest 20,000 deliveries: of the event, of the subscription, of those that did not arrive, or of all. " +
		"Where there are more, `pagination.truncated` is true and `total` counts among those that were looked through."
	deliveryText  = "With every attempt. A 2xx of a destination proves nothing about network exchange, authority reporting or receiver acceptance."
	redeliverText = "Continues the same delivery: the same event UUID, the same bytes, the same signature, and a new round of attempts."
	eventsText    = "All events of the company, oldest first. Send `next_cursor` as `after` to go on: no event ever appears behind a cursor that was given out, so nobody who goes on misses one. " +
		"`limit` is 25 when absent; more than 100 is served as 100."
	creditText = "Stores a credit note of an invoice: an internal draft, of which nothing is sent anywhere. `full` takes every line and the invoice's `total_amount`; " +
		"`partial` takes the given items, each by `quantity` or by `net_amount`, and their tax, rounded per category and rate. What the live credit notes of an invoice take together never exceeds " +
		"a line's net amount or quantity, nor the invoice's `total_amount`, and each has their sign: faults `exceeds_line`, `exceeds_invoice`, `sign`. An invoice with live credit notes cannot be changed."
	voidText         = "Ends the credit note for good and frees what it takes of its invoice. Repeating the call changes nothing."
	submitCreditText = "Always refused: regulated submission of credit notes is disabled."
	incomingText     = "Purchase documents retained from the provider, newest first, each in its latest revision. What the provider's metadata says is shown in its own " +
		"words; a value without the form of its field is null. What could not be read or fetched has the `document_type` `unreadable`."
	documentText = "Returns the bytes as the provider sent them. `body_base64` is null when they were not retained (more than 10 MiB, or never had), " +
		"or are withheld because they echo a credential."
	subscribeText = "The signing `secret` is in this answer only. Deliveries go to the `https` destination as it is written; redirects are not followed."
)

// submitCodes are the errors of a submission, in the order in which they are checked.
var submitCodes = []api.Code{ //nolint:gochecknoglobals // a constant table
	api.CodeSubmissionInProgress, api.CodeInvoiceIncomplete, api.CodeProviderConnectionRequired,
	api.CodeProductionNotApproved, api.CodeDuplicateInvoiceNumber, api.CodeProviderError}
