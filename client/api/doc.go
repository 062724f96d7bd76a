// Package api is the wire contract of Quittance: the JSON bodies of the client API, its error codes, its event
// kinds and the headers of a webhook delivery.
//
// It imports no other package of this module, so that the server, the Go client and the webhook receiver library share
// the same types. The struct tags are the validation rules of the contract (required, maxLength, minimum, format …).
// The server enforces exactly these tags and the OpenAPI document is generated from them, so the two cannot differ.
//
// Start reading at [Draft], which a customer sends, and [Invoice], which the API returns.
package api
