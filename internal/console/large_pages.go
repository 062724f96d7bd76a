package console

import (
	"context"
	"time"

	"quittance/internal/fairlimit"
	"quittance/internal/store"
)

// Large pages. The form of a thousand lines is several megabytes of HTML, and making it takes several times as much, however
// short the document is. So a company makes few of them at a time, and has room for the document before it is read.
const (
	// largeDocument and largeLines are the size in bytes and the number of lines from which an invoice or a form makes a page
	// large.
	largeDocument = 16 << 10
	largeLines    = 25
	// largePages is how many large pages are made at a time in all, and largePagesPerCompany by one company.
	largePages           = 6
	largePagesPerCompany = 2
	// largePageWait is how long a page waits for others of its company. It is short beside what a person waits.
	largePageWait = 2 * time.Second
	// documentFactor is how many bytes a page needs for each byte of its document, and formFactor for each byte of a form that
	// was sent, beside the form itself.
	documentFactor = 4
	formFactor     = 2
)

// newLargePages returns the places of pages that are being made. A company gets no more than half of those that are free.
func newLargePages() *fairlimit.Limiter[store.ID] {
	return fairlimit.New[store.ID](largePages, fairlimit.Policy{Divisor: 2, Max: largePagesPerCompany})
}

// admitInvoice makes room for a page of an invoice before its document is read.
func (req *request) acquireForInvoice(id store.ID) error {
	extent, err := req.session.Tenant.InvoiceExtent(req.r.Context(), id)
	if err != nil {
		return err
	}
	return req.acquireLargePage(extent.Lines, extent.Bytes, documentFactor)
}

// admitLarge makes room for a page of so many lines, or made of so many bytes, when that makes it large: it waits for one of
// the company's places, which the page has until it is made, and reserves factor times the bytes. [fairlimit.ErrFull] says that
// there is none for the moment. What a request has admitted before counts.
func (req *request) acquireLargePage(lines, bytes, factor int) error {
	if lines < largeLines && bytes < largeDocument {
		return nil
	}
	if !req.holdsLargePage {
		ctx, cancel := context.WithTimeout(req.r.Context(), largePageWait)
		defer cancel()
		if req.holdsLargePage = req.largePages.Acquire(ctx, req.session.Account.ID); !req.holdsLargePage {
			return fairlimit.ErrFull
		}
	}
	return req.reserve(max(req.reserved, factor*bytes))
}

// leaveLarge gives the place of a large page back.
func (req *request) releaseLargePage() {
	if req.holdsLargePage {
		req.largePages.Release(req.session.Account.ID, 1)
		req.holdsLargePage = false
	}
}

// leastReserved is the size in bytes below which an answer needs no room of its own.
const minReserved = 64 << 10

// reserve makes the room that the request has beside its body so many bytes.
func (req *request) reserve(bytes int) error {
	if bytes < minReserved {
		bytes = 0
	}
	switch {
	case bytes > req.reserved:
		if err := req.admission.Reserve(bytes - req.reserved); err != nil {
			return err
		}
	case bytes < req.reserved:
		req.admission.Release(req.reserved - bytes)
	}
	req.reserved = bytes
	return nil
}
