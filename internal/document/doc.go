// Package document writes invoices and credit notes as UBL 2.1 documents, in the document formats that a provider or a
// network asks for: a [Profile] is Peppol PINT for the United Arab Emirates or Peppol BIS Billing 3.0.
//
// Invariants: whatever [Check] accepts, [Write] renders without a fatal finding of the official rules of that profile
// (make official-rules runs them). The same document gives the same bytes, because nothing is random and no clock is
// read. Every amount is exact decimal arithmetic and is rounded once; only the check of a line against PINT-AE's rule
// ibr-147-ae, which computes in binary floating point, does the same as that rule. Amounts are computed from the lines;
// the customer's own total is compared with them and never printed. Nothing is invented: what a document needs and
// neither the draft nor the company profile has is a finding.
//
// Start reading at [Check] and [Write]. [Statement] is what a document says, which package ubl writes.
// docs/documents.md lists every field with its element and business term.
package document
