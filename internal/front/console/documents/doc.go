// Package documents has the pages that show invoices, credit notes and received documents: lists, states, history and
// files, and what can be done with one as a whole, such as to submit or delete it.
//
// Its invariants: the four states of a document are shown beside each other, and none follows from another; a colour
// comes only from the meaning that the provider has published. Start reading at [Subject].
package documents
