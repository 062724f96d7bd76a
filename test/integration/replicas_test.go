package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/kit"
	"quittance/test/pgtest"
)

// The sizes of the races.
const (
	racingClients  = 32
	racingInvoices = 200
	racingSubmits  = 6 // of each invoice, two at each replica
)

// TestReplicasRace lets many clients submit the same invoices at three replicas at once. Exactly one document of each
// must be sent, and each response must be the outcome, that the submission is in progress, or that the outcome is
// unknown. Then all three replicas poll the provider, but never two at once for the same document.
func TestReplicasRace(t *testing.T) {
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	t.Parallel()
	// no request is abandoned while it still runs
	f := newFleet(t, product, pgtest.URL(t), "--provider-timeout", "20s", "--poll-max", "200ms")
	names := []string{"first", "second", "third"}
	bases := []string{f.start(t, "second"), f.start(t, "third")}
	first, err := f.world.running["first"].says(listening)
	if err != nil {
		t.Fatal(err)
	}
	bases = append(bases, "http://"+first)
	ids := make([]string, racingInvoices)
	if err := workers(racingClients, len(ids), func(n int) error {
		got, err := f.caller.call(http.MethodPost, bases[n%len(bases)]+"/api/v1/client/invoices", f.token,
			draftBody(fmt.Sprintf("INV-%03d", n), "1234567890"))
		if err != nil || got.status != http.StatusCreated {
			return fmt.Errorf("create: %w, status %d: %s", err, got.status, got.body)
		}
		ids[n], err = pointed(got.body, "/data/id")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f.provider.slow(20 * time.Millisecond) // so that calls about one document would meet
	_, release := f.provider.arrestNext(http.MethodPost)
	defer release()
	var responses [600]atomic.Int64
	if err := workers(racingClients, racingInvoices*racingSubmits, func(n int) error {
		var got response
		if err := kit.Poll(func() (err error) {
			got, err = f.caller.call(http.MethodPost, bases[n%len(bases)]+"/api/v1/client/invoices/"+ids[n/racingSubmits]+
				"/submit", f.token, "")
			if err == nil && got.status == http.StatusServiceUnavailable { // on a busy machine the database may take too long
				err = fmt.Errorf("unavailable: %s", got.body)
			}
			return err
		}); err != nil {
			return err
		}
		if responses[got.status].Add(1); got.status == http.StatusConflict {
			release() // a submit has met another one
		}
		code, _ := pointed(got.body, "/error/code") // a success has none
		if got.status == http.StatusConflict && code != string(api.CodeSubmissionInProgress) ||
			!slices.Contains([]int{200, 202, 409}, got.status) {
			return fmt.Errorf("status %d: %s", got.status, got.body)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if responses[409].Load() == 0 {
		t.Error("no two submits overlapped")
	}
	events, repeats := f.settled(t, bases[0])
	t.Logf("%d submits: %d answered 200, %d 202, %d 409; %d events, %d repeated callbacks", racingInvoices*racingSubmits,
		responses[200].Load(), responses[202].Load(), responses[409].Load(), events, repeats)
	f.checkDocuments(t, racingInvoices, 1)
	f.provider.checkVisits(t, racingInvoices)
	asking := slices.DeleteFunc(slices.Clone(names),
		func(name string) bool { return f.lines(t, name, "call=status") == 0 })
	if len(asking) < 2 {
		t.Errorf("only %v queried the provider", asking)
	}
}

// checkVisits checks that one document per reference was sent, that there were many status queries, and that no two
// calls for a reference overlapped.
func (d *door) checkVisits(t *testing.T, references int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	questions := 0
	for reference, sent := range d.sent {
		if sent != 1 {
			t.Errorf("%s was sent %d times", reference, sent)
		}
		questions += d.asked[reference]
	}
	if len(d.sent) != references || questions < references {
		t.Errorf("%d documents and %d queries, want %d documents and more queries", len(d.sent), questions, references)
	}
	if len(d.overlap) > 0 {
		t.Errorf("%d calls overlapped another about the same document: %.3v", len(d.overlap), d.overlap)
	}
	t.Logf("%d documents, %d queries", len(d.sent), questions)
}

// TestKilledInsideTheCall kills a replica during its call to the provider: first one that submits, then one that polls.
// Another replica must find out the outcome, and no document is sent again.
func TestKilledInsideTheCall(t *testing.T) {
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	t.Parallel()
	f := newFleet(t, product, pgtest.URL(t))
	if err := f.world.end([]string{"first"}); err != nil {
		t.Fatal(err)
	}
	api1 := f.start(t, "answers", "--role", "api")
	id := f.draft(t, api1, "INV-1", "1234567890")
	held, release := f.provider.arrestNext(http.MethodPost)
	defer release()
	cut := make(chan error, 1)
	go func() {
		got, err := f.caller.call(http.MethodPost, api1+"/api/v1/client/invoices/"+id+"/submit", f.token, "")
		if err == nil {
			err = fmt.Errorf("the submit got status %d: %s", got.status, got.body)
		} else {
			err = nil // it was cut off, as it should be
		}
		cut <- err
	}()
	<-held
	if err := f.world.kill9([]string{"answers"}); err != nil {
		t.Fatal(err)
	}
	if err := <-cut; err != nil {
		t.Error(err)
	}
	release()

	held, release = f.provider.arrestNext(http.MethodGet)
	defer release()
	second := f.start(t, "asks")
	if got := f.state(t, second, id); got != string(api.OutcomeInProgress) {
		t.Errorf("the submission is %s before its lease has ended", got)
	}
	got, err := f.caller.call(http.MethodPost, second+"/api/v1/client/invoices/"+id+"/submit", f.token, "")
	if err != nil || got.status != http.StatusConflict {
		t.Errorf("a submit during the lease: %v, status %d: %s", err, got.status, got.body)
	}
	<-held // the lease has expired, and a status query is in progress
	if err := f.world.kill9([]string{"asks"}); err != nil {
		t.Fatal(err)
	}
	release()
	third := f.start(t, "finishes")
	f.settled(t, third)
	if got := f.state(t, third, id); got != string(api.OutcomeAcknowledged) {
		t.Errorf("finally the submission is %s", got)
	}
	f.checkDocuments(t, 1, 1)
	f.provider.checkVisits(t, 1)
}

// state returns the outcome of an invoice's submission.
func (f *fleet) state(t *testing.T, base, id string) string {
	t.Helper()
	var invoice api.Data[api.Invoice]
	f.must(t, http.MethodGet, base+"/api/v1/client/invoices/"+id, "", &invoice)
	if invoice.Data.Submission == nil {
		return "a draft"
	}
	return string(invoice.Data.Submission.Outcome)
}
