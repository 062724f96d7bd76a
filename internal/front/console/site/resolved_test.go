package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
)

// TestContradictedInvoice checks that the page of an invoice shows who decided to count it as rejected, and why. It
// warns when the provider has the document nevertheless, beside a later submission.
func TestContradictedInvoice(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	var made api.Invoice
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft("INV-1", "1"), &made)
	id, err := base.ParseID(made.ID)
	kit.Must(t, err)
	begin := func() invoices.SubmissionLease {
		t.Helper()
		call, _, err := invoices.BeginSubmission(t.Context(), s.tenant(t), id,
			invoices.Intent{Environment: "sandbox", LeaseDuration: time.Hour,
				Render: func(source invoices.Source) ([]byte, api.Faults, error) { return sentDocument(source.Draft) }})
		kit.Must(t, err)
		return call
	}
	record := func(call invoices.SubmissionLease, change func(d *invoices.Decision)) {
		t.Helper()
		_, err := call.Record(t.Context(), func(s invoices.Submission, _ bool, _ time.Time) (invoices.Decision, error) {
			d := invoices.Decision{Outcome: s.Outcome, States: s.States}
			change(&d)
			return d, nil
		})
		kit.Must(t, err)
	}
	call := begin()
	record(call, func(d *invoices.Decision) { d.Outcome = api.OutcomeUnknown })
	ctx := base.WithActor(t.Context(), base.Actor{Kind: base.ActorAdministrator, Name: "ada@desk",
		Means: base.MeansCommandLine})
	_, err = invoices.ResolveAnySubmission(ctx, s.DB(), call.Submission.ID, invoices.DecisionReject,
		"said <so> by telephone")
	kit.Must(t, err)
	page := v.get("/invoices/" + made.ID).body
	for _, want := range []string{"Resolved as rejected", "count as rejected", "by ada@desk",
		"said &lt;so&gt; by telephone", "/edit"} {
		if !strings.Contains(page, want) {
			t.Errorf("a resolved invoice without %q", want)
		}
	}
	for _, wrong := range []string{"The provider has rejected", `id="contradicted"`} {
		if strings.Contains(page, wrong) {
			t.Errorf("a resolved invoice with %q", wrong)
		}
	}
	if list := v.get("/invoices?stage=rejected").body; strings.Contains(list, "INV-1") {
		t.Error("the invoice is listed among the provider's rejections")
	}
	if list := v.get("/invoices?stage=resolved_rejected").body; !strings.Contains(list, "INV-1") {
		t.Error("the invoice is not listed among the resolved ones")
	}

	// The invoice is corrected and submitted again. Then the provider reports the first submission.
	status := s.api(t, token, http.MethodPatch, "/api/v1/client/invoices/"+made.ID,
		map[string]any{"invoice_number": "INV-2"}, &made)
	if status != http.StatusOK {
		t.Fatalf("corrected: %d", status)
	}
	response := &invoices.NewEvidence{Call: "status", HTTPStatus: http.StatusOK, MediaType: "application/json",
		Body: []byte("{}"), StateValues: map[string]string{}}
	record(begin(), func(d *invoices.Decision) {
		d.Outcome, d.Evidence, d.Responded = api.OutcomeAcknowledged, response,
			true
	})
	record(call, func(d *invoices.Decision) { d.Contradicts, d.Evidence, d.Responded = true, response, true })
	page = v.get("/invoices/" + made.ID).body
	for _, want := range []string{`id="contradicted"`, `role="alert"`, "The provider reported submission " +
		call.Submission.ID.String(), "2 submissions of this invoice have reached the provider"} {
		if !strings.Contains(page, want) {
			t.Errorf("two documents without %q", want)
		}
	}
}
