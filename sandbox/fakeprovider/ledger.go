package fakeprovider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"quittance/client/api"
)

// Ledger is the provider sandbox's durable memory: an append-only file of JSON lines. A request is not answered before
// its line is on disk (fsync); concurrent requests share one fsync. The ledger has at most one document per reference,
// and counts the events that would break that promise instead of assuming that they never happen.
//
// The bodies stay in the file; memory holds one small entry for each document and purchase.
type Ledger struct {
	file  *os.File
	queue chan pendingWrite
	ended chan struct{} // closed when the writer has stopped

	closeMu sync.RWMutex // guards closed, and prevents a send to queue after its close
	closed  bool

	mu        sync.RWMutex // guards the remaining fields, which only the writer changes
	documents map[string]*storedDocument
	order     []*storedDocument // by acceptance
	purchases []*storedPurchase // by arrival, with every revision
	latest    map[string]int    // index in purchases by id
}

// The errors of a ledger.
var (
	// ErrReferenceReused reports that a reference was submitted with bytes that differ from those in the ledger.
	ErrReferenceReused = errors.New("provider sandbox: the reference was used for another document")
	// ErrLedger reports that a line could not be made durable. The ledger accepts nothing until it is opened again,
	// because the content of the file is then unknown.
	ErrLedger = errors.New("provider sandbox: the ledger cannot be written")
	// ErrLedgerClosed reports that the ledger was closed.
	ErrLedgerClosed = errors.New("provider sandbox: the ledger is closed")
	// ErrLedgerCorrupt reports that a line before the last one cannot be read.
	ErrLedgerCorrupt = errors.New("provider sandbox: the ledger is corrupt")
	// ErrLedgerInUse reports that another process has opened the ledger.
	ErrLedgerInUse = errors.New("provider sandbox: the ledger is in use")
	// ErrUnknownCursor reports that a cursor was not issued by this ledger.
	ErrUnknownCursor = errors.New("provider sandbox: unknown cursor")
)

// LedgerDocument is the entry of one document in the ledger.
type LedgerDocument struct {
	Reference         string `json:"reference"`
	ProviderReference string `json:"provider_reference"`
	InvoiceNumber     string `json:"invoice_number"`
	// CreditNoteNumber is the number of the credit note, "" for an invoice. InvoiceNumber is then that of the credited
	// invoice.
	CreditNoteNumber string `json:"credit_note_number,omitempty"`
	Scenario         string `json:"scenario"` // "" for the default course
	SHA256           string `json:"sha256"`   // of the request body
	// Document is the regulated document, nil if the submission had none.
	Document   *LedgerAttachment `json:"document,omitempty"`
	AcceptedAt time.Time         `json:"accepted_at"`
	Plan       Plan              `json:"plan"`
	// ArrivesAfter is the time from acceptance, in microseconds, during which status queries report that there is no such
	// document.
	ArrivesAfter int64 `json:"arrives_after_us,omitempty"`
	// Received counts the submissions of this reference that were read, Accepted how often the ledger accepted it (more
	// than 1 would break its promise), and Conflicts the submissions with different bytes.
	Received  int `json:"received"`
	Accepted  int `json:"accepted"`
	Conflicts int `json:"conflicts"`
}

// Report returns the provider's report on the document at the time now.
func (d *LedgerDocument) Report(now time.Time) Report {
	return d.Plan.At(d.Reference, d.ProviderReference, d.AcceptedAt, now)
}

// Purchase is the metadata of a purchase document as the provider protocol lists it.
type Purchase struct {
	ID                string       `json:"id"`
	DocumentType      string       `json:"document_type"`
	InvoiceNumber     string       `json:"invoice_number"`
	SupplierName      string       `json:"supplier_name"`
	SupplierNetworkID string       `json:"supplier_network_id"`
	IssueDate         string       `json:"issue_date"`
	DueDate           string       `json:"due_date"`
	Currency          string       `json:"currency"`
	TotalAmount       *api.Decimal `json:"total_amount"`
	SHA256            string       `json:"sha256"` // of the bytes; the ledger computes it
	MediaType         string       `json:"media_type"`
	ReceivedAt        time.Time    `json:"received_at"`
}

// location is the position of a line in the file.
type location struct {
	offset int64
	length int
}

type storedDocument struct {
	LedgerDocument
	location
}

type storedPurchase struct {
	Purchase
	location
}

// Accept adds a document. If the reference exists, it returns the existing document, and [ErrReferenceReused] when the
// bytes differ. It returns when the result is durable.
func (l *Ledger) Accept(d LedgerDocument, body []byte) (LedgerDocument, error) {
	d.SHA256 = digest(body)
	return l.enqueue(pendingWrite{document: &d, body: body})
}

// AddPurchase adds a purchase document, or a new revision if the id exists with different bytes. If the bytes are the
// same, nothing changes. It returns when the result is durable.
func (l *Ledger) AddPurchase(p Purchase, document []byte) (Purchase, error) {
	p.SHA256 = digest(document)
	if _, err := l.enqueue(pendingWrite{purchase: &p, body: document}); err != nil {
		return Purchase{}, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.purchases[l.latest[p.ID]].Purchase, nil
}

// Document returns the entry of a reference.
func (l *Ledger) Document(reference string) (LedgerDocument, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	stored, ok := l.documents[reference]
	if !ok {
		return LedgerDocument{}, false
	}
	return stored.LedgerDocument, true
}

// Documents returns every document in the order of acceptance.
func (l *Ledger) Documents() []LedgerDocument {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]LedgerDocument, 0, len(l.order))
	for _, stored := range l.order {
		out = append(out, stored.LedgerDocument)
	}
	return out
}

// otherReference returns the newest reference other than the given one, or "".
func (l *Ledger) otherReference(than string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, stored := range slices.Backward(l.order) {
		if stored.Reference != than {
			return stored.Reference
		}
	}
	return ""
}

// Body returns the request body that submitted a document, byte for byte.
func (l *Ledger) Body(reference string) (body []byte, found bool, err error) {
	l.mu.RLock()
	stored, ok := l.documents[reference]
	l.mu.RUnlock()
	if !ok {
		return nil, false, nil
	}
	line, err := l.line(stored.location)
	return []byte(line.Body), true, err
}

// Purchases returns at most limit purchases after a cursor ("" is the beginning), each in its latest revision only, the
// cursor of the next page, and whether there are more. It returns [ErrUnknownCursor].
func (l *Ledger) Purchases(cursor string, limit int) (page []Purchase, next string, more bool, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	at := 0
	if cursor != "" {
		if at, err = strconv.Atoi(cursor); err != nil || at < 0 || at > len(l.purchases) {
			return nil, "", false, ErrUnknownCursor
		}
	}
	page = []Purchase{}
	for ; at < len(l.purchases); at++ {
		p := l.purchases[at]
		if l.latest[p.ID] != at {
			continue // a later revision follows
		}
		if len(page) == limit {
			more = true
			break
		}
		page = append(page, p.Purchase)
	}
	return page, strconv.Itoa(at), more, nil
}

// PurchaseDocument returns the latest bytes of a purchase document.
func (l *Ledger) PurchaseDocument(id string) (p Purchase, document []byte, found bool, err error) {
	l.mu.RLock()
	at, ok := l.latest[id]
	if !ok {
		l.mu.RUnlock()
		return Purchase{}, nil, false, nil
	}
	stored := l.purchases[at]
	l.mu.RUnlock()
	line, err := l.line(stored.location)
	if err != nil {
		return Purchase{}, nil, true, err
	}
	document, err = base64.StdEncoding.DecodeString(line.Body)
	return stored.Purchase, document, true, err
}

// line reads one line of the file again.
func (l *Ledger) line(at location) (line, error) {
	text := make([]byte, at.length)
	if _, err := l.file.ReadAt(text, at.offset); err != nil {
		return line{}, fmt.Errorf("read the ledger: %w", err)
	}
	var out line
	if err := json.Unmarshal(text, &out); err != nil {
		return line{}, fmt.Errorf("read the ledger: %w", err)
	}
	return out, nil
}

// apply adds a durable line to the index in memory, both for new lines and when the ledger is opened.
func (l *Ledger) apply(entry line, at location) error {
	switch entry.Kind {
	case lineDocument:
		if entry.Document == nil {
			return ErrLedgerCorrupt
		}
		if stored := l.documents[entry.Document.Reference]; stored != nil {
			stored.Received++
			stored.Accepted++
			return nil
		}
		stored := &storedDocument{LedgerDocument: *entry.Document, location: at}
		stored.Received, stored.Accepted = 1, 1
		l.documents[stored.Reference] = stored
		l.order = append(l.order, stored)
	case lineRepeat, lineConflict:
		stored := l.documents[entry.Reference]
		if stored == nil {
			return ErrLedgerCorrupt
		}
		stored.Received++
		if entry.Kind == lineConflict {
			stored.Conflicts++
		}
	case linePurchase:
		if entry.Purchase == nil {
			return ErrLedgerCorrupt
		}
		l.latest[entry.Purchase.ID] = len(l.purchases)
		l.purchases = append(l.purchases, &storedPurchase{Purchase: *entry.Purchase, location: at})
	default:
		return ErrLedgerCorrupt
	}
	return nil
}

// PurchaseList returns every purchase in the order of arrival, including superseded revisions.
func (l *Ledger) PurchaseList() []Purchase {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]Purchase, 0, len(l.purchases))
	for _, p := range l.purchases {
		out = append(out, p.Purchase)
	}
	return slices.Clip(out)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
