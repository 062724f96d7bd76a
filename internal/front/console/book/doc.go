// Package book has the pages of the customers and items that the forms of drafts know.
//
// Its invariant: an entry is what the user saved, and a draft that used it keeps its own copy. Start reading at
// [Subject].
package book
