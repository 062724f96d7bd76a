// Package provider is the seam to the regulated e-invoicing provider: the interface [Adapter] and its two
// implementations, [HTTP], which speaks the provider protocol (contract, section 6), and [Simulator], the legacy
// transport simulator for local research.
//
// Invariant: an adapter transports bytes and says only what the protocol itself says about a call. It never makes a
// state: the words of the four dimensions are read from [Response].Body by invoice.ReadReport through the [Profile]'s
// vocabulary, and the HTTP status is no input of that. An adapter returns no error and no text of one, because an
// error text can carry an address or a credential into a log: what went wrong is an [ErrorClass].
//
// The one claim an adapter makes about the network is [NotSent]: certainly no byte of the request left. It is what lets
// a draft be a draft again, so it is decided by the connection itself (see gate), never by reading an error.
//
// Start reading at [Adapter] and [Response]; the exchange of one request is in exchange.go.
package provider
