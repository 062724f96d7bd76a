// Package provider defines the interface to the regulated e-invoicing provider, [Adapter], and what an adapter
// publishes about itself, [Description]. Each adapter is a package below this one: protocol speaks the provider
// protocol (docs/provider-protocol.md), phossap, einvoicebe and storecove speak to Peppol access points
// (docs/providers), and simulator is the transport simulator for local research. Package adapters lists them.
//
// Invariant: an adapter transports bytes and reports only what the protocol itself says about a call. It never makes a
// state. The values of the four state dimensions are read from [Response].Body by invoice.ReadReport with the
// [Profile]'s vocabulary; the HTTP status is not an input. An adapter returns no Go error and no error text, because an
// error text can carry an address or a credential into a log. An [ErrorClass] says what went wrong.
//
// An adapter makes one claim about the network: [NotSent] means that certainly no byte of the request left this
// process. That claim lets an invoice become a draft again, so it is based on the connection itself, never on an error:
// see package httpcall, which makes the calls of all adapters.
//
// Start reading at [Adapter] and [Response].
package provider
