package submission_test

import (
	"bytes"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/envelope"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// afterRestore calls before with a company that has a draft, makes a backup and calls since. Then it restores the
// backup, calls restored and submits the draft, which the provider has accepted once, and wants an outcome. No document
// may be sent.
func afterRestore(t *testing.T, to string, want api.Outcome,
	before, since, restored func(t *testing.T, h *testService, id base.ID)) {
	t.Helper()
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		h := newTestService(t, engine, newTestProvider(t))
		id := h.draft(t, "INV-1", to)
		before(t, h, id)
		h, copied := h.backup(t)
		since(t, h, id)
		h.settle(t, id)
		kit.Must(t, h.Close())
		h.provider.posts()

		again := h.at(t, copied)
		_, err := ledger.MarkRestored(t.Context(), again.DB)
		kit.Must(t, err)
		restored(t, again, id)
		again.submit(t, id, want)
		if count := again.provider.accepted("INV-1"); count != 1 {
			t.Errorf("the provider has %d documents", count)
		}
		if want == api.OutcomeAcknowledged {
			again.wantTruth(t, again.settle(t, id))
		}
		again.verify(t)
		kit.Must(t, again.Close())
	})
}

// TestRestoredAndEdited checks that a document that was not received when the backup was made, and was afterwards under
// the same reference, is found although the restored draft was edited before it was submitted, so that it has another
// reference. Nobody can know what the company means: the outcome is unknown.
func TestRestoredAndEdited(t *testing.T) {
	afterRestore(t, "sandbox-429-once", api.OutcomeUnknown,
		func(t *testing.T, h *testService, id base.ID) { h.submit(t, id, invoices.OutcomeNotSent) },
		func(t *testing.T, h *testService, id base.ID) { h.submit(t, id, api.OutcomeAcknowledged) },
		func(t *testing.T, h *testService, id base.ID) { h.patch(t, id) })
}

// TestRestoredAndCorrected is TestRestoredAndEdited with a document that the provider has rejected under the earlier
// reference: the edited draft is sent.
func TestRestoredAndCorrected(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		h := newTestService(t, engine, newTestProvider(t))
		id := h.draft(t, "INV-1", "sandbox-429-once")
		h.submit(t, id, invoices.OutcomeNotSent)
		for reference := range h.provider.posts() {
			h.rejectedUnder(t, reference)
		}
		h, copied := h.backup(t)
		kit.Must(t, h.Close())

		again := h.at(t, copied)
		_, err := ledger.MarkRestored(t.Context(), again.DB)
		kit.Must(t, err)
		again.patch(t, id)
		again.submit(t, id, api.OutcomeAcknowledged)
		if after := again.settle(t, id); after.Submission.Ordinal != 2 {
			t.Errorf("sent as submission %d", after.Submission.Ordinal)
		}
		again.verify(t)
		kit.Must(t, again.Close())
	})
}

// TestRestoredWithAnotherProfile is TestRestoredAndEdited with another company profile instead of another draft.
func TestRestoredWithAnotherProfile(t *testing.T) {
	afterRestore(t, "sandbox-429-once", api.OutcomeUnknown,
		func(t *testing.T, h *testService, id base.ID) { h.submit(t, id, invoices.OutcomeNotSent) },
		func(t *testing.T, h *testService, id base.ID) { h.submit(t, id, api.OutcomeAcknowledged) },
		func(t *testing.T, h *testService, _ base.ID) {
			kit.Must(t, identity.SetProfile(t.Context(), h.DB, h.account, *providertest.BelgianSeller()))
		})
}

// TestRestoredBeforeARejection checks that a document that was acknowledged when the backup was made is not sent again
// after it turns out to be rejected: it was corrected and submitted since, once without being received.
func TestRestoredBeforeARejection(t *testing.T) {
	rejected := func(t *testing.T, h *testService, id base.ID) {
		t.Helper()
		kit.Until(t, "the provider rejects the document", func() bool {
			h.work(t)
			found, err := invoices.Find(t.Context(), h.tenant, id)
			kit.Must(t, err)
			return found.Submission.Outcome == api.OutcomeRejected
		})
	}
	afterRestore(t, "sandbox-processing-rejected", api.OutcomeAcknowledged,
		func(t *testing.T, h *testService, id base.ID) { h.submit(t, id, api.OutcomeAcknowledged) },
		func(t *testing.T, h *testService, id base.ID) {
			rejected(t, h, id)
			h.redirect(t, id, "sandbox-429-once")
			h.submit(t, id, invoices.OutcomeNotSent)
			h.patch(t, id)
			h.submit(t, id, api.OutcomeAcknowledged)
		},
		func(t *testing.T, h *testService, id base.ID) {
			rejected(t, h, id)
			h.patch(t, id)
		})
}

// TestRestoredBeforeAnotherProvider checks that the provider is asked over whose connection the document would be sent,
// and not the one that the company had when the backup was made.
func TestRestoredBeforeAnotherProvider(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		h := newTestService(t, engine, newTestProvider(t))
		id := h.draft(t, "INV-1", "1234567890")
		h, copied := h.backup(t)
		second := newTestProvider(t)
		h.changeProvider(t, second)
		h.submit(t, id, api.OutcomeAcknowledged)
		kit.Must(t, h.Close())
		second.posts()

		again := h.at(t, copied)
		_, err := ledger.MarkRestored(t.Context(), again.DB)
		kit.Must(t, err)
		again.changeProvider(t, second)
		again.submit(t, id, api.OutcomeAcknowledged)
		if posts := second.posts(); len(posts) > 0 {
			t.Errorf("posted %v", posts)
		}
		kit.Must(t, again.Close())
	})
}

// rejectedUnder makes the provider receive and reject a document under a reference, unknown to the database.
func (h *testService) rejectedUnder(t *testing.T, reference string) {
	t.Helper()
	adapter, err := protocol.New(provider.Config{BaseURL: h.provider.url, Credential: secret.New(credential),
		Clock: time.Now})
	kit.Must(t, err)
	defer adapter.Close()
	body, err := envelope.Envelope{Reference: reference, Seller: &api.Profile{},
		Invoice: draftFor("INV-1", "sandbox-rejected-validation")}.Marshal()
	kit.Must(t, err)
	response := adapter.Submit(t.Context(), provider.Document{Reference: reference, Body: body})
	if response.Kind != provider.Complete || !bytes.Contains(response.Body, []byte("rejected")) {
		t.Fatalf("%v: %s", response.Kind, response.Body)
	}
}

// changeProvider gives the company an active connection to another provider.
func (h *testService) changeProvider(t *testing.T, p *testProvider) {
	t.Helper()
	all, err := invoices.Connections(t.Context(), h.DB, &h.account)
	kit.Must(t, err)
	for _, c := range all {
		_, err := invoices.DisableConnection(t.Context(), h.DB, c.ID)
		kit.Must(t, err)
	}
	added, err := invoices.AddConnection(t.Context(), h.DB, h.account,
		invoices.NewConnection{Kind: "http", Environment: "sandbox", BaseURL: p.url, Credential: secret.New(credential)})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), h.DB, added.ID)
	kit.Must(t, err)
}

// TestRestoredIsRecordedWithItsEvidence checks that what the provider says before the document is sent is kept, like
// the response to the document.
func TestRestoredIsRecordedWithItsEvidence(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		h := newTestService(t, engine, newTestProvider(t))
		id := h.draft(t, "INV-1", "1234567890")
		_, err := ledger.MarkRestored(t.Context(), h.DB)
		kit.Must(t, err)
		began := time.Now()
		h.submit(t, id, api.OutcomeAcknowledged)
		found, err := invoices.Find(t.Context(), h.tenant, id)
		kit.Must(t, err)
		if s := found.Submission; s.Evidence != 2 || s.Ordinal != 1 || s.SentAt.Before(began.Add(-time.Minute)) {
			t.Errorf("%d entries of evidence of submission %d", s.Evidence, s.Ordinal)
		}
		kit.Must(t, h.Close())
	})
}
