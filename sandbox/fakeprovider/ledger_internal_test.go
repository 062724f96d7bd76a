package fakeprovider

import (
	"errors"
	"testing"
)

// TestNoWritesAfterAnError checks that the ledger refuses everything after a failed write or fsync, because the content
// of the file is unknown.
func TestNoWritesAfterAnError(t *testing.T) {
	ledger, err := OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := ledger.Accept(LedgerDocument{Reference: "ref-1"}, []byte("{}")); !errors.Is(err, ErrLedger) {
			t.Errorf("%v", err)
		}
		if _, err := ledger.AddPurchase(Purchase{ID: "p"}, nil); !errors.Is(err, ErrLedger) {
			t.Errorf("%v", err)
		}
	}
	if _, ok := ledger.Document("ref-1"); ok || len(ledger.Documents()) != 0 || len(ledger.PurchaseList()) != 0 {
		t.Error("the ledger has a document that was not written")
	}
	if err := ledger.Close(); err == nil {
		t.Error("the file was closed twice")
	}
}

// TestDuplicatesWithinABatch checks that requests that share one fsync see one another.
func TestDuplicatesWithinABatch(t *testing.T) {
	ledger, err := OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	reply := make(chan error, 8)
	document := func(body string) pendingWrite {
		return pendingWrite{document: &LedgerDocument{Reference: "ref-1", SHA256: digest([]byte(body))}, body: []byte(body),
			reply: reply}
	}
	purchase := func(body string) pendingWrite {
		return pendingWrite{purchase: &Purchase{ID: "p", SHA256: digest([]byte(body))}, body: []byte(body), reply: reply}
	}
	batch := []pendingWrite{document("a"), document("a"), document("b"), purchase("a"), purchase("a"), purchase("b"),
		purchase("a")}
	if _, err := ledger.commit(batch, 0); err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		if err := <-reply; (err != nil) != (i == 2) || err != nil && !errors.Is(err, ErrReferenceReused) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if d, _ := ledger.Document("ref-1"); d.Accepted != 1 || d.Received != 3 || d.Conflicts != 1 {
		t.Errorf("%+v", d)
	}
	if got := len(ledger.PurchaseList()); got != 3 {
		t.Errorf("%d purchases", got)
	}
}
