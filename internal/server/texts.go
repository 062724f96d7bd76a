package server

import "quittance/client/api"

// The paragraphs of the API document.
const (
	loginText = "Returns a bearer token. Unknown e-mail addresses and wrong passwords get the same response. If users of several companies have the address, the password tells which one logs in; `account_id` chooses if they have the same. Logins are limited; " +
		"a login beyond a limit gets 429 with `Retry-After`. Tokens cannot be refreshed: log in again when a call returns 401. " +
		"If the company requires a second factor, a user without one gets 403 `second_factor_required` with the right password: set it up in the console, or use an API key. " +
		"A user with a second factor also sends `otp`: with the right password and without an unused code the response is 401 `otp_required`. Ten wrong codes in an hour block further ones. Passkeys are for the console: a user who has no authenticator app sends a recovery code. " +
		"`password_change_required` is true while the user has a password from an administrator; the token is valid nevertheless."
	secondFactorText = "Whether a login of the user needs a second factor, and how many recovery codes are left."
	beginTOTPText    = "Makes the secret of an authenticator app (TOTP, RFC 6238). It replaces nothing until it is confirmed, within an hour. A repeated call makes another secret, and the earlier one can no longer be confirmed."
	confirmTOTPText  = "Makes the authenticator app the second factor of the user with a code that it shows. From now on each login needs `otp`. Only this response has the recovery codes. " +
		"If the user had a second factor, `otp` must be a code of it, and the user's other sessions end; otherwise no session ends, unless the company requires a second factor. A wrong code is a fault of `code` or `otp`."
	disableTOTPText       = "Removes the authenticator app, all passkeys and the recovery codes, and ends the user's other sessions. 403 `second_factor_required` if the company requires one. Password and code count towards the limits of logins."
	recoveryCodesText     = "Makes ten new recovery codes, which replace the old ones. Only this response has them. Password and code count towards the limits of logins."
	resetSecondFactorText = "Removes the second factor of a colleague who cannot use it any more, and ends all sessions of the colleague. Nothing happens if there is none. " +
		"Owners cannot reset their own: 403. An administrator of the service can."
	sessionsText = "The caller's sessions that have not ended, the last begun first: one for each login, to the API or the console. " +
		"An owner reads those of a colleague with `user_id`; other users get 403 for it."
	endSessionText = "Ends a session at once, on every replica: its token is revoked. Users end their own sessions, and owners those of the company; any other session is unknown (404). " +
		"Repeating the call changes nothing."
	endOtherSessionsText = "Ends all sessions of the caller, tokens included, except that of this call."
	createAPIKeyText     = "Creates the credential of a machine. Only this response has the `key`; the service stores its digest. Send it as `Authorization: Bearer <key>`, like a token. " +
		"A key belongs to the company: it goes on working when the user who created it is disabled, and when a sandbox is reset. It does not work while the account is suspended. " +
		"Owners and developers manage keys; no key can. A company has at most 100 keys that are neither revoked nor expired."
	listAPIKeysText  = "Newest first, the revoked and expired ones included. The last 1000 keys are kept. The default of `per_page` is 100."
	revokeAPIKeyText = "Revokes a key at once, on every replica, and for good. Repeating the call changes nothing."
	usersText        = "Oldest first, the disabled ones included. The people who were invited and have not joined yet are in the list of invitations."
	changeUserText   = "A JSON merge patch (RFC 7396) of `role`, `active`, `linked` and `email`. A new address is unproved until the user has used the link that is mailed to it, and an old one that was proved is told. A new role takes effect with the user's next request. Disabling a user revokes the user's tokens, and the " +
		"invitations that the user has made. At least one active owner stays: a change of the last one is refused with the rule `last_owner`."
	removeUserText = "Removes a user: sessions, tokens, second factor and open invitations end, and the address is free. API keys that the user has made go on working. " +
		"Owners remove colleagues, and everybody can leave; other callers get 403. At least one active owner stays: removing the last one is refused with the rule `last_owner`. The audit log keeps the user's acts."
	changeAddressText = "Changes the address with which the caller logs in. Password and, if the user has one, second factor are needed. The new address is unproved until the user has used the link that is mailed to it. " +
		"The old address is told, if it was proved. The link to a person at the OpenID provider ends. An address may be changed five times in 24 hours."
	requestProofText = "Mails the caller a link that proves the address, which replaces an earlier one and works for 24 hours. Nothing happens if the address is proved. " +
		"At most five such e-mails go to an address in 24 hours: further calls get 429. `requested` is false if the installation sends no e-mails."
	proveAddressText = "Proves the address with the code of the link that was mailed to the caller; only the user who has asked for it can use it. Whoever has joined with the address in another company cannot log in any more."
	inviteText       = "Makes a link that works once and for 72 hours. The person who opens it chooses a password and becomes a user of the company with the given address and role. " +
		"Only this response has the link: send it to the person yourself, and to nobody else. Another invitation for the same address replaces the earlier one. " +
		"An invitation ends when the user who made it is disabled or is no longer an owner, and does not work while the account is suspended. If the installation sends e-mails, " +
		"the person gets another link by e-mail, which proves the address and does not work for an address that another company's user has proved; whoever joins with the link of this response has an unproved address. A company has at most 500 users and invitations."
	invitationsText      = "Newest first, without the links. An invitation that was used, revoked or replaced is not in the list. One that has expired stays in it for a week at least."
	revokeInvitationText = "The link stops working at once. Returns the invitation."
	createText           = "Stores an invoice draft. Nothing is sent anywhere: `submitted` is false and the four states are null. A draft may be " +
		"incomplete; `missing` lists the fields that submission still requires, and `warnings` has advice. All faults of a payload are reported at once."
	importText = "Creates all drafts of a file in one transaction, or none. The body is the file: CSV in UTF-8 (`text/csv`; comma, semicolon or tab between the cells) or XLSX, of at most 8 MiB, 10,000 rows " +
		"below the header and 100 columns. The columns have the names of the fields of a draft and of its items; each row is one item, with the fields of the invoice repeated, and all rows with one `invoice_number` are one draft. " +
		"In the second and later rows of a draft, an empty field of the invoice is the same as in the first. Dates and numbers may be those of the spreadsheet; otherwise values are written as in the JSON of a draft. " +
		"With `dry_run=true` nothing is stored, and the response is 200 with everything that is wrong with the file in `faults`. Without it, a file with faults gets 422: the keys of `details` name row and column, such as " +
		"`rows[17].issue_date`, and `body` is the file as a whole. The [guide to imports](/docs/import) has the details."
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
	submitUnknown = "It is not known whether the provider has the document. The service polls the provider; do not create a new one. Read the document, or wait for the webhook."
	passwordText  = "Every other token of the user is revoked within a second. A wrong current password is a fault of `current_password` and counts as a failed login: " +
		"the limits of logins apply here, too. The status is 401 if the token was revoked meanwhile: an administrator's reset of the password always prevails."
	auditText = "Everything that a user, an API key, an administrator of the service or the service itself changed for the company: who, by what means, from where, when and what, newest first. " +
		"An entry is written in the transaction of its act; entries are never changed or removed. Calls that fail, change nothing or are replayed leave no entry. Only owners read it. " +
		"Of an administrator's acts it shows what was done and when; who it was, from where and why is known to the operator of the service."
	accountText   = "The company, its profile, its provider connection, whose credential is never shown, and its quotas. When a quota is used up, new drafts, credit notes and subscriptions fail with `limit_reached`; no stored data is lost."
	preflightText = "Checks the payload of a creation: the missing fields, the warnings, and the totals by the server's own rules. Nothing is stored." + profileText
	profileText   = " With `profile`, or if the company's connection has a document format, it also checks what that format needs: `missing` and `warnings` have the paths and rules of its findings, those of the company profile under `seller.`, " +
		"and `computed` has the figures that the document carries."
	invoiceDocumentText = "The invoice as a UBL 2.1 document in the format `profile`; without it in that of the company's connection, and 422 if that has none. If the invoice lacks something that the format needs, the response is 422 `invoice_incomplete` " +
		"with each finding by its path, and those of the company profile under `seller.`. A draft is written with the present company profile; a submitted invoice from the data that were submitted, " +
		"including the company profile of that moment. After a submission over a connection with a format, it is in that format, byte for byte, what was sent."
	creditDocumentText = "The credit note as a UBL 2.1 document in the format `profile`, or in that of the company's connection; 422 if there is neither. A draft is written with the present company profile; " +
		"a submitted credit note like a submitted invoice. If something is missing, the response is 422 `invoice_incomplete`: paths of the credited invoice begin with `invoice.`, those of the company profile with `seller.`."
	recipientText = "Asks the provider of the company's active connection whether the buyer with this electronic address can receive documents, and in which formats. The answer is advice: nothing is stored, " +
		"and an invoice can be submitted whatever it says. `found` is null if the provider has no look-up, cannot say, or does not respond in time. Each call waits for the provider, up to 20 seconds."
	pdfText        = "The pages are A4 and have embedded fonts, right-to-left text and the company's logo; each says that it is a copy and not the legal document. The file is PDF/A-3, and the same data give the same bytes. "
	invoicePDFText = "The invoice as pages for people. " + pdfText + "If `profile` is given, or the company's connection has a document format, the pages show what the XML document says, which is attached; " +
		"an invoice that lacks something that the format needs fails with 422 `invoice_incomplete`. Otherwise the pages show the draft, what is unknown as a dash, and nothing is attached. " +
		"A submitted invoice shows the data that were submitted, and the document that was sent is attached."
	creditPDFText = "The credit note as pages for people. " + pdfText + "If `profile` is given, or the company's connection has a document format, the pages show what the XML document says, which is attached, " +
		"and 422 `invoice_incomplete` says what is missing. Otherwise the pages show the credit note, and nothing is attached."
	incomingPDFText = "A received document as pages for people, made from what the service reads in it, with the received document attached. " + pdfText +
		"404 if the document is not retained or is withheld; 422 `document_unreadable`, whose `details.document` says why, if it cannot be read."
	patchText = "A JSON merge patch (RFC 7396): members that are null are removed, and `items` is replaced completely. Only a draft can be changed, or an invoice that the provider has rejected, " +
		"which is then a draft again: its submission stays in the history, the next one has a new id. With `If-Match`, only the version with that ETag is changed."
	deleteText = "Deletes a draft permanently. An invoice that was ever submitted cannot be deleted, even if the provider did not accept it, and neither can one that has credit notes, " +
		"including void ones: 409 `invoice_not_editable`. With `If-Match`, only the version with that ETag is deleted. The operation takes no `Idempotency-Key`: a repetition returns 404."
	patchCreditText = "A JSON merge patch (RFC 7396) of `issue_date`, `reason` and `reason_code`; the credited amounts cannot be changed. Only a draft can be changed, or a credit note that the " +
		"provider has rejected, which is then a draft again: its submission stays in the history, the next one has a new id. " +
		"With `If-Match`, only the version with that ETag is changed."
	listCustomersText  = "In the order of the names (`display_name`, or without it `recipient_name`), which ignores case, with all fields."
	listItemsText      = "In the order of the names, which ignores case, with all fields."
	createCustomerText = "Adds a customer to the customer book. Its fields of the recipient have the names and the rules of those of an invoice: copy them into a draft. " +
		"Nothing refers to a customer: an invoice stays as it is when the customer changes or is deleted. Names need not be unique. A company has at most 20,000 customers."
	createItemText = "Adds an item to the item catalogue. Its fields have the names and the rules of those of an invoice line: copy them into `items` of a draft, all but `currency`. " +
		"Nothing refers to an item: an invoice stays as it is when the item changes or is deleted. Names and codes need not be unique. A company has at most 20,000 items."
	patchEntryText  = "A JSON merge patch (RFC 7396): members that are null are removed. With `If-Match`, only the version with that ETag is changed. Invoices do not change."
	deleteEntryText = "Deletes it permanently. Invoices do not change. With `If-Match`, only the version with that ETag is deleted. The operation takes no `Idempotency-Key`: a repetition returns 404."
	submissionsText = "Every submission of the document, newest first, each with its own four states. The default of `per_page` is 100."
	evidenceText    = "The responses of the provider about the document, oldest first: an append-only chain of digests for each submission. A response with the same bytes as the one before is not retained again. " +
		"The default of `per_page` is 100."
	evidenceBodyText = "The retained bytes of one response."
	deactivateText   = "A deactivation is permanent. The subscription and its history are kept; pending deliveries end as failed with the reason `subscription_inactive`, those in flight finish."
	deliveriesText   = "Newest first. The list searches the newest 20,000 deliveries: of the event, of the subscription, of the undelivered ones, or of all. " +
		"If there are more, `pagination.truncated` is true and `total` counts only deliveries that were searched."
	deliveryText  = "A delivery with all its attempts. A 2xx response of a destination proves nothing about network exchange, authority reporting or receiver acceptance."
	redeliverText = "Continues the same delivery: the same event UUID, the same bytes, the same signature, and a new round of attempts."
	eventsText    = "All events of the company, oldest first. Send `next_cursor` as `after` to continue: no event is ever inserted before a cursor that was returned, so a client that continues misses none. " +
		"With `latest` as `after` the page is empty and its `next_cursor` is the end of the feed, for a client that needs only what happens from now on. " +
		"The default of `limit` is 25; a value above 100 counts as 100."
	creditText = "Stores a credit note of an invoice as a draft. `full` credits every line and the invoice's `total_amount`; " +
		"`partial` credits the given items, each by `quantity` or by `net_amount`, and their tax, rounded per category and rate. The live credit notes of an invoice together never exceed " +
		"a line's net amount or quantity, nor the invoice's `total_amount`, and each has their sign: faults `exceeds_line`, `exceeds_invoice`, `sign`. An invoice with live credit notes cannot be changed."
	voidText = "Voids the credit note permanently, so that its amounts can be credited again. A submitted one can be voided only after the provider has rejected it; until then a rejected " +
		"credit note counts against its invoice. Repeating the call changes nothing."
	submitCreditText = "Submits a credit note to the provider, once, like an invoice. It fails with `credit_note_submission_disabled` until an administrator has recorded for the active provider " +
		"connection that the contract and the mapping of credit notes are confirmed. The provider must have acknowledged the credited invoice. Repeating the call is safe. " +
		"200 means that the provider responded about the document; `submission.outcome` and the four states have its response."
	incomingText = "Purchase documents retained from the provider, newest first, each in its latest revision. The values of the provider's metadata are shown in its own " +
		"words; a value that does not have the form of its field is null. A document that could not be read or fetched has the `document_type` `unreadable`."
	documentText = "Returns the bytes as the provider sent them. `body_base64` is null if they were not retained (more than 10 MiB, or never received), " +
		"or are withheld because they echo a credential."
	readIncomingText = "Returns the latest revision, and in `parsed` what its document says, if that is a UBL invoice or credit note. The document is read anew for each request. " +
		"Its bytes, which `readDocument` returns, prevail; values that disagree or cannot be used have an entry in `parsed.warnings`."
	attachmentText = "Returns the bytes of a file that the document embeds; `attachment` is its `id` in `parsed.attachments`. The content comes from the sender and is not checked. " +
		"The `Content-Type` is that of a PDF, PNG, JPEG, CSV, XLSX or ODS file, or `application/octet-stream`; `Content-Disposition` has a safe file name."
	subscribeText = "Only this response has the signing `secret`. Deliveries go to the `https` destination exactly as given; redirects are not followed."
)

// The media types of files: UBL documents and pages.
const (
	xmlType = "application/xml"
	pdfType = "application/pdf"
)

// documentCodes are the errors of a document.
var documentCodes = []api.Code{api.CodeValidationFailed, api.CodeInvoiceIncomplete} //nolint:gochecknoglobals // a constant table

// submitCodes are the errors of a submission, in the order in which they are checked.
var submitCodes = []api.Code{ //nolint:gochecknoglobals // a constant table
	api.CodeSubmissionInProgress, api.CodeInvoiceIncomplete, api.CodeProviderConnectionRequired,
	api.CodeProductionNotApproved, api.CodeDuplicateInvoiceNumber, api.CodeProviderError}

// submitCreditCodes are the same for a credit note.
var submitCreditCodes = []api.Code{ //nolint:gochecknoglobals // a constant table
	api.CodeSubmissionInProgress, api.CodeCreditNoteSubmissionDisabled, api.CodeCreditNoteNotEditable, api.CodeInvoiceNotAcknowledged, api.CodeInvoiceIncomplete,
	api.CodeProductionNotApproved, api.CodeDuplicateCreditNoteNumber, api.CodeProviderError}
