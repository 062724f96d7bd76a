// Package provider defines the interface to the regulated e-invoicing provider, [Adapter], and its implementations:
// [HTTP], which speaks the provider protocol (docs/provider-protocol.md), [PhossAP], [EInvoiceBE] and [Storecove],
// which speak to Peppol access points (docs/providers), and [Simulator], the legacy transport simulator for local
// research.
//
// Invariant: an adapter transports bytes and reports only what the protocol itself says about a call. It never makes a
// state. The values of the four state dimensions are read from [Response].Body by invoice.ReadReport with the
// [Profile]'s vocabulary; the HTTP status is not an input. An adapter returns no Go error and no error text, because an
// error text can carry an address or a credential into a log. An [ErrorClass] says what went wrong.
//
// An adapter makes one claim about the network: [NotSent] means that certainly no byte of the request left this
// process. That claim lets an invoice become a draft again, so it is based on the connection itself (see
// writeTrackingConn), never on an error.
//
// Start reading at [Adapter] and [Response]. The code of one call is in call.go.
package provider
