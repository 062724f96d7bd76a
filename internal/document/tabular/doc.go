// Package tabular is the tabular form of drafts: rows of cells, as spreadsheets have them, in CSV and XLSX.
//
// The columns are the fields of the API's creation payload, under the names that they have there ([Columns]). Each row
// is one item, with the fields of its invoice repeated; all rows with the same invoice number are one draft. An empty
// cell is an absent field, and in the second and later rows of a draft an empty field of the invoice is the same as in
// the first. A row also has an entry of each list of allowances or charges, and a row without an item has further ones:
// of the invoice, and of the item above it. So the rows of a draft, read again, are the same draft, except that line
// breaks within a cell become LF, and that an entry which says nothing is absent.
//
// Files come from strangers. [Read] takes a file of at most [MaxBytes], and refuses one that holds, or unpacks to, more
// than the limits of the package, with an [Error] that names the limit. A few kilobytes of XLSX can stand for billions
// of cells, so our own reader checks every limit before it makes anything of what it reads; the library for XLSX only
// writes. Reading ends with its context. Nothing in a file is executed: a formula counts as the value that the
// spreadsheet program has stored with it. [Import.Faults] lists what is wrong with the cells, all of it at once, by row
// and column, so that people can correct it in the spreadsheet.
//
// Files of every list are written here too ([WriteCSV] and [NewWorkbook]). No spreadsheet takes a text in them for a
// formula: in XLSX a text has its type, and in CSV an apostrophe precedes what could be one, which reading a file
// removes again.
//
// Start reading at [Columns], then [Read] and [Drafts]; [Rows] is the way back.
package tabular
