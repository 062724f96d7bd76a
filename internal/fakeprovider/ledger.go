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

	"quittance/api"
)

// Ledger is the provider sandbox's durable memory: an append-only file of JSON lines. Nothing is answered before the
// line that says it is on disk (fsync); requests that wait at the same time share one fsync. It holds at most one
// document for a reference, and counts what would break that promise instead of assuming it.
//
// The bodies stay in the file; memory holds one small entry for each document and purchase.
type Ledger struct {
	file  *os.File
	queue chan pendingWrite
	ended chan struct{} // closed when the writer has stopped

	closeMu sync.RWMutex // guards closed, and queue against a send after its close
	closed  bool

	mu        sync.RWMutex // guards the rest, which only the writer changes
	documents map[string]*storedDocument
	order     []*storedDocument // by acceptance
	purchases []*storedPurchase // by arrival, each revision anew
	latest    map[string]int    // id to its place in purchases
}

// The errors of a ledger.
var (
	// ErrReferenceReused says that a reference came with other bytes than those the ledger has.
	ErrReferenceReused = errors.New("provider sandbox: the reference was used for another document")
	// ErrLedger says that a line could not be made durable. The ledger takes nothing more until it is opened anew,
	// because what is on disk is then not known.
	ErrLedger = errors.New("provider sandbox: the ledger cannot be written")
	// ErrLedgerClosed says that the ledger was closed.
	ErrLedgerClosed = errors.New("provider sandbox: the ledger is closed")
	// ErrLedgerCorrupt says that a line before the last one cannot be read.
	ErrLedgerCorrupt = errors.New("provider sandbox: the ledger is corrupt")
	// ErrLedgerInUse says that another process has the ledger open.
	ErrLedgerInUse = errors.New("provider sandbox: the ledger is in use")
	// ErrUnknownCursor says that a cursor was never given out.
	ErrUnknownCursor = errors.New("provider sandbox: unknown cursor")
)

// LedgerDocument is what the ledger knows about one document.
type LedgerDocument struct {
	Reference         string    `json:"reference"`
	ProviderReference string    `json:"provider_reference"`
	InvoiceNumber     string    `json:"invoice_number"`
	Scenario          string    `json:"scenario"` // "" for the ordinary course
	SHA256            string    `json:"sha256"`   // of the request body
	AcceptedAt        time.Time `json:"accepted_at"`
	Plan              Plan      `json:"plan"`
	// ArrivesAfter is how long from acceptance, in microseconds, look-ups say that there is no such document.
	ArrivesAfter int64 `json:"arrives_after_us,omitempty"`
	// Received counts the submissions of this reference that were read, Accepted how often the ledger took it (more
	// than 1 would be a broken promise), and Conflicts the submissions with other bytes.
	Received  int `json:"received"`
	Accepted  int `json:"accepted"`
	Conflicts int `json:"conflicts"`
}

// Report returns the document of the provider protocol as it stands at now.
func (d *LedgerDocument) Report(now time.Time) Report {
	return d.Plan.At(d.Reference, d.ProviderReference, d.AcceptedAt, now)
}

// Purchase is the metadata of a purchase document as the provider protocol lists it (contract, section 6).
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

// place is where a line stands in the file.
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

// Accept takes a document, unless the reference is there already: then it returns the document it has, and
// [ErrReferenceReused] when the bytes differ. It returns when the answer is durable.
func (l *Ledger) Accept(d LedgerDocument, body []byte) (LedgerDocument, error) {
	d.SHA256 = digest(body)
	return l.enqueue(pendingWrite{document: &d, body: body})
}

// AddPurchase adds a purchase document, or a new revision when the id is there with other bytes; the same bytes are
// nothing new. It returns when that is durable.
func (l *Ledger) AddPurchase(p Purchase, document []byte) (Purchase, error) {
	p.SHA256 = digest(document)
	if _, err := l.enqueue(pendingWrite{purchase: &p, body: document}); err != nil {
		return Purchase{}, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.purchases[l.latest[p.ID]].Purchase, nil
}

// Document returns what the ledger has under a reference.
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

// another returns the reference of the newest document other than one, or "".
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

// Body returns the request body that made a document, byte for byte.
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

// Purchases returns at most limit purchases behind a cursor ("" is the beginning), each in its latest revision only,
// where to go on, and whether more is there. It returns [ErrUnknownCursor].
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
			continue // a later revision stands further on
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

// apply makes a durable line part of what is known; it is used for new lines and at opening alike.
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

// PurchaseList returns every purchase in the order of arrival, superseded revisions included.
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
