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
func (v *visit) admitInvoice(id store.ID) error {
	extent, err := v.session.Tenant.InvoiceExtent(v.r.Context(), id)
	if err != nil {
		return err
	}
	return v.admitLarge(extent.Lines, extent.Bytes, documentFactor)
}

// admitLarge makes room for a page of so many lines, or made of so many bytes, when that makes it large: it waits for one of
// the company's places, which the page has until it is made, and reserves factor times the bytes. [fairlimit.ErrFull] says that
// there is none for the moment. What a request has admitted before counts.
func (v *visit) admitLarge(lines, bytes, factor int) error {
	if lines < largeLines && bytes < largeDocument {
		return nil
	}
	if !v.large {
		ctx, cancel := context.WithTimeout(v.r.Context(), largePageWait)
		defer cancel()
		if v.large = v.largePages.Acquire(ctx, v.session.Account.ID); !v.large {
			return fairlimit.ErrFull
		}
	}
	return v.reserve(max(v.reserved, factor*bytes))
}

// leaveLarge gives the place of a large page back.
func (v *visit) leaveLarge() {
	if v.large {
		v.largePages.Release(v.session.Account.ID, 1)
		v.large = false
	}
}

// leastReserved is the size in bytes below which an answer needs no room of its own.
const leastReserved = 64 << 10

// reserve makes the room that the request has beside its body so many bytes.
func (v *visit) reserve(bytes int) error {
	if bytes < leastReserved {
		bytes = 0
	}
	switch {
	case bytes > v.reserved:
		if err := v.admission.Reserve(bytes - v.reserved); err != nil {
			return err
		}
	case bytes < v.reserved:
		v.admission.Release(v.reserved - bytes)
	}
	v.reserved = bytes
	return nil
}
