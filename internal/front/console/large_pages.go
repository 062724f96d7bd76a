package console

import (
	"context"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/fairlimit"
)

// The form of a thousand lines is several megabytes of HTML, and rendering it takes several times as much memory,
// however short the document is. Therefore a company renders few large pages at a time, and memory is reserved before
// the document is read.
const (
	// LargeDocument is the size in bytes, and largeLines the number of lines, from which an invoice or a form makes a page
	// large.
	LargeDocument = 16 << 10
	LargeLines    = 25
	// largePages is the number of large pages rendered at a time, and largePagesPerCompany the number for one company.
	largePages           = 6
	largePagesPerCompany = 2
	// largePageWait is how long a page waits for a slot. It is shorter than people's patience.
	largePageWait = 2 * time.Second
	// documentFactor is the memory that a page needs per byte of its document, and formFactor the memory per byte of a
	// submitted form, in addition to the form itself.
	documentFactor = 4
	formFactor     = 2
)

// newLargePages returns the slots of large pages. A company gets at most half of the free slots.
func newLargePages() *fairlimit.Limiter[base.ID] {
	return fairlimit.New[base.ID](largePages, fairlimit.Policy{Divisor: 2, Max: largePagesPerCompany})
}

// AcquireForInvoice acquires the resources of a page about an invoice before the document is read.
func (req *Request) AcquireForInvoice(id base.ID) error {
	extent, err := invoices.ReadExtent(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return err
	}
	return req.AcquireLargePage(extent.Lines, extent.Bytes, documentFactor)
}

// AcquireLargePage does nothing for a small page. For a page that has many lines or is made of many bytes, it waits for
// a slot of the company, which the request holds until the page is rendered, and reserves factor times the bytes. It
// returns [fairlimit.ErrFull] when there is no slot. Calling it again adds only what is missing.
func (req *Request) AcquireLargePage(lines, bytes, factor int) error {
	if lines < LargeLines && bytes < LargeDocument {
		return nil
	}
	if !req.holdsLargePage {
		ctx, cancel := context.WithTimeout(req.R.Context(), largePageWait)
		defer cancel()
		if req.holdsLargePage = req.largePages.Acquire(ctx, req.Session.Account.ID); !req.holdsLargePage {
			return fairlimit.ErrFull
		}
	}
	return req.Reserve(max(req.reserved, factor*bytes))
}

// releaseLargePage releases the slot of a large page.
func (req *Request) releaseLargePage() {
	if req.holdsLargePage {
		req.largePages.Release(req.Session.Account.ID, 1)
		req.holdsLargePage = false
	}
}

// minReserved is the size in bytes from which a response reserves memory.
const minReserved = 64 << 10

// Reserve changes the memory that the request has reserved in addition to its body to the given number of bytes.
func (req *Request) Reserve(bytes int) error {
	if bytes < minReserved {
		bytes = 0
	}
	switch {
	case bytes > req.reserved:
		if err := req.Admission.Reserve(bytes - req.reserved); err != nil {
			return err
		}
	case bytes < req.reserved:
		req.Admission.Release(req.reserved - bytes)
	}
	req.reserved = bytes
	return nil
}
