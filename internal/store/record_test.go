package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// chained computes the digest of an evidence entry from the description of the chain alone: SHA-256 over the label, the
// previous digest, and the fields, each preceded by its length in eight bytes.
func chained(t *testing.T, e store.Evidence) [32]byte {
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
	part(store.EventDigests(e))
	return sha256.Sum256(text.Bytes())
}

// TestEvidenceChain: the digest of every entry covers the entry and the previous one, and the submission holds the
// digest of the last one.
func TestEvidenceChain(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		call := f.submit(t, "INV-1")
		responses := []store.NewEvidence{
			{Call: "submit", HTTPStatus: 202, MediaType: "application/json", Body: []byte(`{"status":"<processing> & more"}`),
				StateValues: map[string]string{"receiver_state": "<on & on>", "submission_state": "é"}},
			{Call: "status", HTTPStatus: 500},
			{Call: "status", HTTPStatus: 200, Body: []byte{0, 1, 0xff}, Truncated: true},
			{Call: "status", HTTPStatus: 200, Body: []byte("sealed"), Withheld: true},
		}
		for _, response := range responses {
			f.Clock.Advance(time.Second)
			decide(t, call, func(s store.Submission, _ time.Time) store.Decision {
				d := outcome(s, api.OutcomeUnknown)
				d.Evidence = &response
				return d
			})
		}
		chain, err := f.tenant.Evidence(ctx, call.Submission.ID)
		kit.Must(t, err)
		if len(chain) != len(responses) {
			t.Fatalf("%d entries, want %d", len(chain), len(responses))
		}
		text, err := store.Document(ctx, f.tenant, call.Submission.ID)
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
		kit.Must(t, f.raw.QueryRowContext(ctx, `select evidence_head, evidence_count from submissions where id = $1`,
			call.Submission.ID).Scan(&kept, &count))
		if !bytes.Equal(kept, head[:]) || count != int64(len(chain)) {
			t.Errorf("head %x of %d, want %x of %d", kept, count, head, len(chain))
		}
		f.disarm(t)
		f.exec(t, `update evidence set http_status = 201 where tenant_id = $1 and ordinal = 3`, f.tenant.Key())
		altered, err := f.tenant.Evidence(ctx, call.Submission.ID)
		kit.Must(t, err)
		if altered[2].Digest == chained(t, altered[2]) {
			t.Error("an altered entry verifies")
		}
	})
}

// TestStates: each dimension has its own row, which refers to its evidence. A dimension that was never reported has no
// row, and the value of another dimension changes nothing.
func TestStates(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		call := f.submit(t, "INV-1")
		record(t, call, words{invoice.DimensionSubmission: {Value: "taken"},
			invoice.DimensionReceiver: {Value: "delivered", Terminal: true}})
		changed := f.Clock.Advance(time.Minute)
		record(t, call, words{invoice.DimensionSubmission: {Value: "valid", Terminal: true}})
		chain, err := f.tenant.Evidence(ctx, call.Submission.ID)
		kit.Must(t, err)
		want := map[string][]any{
			"submission_state": {"valid", int64(1), chain[1].ID, changed.UnixMicro()},
			"receiver_state":   {"delivered", int64(1), chain[0].ID, changed.Add(-time.Minute).UnixMicro()},
		}
		for dimension, row := range want {
			var word string
			var terminal, at int64
			var evidence store.ID
			kit.Must(t, f.raw.QueryRowContext(ctx,
				`select word, terminal, evidence_id, changed_at from states where submission_id = $1 and dimension = $2`,
				call.Submission.ID, dimension).Scan(&word, &terminal, &evidence, &at))
			if word != row[0] || terminal != row[1] || evidence != row[2] || at != row[3] {
				t.Errorf("%s is %q %d from %s at %d, want %v", dimension, word, terminal, evidence, at, row)
			}
		}
		if n := f.number(t, `select count(*) from states where tenant_id = $1`, f.tenant.Key()); n != 2 {
			t.Errorf("%d dimensions have a row, want 2", n)
		}
		kept, err := f.tenant.Submission(ctx, call.Submission.ID)
		kit.Must(t, err)
		wantEqual(t, "states", kept.States.Wire(), api.States{SubmissionState: new("valid"), ReceiverState: new("delivered")})
	})
}

// TestRecorded: Record returns what is stored.
func TestRecorded(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-1")
		at := f.Clock.Advance(time.Minute)
		after := decide(t, call, func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, allFour("accepted", true), api.EventTerminal)
			d.MissingSince, d.MissingCount, d.LastSHA256 = &now, 3, [32]byte{9}
			return d
		})
		kept, err := f.tenant.Submission(t.Context(), call.Submission.ID)
		kit.Must(t, err)
		wantEqual(t, "the stored submission", kept, after)
		if kept.LastCheckedAt == nil || !kept.LastCheckedAt.Equal(at) || kept.TerminalAt == nil ||
			!kept.TerminalAt.Equal(at) || kept.PollWait != time.Second ||
			*kept.ProviderReference != "P-1" || *kept.Sequence != 1 || kept.Evidence != 1 || kept.LastStatus != 200 ||
			kept.LastSHA256 != [32]byte{9} || !kept.States.AllTerminal() {
			t.Errorf("kept %s", shown(kept))
		}
		// A repeated answer moves the time of the last check, and nothing that customers see as a change.
		before, err := f.tenant.Invoice(t.Context(), kept.Invoice)
		kit.Must(t, err)
		later := f.Clock.Advance(time.Minute)
		decide(t, call, func(s store.Submission, _ time.Time) store.Decision {
			d := outcome(s, s.Outcome)
			d.Responded, d.LastStatus, d.LastSHA256 = true, s.LastStatus, s.LastSHA256
			return d
		})
		unchanged, err := f.tenant.Invoice(t.Context(), kept.Invoice)
		kit.Must(t, err)
		if unchanged.Version != before.Version || !unchanged.UpdatedAt.Equal(before.UpdatedAt) ||
			!unchanged.Submission.LastCheckedAt.Equal(later) || unchanged.Submission.Evidence != 1 {
			t.Errorf("a repeated answer changed\n%+v to\n%+v", before, unchanged)
		}
	})
}

// TestLostLease: a response that arrives after the lease has passed to another worker is kept, but does not change the
// schedule.
func TestLostLease(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		late := f.submit(t, "INV-1")
		f.Clock.Advance(leaseDuration)
		claimed := f.claimSubmissions(t, 10)
		if len(claimed) != 1 || len(f.claimSubmissions(t, 10)) != 0 {
			t.Fatalf("%d submissions were claimed", len(claimed))
		}
		due := claimed[0].Submission.DueAt
		after, err := late.Record(t.Context(), func(s store.Submission, held bool, now time.Time) (store.Decision, error) {
			if held {
				t.Error("the late call still has the lease")
			}
			return reported(s, now, allFour("accepted", false), api.EventSubmissionUpdated), nil
		})
		kit.Must(t, err)
		if after.DueAt == nil || !after.DueAt.Equal(*due) || after.Evidence != 1 || after.Outcome != api.OutcomeAcknowledged {
			t.Errorf("a late answer leads to %s", shown(after))
		}
		after, err = claimed[0].Record(t.Context(), func(s store.Submission, held bool, now time.Time) (store.Decision,
			error) {
			if !held {
				t.Error("the late answer took the lease")
			}
			return reported(s, now, allFour("accepted", false)), nil
		})
		kit.Must(t, err)
		if want := f.Clock.Now().Add(time.Second); after.DueAt == nil || !after.DueAt.Equal(want) || after.Evidence != 2 {
			t.Errorf("the holder's answer leads to %s", shown(after))
		}
	})
}

// TestKeepLease: the lease is kept for the caller's next step, or released with the response.
func TestKeepLease(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-1")
		for _, want := range []bool{true, true, false} {
			_, err := call.Record(t.Context(), func(s store.Submission, held bool, _ time.Time) (store.Decision, error) {
				if held != want {
					t.Errorf("held %v, want %v", held, want)
				}
				d := outcome(s, api.OutcomeUnknown)
				if s.Outcome == api.OutcomeInProgress {
					d.KeepUntil = s.DueAt
				}
				return d, nil
			})
			kit.Must(t, err)
		}
	})
}

// TestFailedRecord: a transaction that fails at any step, or panics, leaves nothing behind, and the store continues to
// work.
func TestFailedRecord(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.subscribe(t, api.EventKinds[:]...)
		call, broken := f.submit(t, "INV-1"), errors.New("broken")
		before := f.dump(t, f.company)
		steps := map[string]func(s store.Submission, now time.Time) (store.Decision, error){
			"deciding": func(store.Submission, time.Time) (store.Decision, error) { return store.Decision{}, broken },
			"states without evidence": func(s store.Submission, now time.Time) (store.Decision, error) {
				d := reported(s, now, allFour("accepted", true))
				d.Evidence = nil
				return d, nil
			},
			"an outcome there is not, after evidence and states": func(s store.Submission, now time.Time) (store.Decision,
				error) {
				d := reported(s, now, allFour("accepted", true), api.EventTerminal)
				d.Outcome = "guessed"
				return d, nil
			},
			"panic": func(store.Submission, time.Time) (store.Decision, error) { panic("in a decision") },
		}
		for name, step := range steps {
			err := func() (err error) {
				defer func() {
					if cause := recover(); cause != nil {
						err = errors.New("panicked")
					}
				}()
				_, err = call.Record(ctx, func(s store.Submission, _ bool, now time.Time) (store.Decision,
					error) {
					return step(s, now)
				})
				return err
			}()
			if err == nil || (name == "panic") != (err.Error() == "panicked") {
				t.Errorf("%s: error %v", name, err)
			}
			if f.dump(t, f.company) != before {
				t.Errorf("%s: something was left behind", name)
			}
		}
		record(t, call, allFour("accepted", true), api.EventTerminal)
		events, err := storetest.Events(ctx, f.tenant, 0, 10)
		kit.Must(t, err)
		if len(events) != 1 || events[0].Position != 1 {
			t.Errorf("events %+v after the failures", events)
		}
	})
}

// TestSubmittedIsWhatAReaderFinds: the invoice that a submission returns equals the invoice that is read afterwards in
// every field that is shown: with and without a change, with an open and a closed circuit breaker, and for an invoice
// that was submitted before.
func TestSubmittedIsWhatAReaderFinds(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		same := func(what string, got store.Invoice) {
			t.Helper()
			found, err := f.tenant.Invoice(ctx, got.ID)
			kit.Must(t, err)
			want, err := json.Marshal(view.Invoice(found, view.Seller{Profile: &f.account.Profile}))
			kit.Must(t, err)
			if text, err := json.Marshal(view.Invoice(got, view.Seller{Profile: &f.account.Profile})); err != nil ||
				!bytes.Equal(text, want) || got.Version != found.Version {
				t.Errorf("%s: version %d, want %d\ngot  %s\nwant %s (%v)", what, got.Version, found.Version, text, want, err)
			}
		}
		for n, step := range []func(store.Submission, time.Time) store.Decision{
			usableResponse, unusableResponse("timeout", 0), unusableResponse("timeout", 0), unusableResponse("timeout", 0),
			unusableResponse("timeout", 0), unusableResponse("timeout", time.Hour), unusableResponse("timeout", 0),
			usableResponse,
			func(s store.Submission, now time.Time) store.Decision {
				return reported(s, now, allFour("cleared", true))
			},
			func(s store.Submission, _ time.Time) store.Decision { return outcome(s, s.Outcome) },
		} {
			created := f.create(t, fmt.Sprintf("INV-%d", n))
			f.Clock.Advance(time.Millisecond)
			call := f.begin(t, created.ID)
			f.Clock.Advance(time.Millisecond)
			same(fmt.Sprintf("step %d", n), call.Submitted(decide(t, call, step)))
		}
		created := f.create(t, "INV-AGAIN")
		record(t, f.begin(t, created.ID), allFour("pending", false))
		again, begun, err := f.tenant.BeginSubmission(ctx, created.ID, intent())
		kit.Must(t, err)
		if begun {
			t.Error("submitted twice")
		}
		same("submitted before", again.Submitted(again.Submission))
	})
}
