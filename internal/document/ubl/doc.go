// Package ubl reads received UBL 2.1 invoices and credit notes, self-billed ones included, from any profile of EN 16931
// or PINT.
//
// Its invariants:
//
//   - A document is hostile until it has been read. Document type declarations are refused, and with them all entities.
//     Nesting, numbers of elements, and the bytes of tags, texts and trees are bounded, so that reading needs little
//     memory beyond the document itself. Nothing outside the document is ever fetched.
//   - Values are the sender's. Amounts are kept digit by digit; nothing is computed, corrected or inferred. A value
//     without the form of its field is absent, with a warning.
//   - The reader is lenient where a receiver can be: it ignores elements that it does not know, the order of elements,
//     and missing attributes. It matches names by namespace and not by prefix.
//
// Start reading at [Read]. decode.go has the limits, and [Document.Check] compares the figures of a document with each
// other.
package ubl
