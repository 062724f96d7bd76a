// Package secret holds values that must never be shown: access tokens, passwords, provider credentials and signing
// secrets.
//
// Its types enforce three rules:
//
//  1. A secret has one exit. A [Text] prints as [redacted] and returns an error ([ErrSecret]) to every encoder and to a
//     SQL parameter; only [Text.Reveal] gives its content, so the callers of Reveal are the complete list of places
//     where a secret leaves.
//  2. A secret that only has to be checked is stored as a digest, and a secret that has to be used again is sealed. A token is
//     stored as a [Digest] only. A provider credential is sealed by a [Keyring] (AES-256-GCM).
//  3. A sealed value opens only under the binding it was sealed for. Tenant, table, column and row ([Binding]) are
//     authenticated with it, so a value that is moved to another row, column or tenant does not open. If other values of the
//     row decide how the secret is used, they are authenticated too ([Binding.Bound]).
//
// Start reading at [Text], then [Keyring.Seal].
package secret
