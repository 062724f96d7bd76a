// Package drafts has the forms of drafts and credit notes, and the import of drafts from a file.
//
// Its invariants: a form is checked by the decoder of the API, so that each rule exists once; what somebody typed is
// never lost, whether it is wrong, outdated by another person's change, or sent after the session ended. Start reading
// at [Subject] and at [CheckedForm].
package drafts
