package proof_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestEvidenceChain: the digest of every entry covers the entry and the previous one, and the submission holds the
// digest of the last one.
func TestEvidenceChain(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		responses := []invoices.NewEvidence{
			{Call: "submit", HTTPStatus: 202, MediaType: "application/json", Body: []byte(`{"status":"<processing> & more"}`),
				StateValues: map[string]string{"receiver_state": "<on & on>", "submission_state": "é"}},
			{Call: "status", HTTPStatus: 500},
			{Call: "status", HTTPStatus: 200, Body: []byte{0, 1, 0xff}, Truncated: true},
			{Call: "status", HTTPStatus: 200, Body: []byte("sealed"), Withheld: true},
		}
		for _, response := range responses {
			f.Clock.Advance(time.Second)
			fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
				d := fixture.Outcome(s, api.OutcomeUnknown)
				d.Evidence = &response
				return d
			})
		}
		chain, err := fixture.EvidenceOf(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		if len(chain) != len(responses) {
			t.Fatalf("%d entries, want %d", len(chain), len(responses))
		}
		text, err := invoices.SubmittedDocument(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		link := &fields{t: t}
		link.bytes([]byte("quittance/document/v1"))
		link.bytes(call.Submission.ID[:])
		sum := sha256.Sum256(text)
		link.bytes(sum[:])
		head := sha256.Sum256(link.text.Bytes()) // the document that was sent is the first link
		for n, e := range chain {
			if e.Ordinal != int64(n+1) || e.Previous != head || e.Submission != call.Submission.ID ||
				e.SHA256 != sha256.Sum256(responses[n].Body) {
				t.Errorf("entry %d is %+v", n, e)
			}
			if e.Digest != chained(t, e) {
				t.Errorf("the digest of entry %d does not verify", n)
			}
			head = e.Digest
		}
		var kept []byte
		var count int64
		kit.Must(t, f.Raw.QueryRowContext(ctx, `select evidence_head, evidence_count from submissions where id = $1`,
			call.Submission.ID).Scan(&kept, &count))
		if !bytes.Equal(kept, head[:]) || count != int64(len(chain)) {
			t.Errorf("head %x of %d, want %x of %d", kept, count, head, len(chain))
		}
		f.Disarm(t)
		f.Exec(t, `update evidence set http_status = 201 where tenant_id = $1 and ordinal = 3`, f.Tenant.ID())
		altered, err := fixture.EvidenceOf(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		if altered[2].Digest == chained(t, altered[2]) {
			t.Error("an altered entry verifies")
		}
	})
}

// chained computes the digest of an evidence entry from the description of the chain alone: SHA-256 over the label, the
// previous digest, and the fields, each preceded by its length in eight bytes.
func chained(t *testing.T, e invoices.Evidence) [32]byte {
	t.Helper()
	var text bytes.Buffer
	part := func(content []byte) {
		kit.Must(t, binary.Write(&text, binary.BigEndian, int64(len(content))))
		text.Write(content)
	}
	number := func(n int64) {
		var eight [8]byte
		for i := range eight {
			eight[i] = byte(n >> (56 - 8*i))
		}
		part(eight[:])
	}
	truth := map[bool]int64{true: 1}
	words, err := json.Marshal(e.StateValues)
	kit.Must(t, err)
	part([]byte("quittance/evidence/v2"))
	part(e.Previous[:])
	part(e.Submission[:])
	part(e.ID[:])
	number(e.Ordinal)
	number(e.ReceivedAt.UnixMicro())
	part([]byte(e.Call))
	number(int64(e.HTTPStatus))
	part([]byte(e.MediaType))
	part(e.SHA256[:])
	number(truth[e.Truncated])
	number(truth[e.Withheld])
	part(words)
	part([]byte(e.Report))
	part(e.EventDigests)
	return sha256.Sum256(text.Bytes())
}
