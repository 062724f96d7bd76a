package server

// The bound of a list page in bytes (contract, section 1). A page that is asked for by number has rows of bounded length, a
// hundred of which stay below it, so that no row is ever left out of a page; the events feed, which goes on from a cursor, ends early.
const (
	maxPageBytes = 8 << 20
	// envelopeBytes is more than what an answer has around its rows.
	envelopeBytes = 64 << 10
)
