// Package ubl writes invoices and credit notes in UBL 2.1 and reads received ones, self-billed ones included, from any
// profile of EN 16931 or PINT. Both directions share one description of the elements: document.go, party.go and line.go
// say which element holds which term, and a [node] writes it or reads it.
//
// Its invariants:
//
//   - A document is hostile until it has been read. Document type declarations are refused, and with them all entities.
//     Nesting, numbers of elements, and the bytes of tags, texts and trees are bounded, so that reading needs little
//     memory beyond the document itself. Nothing outside the document is ever fetched.
//   - Values are the sender's. Amounts are kept digit by digit; nothing is computed, corrected or inferred. A value
//     without the form of its field is absent, with a warning.
//   - Nothing is lost without a word. What has no field in [api.ParsedDocument] is listed in its Other.
//   - The reader is lenient where a receiver can be: it tolerates elements that it does not know, any order of elements,
//     and missing attributes. It matches names by namespace and not by prefix.
//   - What [Write] writes, [Read] reads: the same statement, and nothing beside it.
//
// Start reading at [Write] and [Read]. decode.go has the limits, and [Document.Check] compares the figures of a
// document with each other.
package ubl
