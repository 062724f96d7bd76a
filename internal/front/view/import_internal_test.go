package view

import (
	"context"
	"errors"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
)

// TestImportTimeout checks that a file which takes too long has a fault, and that reading ends with an error when its
// client is gone.
func TestImportTimeout(t *testing.T) {
	file := []byte("invoice_number\nA\n")
	read, err := NewImporter(time.Nanosecond).Read(t.Context(), file, "", nil)
	if err != nil || len(read.Faults) != 1 || read.Faults[0].Rule != ruleTime {
		t.Errorf("too slow: %+v %v", read, err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := NewImporter(time.Minute).Read(gone, file, "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the client is gone: %v", err)
	}
}

// TestImportTurns checks that two companies do not keep a third one from importing, and that a company has one turn.
func TestImportTurns(t *testing.T) {
	i := NewImporter(time.Minute)
	i.wait = time.Nanosecond
	var ends []func()
	for company := range byte(importers) {
		end, err := i.Turn(t.Context(), base.ID{company + 1})
		if err != nil {
			t.Fatalf("company %d: %v", company, err)
		}
		ends = append(ends, end)
	}
	if len(ends) < 3 {
		t.Error("two companies can keep a third one from importing")
	}
	ends[0]()
	if _, err := i.Turn(t.Context(), base.ID{2}); !errors.Is(err, fairlimit.ErrFull) {
		t.Errorf("a second turn of a company: %v", err)
	}
	if _, err := i.Turn(t.Context(), base.ID{9}); err != nil {
		t.Errorf("a turn that was given back: %v", err)
	}
}
