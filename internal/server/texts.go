package server

import "quittance/api"

// The paragraphs of the API document.
const (
	loginText = "Returns a bearer token. Unknown e-mail addresses and wrong passwords get the same answer. Logins are limited; " +
		"when a limit is exceeded the answer is 429 with `Retry-After`. There is no refresh: log in again when a call answers 401."
	createText = "Stores an invoice draft. Nothing is sent anywhere: `submitted` is false and the four states are null. A draft may be " +
		"incomplete; `missing` says what submission still needs and `warnings` what we advise. All faults of a payload are reported at once."
	listText = "Newest first. A page past the end is an empty list. Values of `page` and `per_page` below 1 are refused; a `per_page` above 100 is served as 100."
	readText = "Returns the invoice with its four states, each in the provider's own words or null when never reported. None is derived from another, " +
		"from `outcome`, or from an HTTP status."
	submitText = "Submits a complete draft to the provider, once. The intent is durable before a byte leaves. Repeating the call is safe: it returns what is " +
		"recorded without network traffic. 200 means that the provider answered about the document; what it said is in `submission.outcome` and the four states."
	submitUnknown = "It is not known whether the provider has the document. The service keeps asking; do not create a new invoice. Read the invoice, or wait for the webhook."
	subscribeText = "The signing `secret` is in this answer only. Deliveries go to the `https` destination as it is written; redirects are not followed."
)

// submitCodes are the refusals of a submission, in the order in which they are checked.
var submitCodes = []api.Code{api.CodeSubmissionInProgress, api.CodeInvoiceIncomplete, api.CodeProviderConnectionRequired,
	api.CodeProductionNotApproved, api.CodeDuplicateInvoiceNumber, api.CodeProviderError}
