// Package secret holds what must never be shown: access tokens, passwords, provider credentials and signing secrets.
//
// Three rules are kept here, by types rather than by care:
//
//  1. A secret has one exit. A [Text] prints as [redacted] and returns an error ([ErrSecret]) to every encoder and to a
//     SQL parameter; only [Text.Reveal] gives its content, so the callers of Reveal are the complete list of places
//     where a secret leaves.
//  2. What has to be checked is kept as a digest, what has to be used again is kept sealed. A token is stored as
//     [Digest] only. A provider credential is sealed by a [Keyring] (AES-256-GCM).
//  3. A sealed value opens in its own place only. Tenant, table, column and row ([Place]) are authenticated with it, so
//     a value that is moved to another row, column or tenant does not open. Where other values of the row say what the
//     secret is for, they are authenticated too ([Place.Bound]).
//
// Start reading at [Text], then [Keyring.Seal].
package secret
