// Package pdf typesets invoices and credit notes for people: A4 pages in PDF/A-3b (ISO 19005-3), with embedded fonts,
// the shapes and the order of Arabic text, and the XML document as an associated file.
//
// Invariants: the same document gives the same bytes, because no clock is read and nothing is random. Each value is
// laid out as a paragraph of its own, so that no text can reorder its neighbours. A character that the fonts do not
// have is shown as a replacement character and never fails. Pages are limited, and a panic of a library is an error.
// Every page says that it is a copy.
//
// go-text/typesetting shapes text, resolves its directions and breaks its lines; pdfcpu's object types write the syntax
// of PDF. No library that could be had writes shaped glyphs and PDF/A, so this package writes the file around these
// objects.
//
// Start reading at [Render]. [Invoice] and [CreditNote] make its content from a draft; a written or received XML
// document gives the same type when package ubl reads it.
package pdf
