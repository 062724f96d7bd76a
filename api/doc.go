// Package api is the wire contract of Quittance: the JSON bodies of the client API, its error codes, its event
// kinds and the headers of a webhook delivery.
//
// It imports nothing else of this module, so that the server, the Go client and the webhook receiver library all
// stand on the same few types. The struct tags are the contract's form rules (required, maxLength, minimum, format …):
// the server's JSON border enforces exactly these tags and the OpenAPI document is generated from them, so the two
// cannot disagree.
//
// Start reading at [Draft] (what a customer sends) and [Invoice] (what comes back).
package api
