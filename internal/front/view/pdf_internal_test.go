package view

import (
	"context"
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/pdf"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
)

// TestPrinterTakesTurns checks that a company makes one file at a time, that another company does not wait for it, and
// that nobody waits longer than the caller does.
func TestPrinterTakesTurns(t *testing.T) {
	p := NewPrinter(time.Minute)
	busy, other := base.ID{1}, base.ID{2}
	if !p.turns.TryAcquire(busy, 1) {
		t.Fatal("the first turn is not free")
	}
	d := &pdf.Document{Content: document.Statement("", document.Document{Draft: &api.Draft{InvoiceNumber: new("INV-1")}})}
	short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := p.print(short, busy, "INV-1", d); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a second file is %v", err)
	}
	file, err := p.print(t.Context(), other, "INV/1", d)
	if err != nil || file.Name != "INV-1.pdf" || file.MediaType != "application/pdf" || file.Size == 0 {
		t.Errorf("the file of another company: %+v, %v", file, err)
	}
	p.turns.Release(busy, 1)
	if _, err := p.print(t.Context(), busy, "INV-1", d); err != nil {
		t.Errorf("the error of the next file is %v", err)
	}
	if p.turns.InUse() != 0 {
		t.Error("a turn was not given back")
	}
}

// TestPrinterIsFull checks that a file that gets no turn fails with an error after which the caller tries again.
func TestPrinterIsFull(t *testing.T) {
	p := &Printer{turns: fairlimit.New[base.ID](1, fairlimit.Policy{Divisor: 1, Max: 1}), wait: time.Millisecond}
	p.turns.TryAcquire(base.ID{1}, 1)
	if _, err := p.print(t.Context(), base.ID{2}, "INV-1", &pdf.Document{}); !errors.Is(err, fairlimit.ErrFull) {
		t.Errorf("the error is %v", err)
	}
}

// TestPrintTimeout checks that a file that takes too long fails and gives its turn back.
func TestPrintTimeout(t *testing.T) {
	p := NewPrinter(time.Nanosecond)
	d := &pdf.Document{Content: document.Statement("", document.Document{Draft: &api.Draft{InvoiceNumber: new("INV-1")}})}
	if _, err := p.print(t.Context(), base.ID{1}, "INV-1", d); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if p.turns.InUse() != 0 {
		t.Error("a turn was not given back")
	}
}
