package fakeprovider

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"quittance/internal/platform/files"
)

// ledgerName is the name of the ledger's file in the data directory.
const ledgerName = "provider-ledger.jsonl"

// maxBatch bounds how many requests share one fsync.
const maxBatch = 256

// line is one line of the file.
type line struct {
	Kind      string          `json:"kind"`
	Reference string          `json:"reference,omitempty"` // of a repeat or a conflict
	Document  *LedgerDocument `json:"document,omitempty"`
	Purchase  *Purchase       `json:"purchase,omitempty"`
	Body      string          `json:"body,omitempty"` // a document's JSON text, a purchase document's bytes in base64
}

// The kinds of a line.
const (
	lineDocument = "document"
	lineRepeat   = "repeat"
	lineConflict = "conflict"
	linePurchase = "purchase"
)

// pendingWrite is a change that one caller waits for.
type pendingWrite struct {
	document *LedgerDocument
	purchase *Purchase
	body     []byte
	reply    chan error
}

// OpenLedger opens the ledger of a data directory, which it creates if necessary. It removes an incomplete last line: a
// crash interrupted that write, and its request was not answered. It returns [ErrLedgerInUse] or [ErrLedgerCorrupt].
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, ledgerName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	l := &Ledger{
		file: file, queue: make(chan pendingWrite, maxBatch), ended: make(chan struct{}),
		documents: map[string]*storedDocument{}, latest: map[string]int{},
	}
	size, err := l.recover(dir)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	go l.write(size)
	return l, nil
}

// recover locks the file, reads it, and makes sure that it is durable and contains only complete lines.
func (l *Ledger) recover(dir string) (size int64, err error) {
	// The kernel releases this lock when the process ends, however it ends.
	if err := files.TryLock(l.file); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLedgerInUse, err)
	}
	if size, err = l.load(); err != nil {
		return 0, err
	}
	if err := l.file.Truncate(size); err != nil {
		return 0, fmt.Errorf("remove a torn line: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return 0, fmt.Errorf("sync the ledger: %w", err)
	}
	return size, files.SyncDirectory(dir)
}

// load applies every complete line and returns the end of the last one.
func (l *Ledger) load() (end int64, err error) {
	reader := bufio.NewReaderSize(l.file, 1<<20)
	for {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil // nothing, or an incomplete line
		}
		if err != nil {
			return 0, fmt.Errorf("read the ledger: %w", err)
		}
		var entry line
		if json.Unmarshal(text, &entry) != nil {
			if _, err := reader.Peek(1); errors.Is(err, io.EOF) {
				return end, nil
			}
			return 0, fmt.Errorf("%w at byte %d", ErrLedgerCorrupt, end)
		}
		if err := l.apply(entry, location{offset: end, length: len(text)}); err != nil {
			return 0, fmt.Errorf("%w at byte %d", err, end)
		}
		end += int64(len(text))
	}
}

// enqueue passes a change to the writer and waits until it is durable.
func (l *Ledger) enqueue(p pendingWrite) (LedgerDocument, error) {
	p.reply = make(chan error, 1)
	l.closeMu.RLock()
	if l.closed {
		l.closeMu.RUnlock()
		return LedgerDocument{}, ErrLedgerClosed
	}
	l.queue <- p
	l.closeMu.RUnlock()
	if err := <-p.reply; err != nil || p.document == nil {
		return LedgerDocument{}, err
	}
	stored, _ := l.Document(p.document.Reference)
	return stored, nil
}

// write is the only writer. It collects all pending writes, writes their lines together, syncs, and then replies.
func (l *Ledger) write(size int64) {
	defer close(l.ended)
	var broken error
	for first := range l.queue {
		batch := append(make([]pendingWrite, 0, maxBatch), first)
	waiting:
		for len(batch) < maxBatch {
			select {
			case p, open := <-l.queue:
				if !open {
					break waiting
				}
				batch = append(batch, p)
			default:
				break waiting
			}
		}
		if broken != nil {
			for _, p := range batch {
				p.reply <- broken
			}
			continue
		}
		size, broken = l.commit(batch, size)
	}
}

// commit makes one batch durable and replies to its callers. The error is that of the file, whose content is then
// unknown.
func (l *Ledger) commit(batch []pendingWrite, size int64) (int64, error) {
	var text bytes.Buffer
	lines, places, verdicts := make([]line, len(batch)), make([]location, len(batch)), make([]error, len(batch))
	begun := stage{ledger: l, documents: map[string]string{}, purchases: map[string]string{}}
	for i, p := range batch {
		lines[i], verdicts[i] = begun.decide(p)
		if lines[i].Kind == "" {
			continue
		}
		encoded, err := json.Marshal(lines[i])
		if err != nil {
			return size, failBatch(batch, err)
		}
		places[i] = location{offset: size + int64(text.Len()), length: len(encoded)}
		text.Write(encoded)
		text.WriteByte('\n')
		lines[i].Body = "" // it stays in the file
	}
	if _, err := l.file.WriteAt(text.Bytes(), size); err != nil {
		return size, failBatch(batch, err)
	}
	if err := l.file.Sync(); err != nil {
		return size, failBatch(batch, err)
	}
	l.mu.Lock()
	for i := range lines {
		if lines[i].Kind == "" {
			continue
		}
		if err := l.apply(lines[i], places[i]); err != nil {
			l.mu.Unlock()
			return size, failBatch(batch, err)
		}
	}
	l.mu.Unlock()
	for i, p := range batch {
		p.reply <- verdicts[i]
	}
	return size + int64(text.Len()), nil
}

// failBatch tells every writer of a batch that it failed.
func failBatch(batch []pendingWrite, cause error) error {
	err := fmt.Errorf("%w: %w", ErrLedger, cause)
	for _, p := range batch {
		p.reply <- err
	}
	return err
}

// stage is the ledger together with the lines of a batch that are not durable yet: digests by reference and by purchase
// id.
type stage struct {
	ledger    *Ledger
	documents map[string]string
	purchases map[string]string
}

// decide returns the line that a pending write adds to the file, which may be empty, and the error to reply with once
// that is durable. Only the writer changes the ledger, so this reads it without the lock.
func (s stage) decide(p pendingWrite) (line, error) {
	if p.purchase != nil {
		sum := s.purchases[p.purchase.ID]
		if at, ok := s.ledger.latest[p.purchase.ID]; ok && sum == "" {
			sum = s.ledger.purchases[at].SHA256
		}
		if sum == p.purchase.SHA256 {
			return line{}, nil
		}
		s.purchases[p.purchase.ID] = p.purchase.SHA256
		return line{Kind: linePurchase, Purchase: p.purchase, Body: base64.StdEncoding.EncodeToString(p.body)}, nil
	}
	reference := p.document.Reference
	sum := s.documents[reference]
	if stored := s.ledger.documents[reference]; stored != nil {
		sum = stored.SHA256
	}
	switch sum {
	case "":
		s.documents[reference] = p.document.SHA256
		return line{Kind: lineDocument, Document: p.document, Body: string(p.body)}, nil
	case p.document.SHA256:
		return line{Kind: lineRepeat, Reference: reference}, nil
	default:
		return line{Kind: lineConflict, Reference: reference}, ErrReferenceReused
	}
}

// Close waits for pending writes and releases the file. A second call does nothing.
func (l *Ledger) Close() error {
	l.closeMu.Lock()
	if l.closed {
		l.closeMu.Unlock()
		return nil
	}
	l.closed = true
	close(l.queue)
	l.closeMu.Unlock()
	<-l.ended
	return l.file.Close()
}
