package site_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/kit"
)

// posts returns how often the provider was asked to take the document of a submission, and how often it took it.
func (s *system) posts(t *testing.T, reference string) (posts, accepted int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		s.Info.ProviderURL+"/control/references/"+reference, http.NoBody)
	kit.Must(t, err)
	request.Header.Set("Authorization", "Bearer "+s.Info.ProviderCredential)
	response, err := http.DefaultClient.Do(request)
	kit.Must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	kit.Must(t, err)
	var count struct{ Posts, Accepted int }
	if err := json.Unmarshal(text, &count); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return count.Posts, count.Accepted
}

// TestBulkSubmit checks that selected drafts are reviewed before they are submitted, that each is submitted as by
// itself, that the result says of each what happened, and that the form and the result can be repeated.
func TestBulkSubmit(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	ids := map[string]string{}
	create := func(number, network string, change func(*api.Draft)) {
		d := draft(number, network)
		change(d)
		var made api.Invoice
		if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made); status != http.StatusCreated {
			t.Fatalf("%s: %d", number, status)
		}
		ids[number] = made.ID
	}
	unchanged := func(*api.Draft) {}
	s.submitted(t, token, "TAKEN", "1")
	create("ONE", "1", unchanged)
	create("TWO", "sandbox-rejected-validation", unchanged)
	create("BUSY", "sandbox-429-once", unchanged)
	create("LACKING", "1", func(d *api.Draft) { d.DueDate = nil })
	create("TAKEN", "1", unchanged)
	var query, fields []string
	for _, number := range []string{"ONE", "TWO", "BUSY", "LACKING", "TAKEN", "ONE"} {
		query, fields = append(query, "invoice="+ids[number]), append(fields, "invoice", ids[number])
	}

	review := v.get("/invoices/submit?" + strings.Join(query, "&"))
	for _, want := range []string{"4 invoices are ready", "1 invoice cannot be submitted", "1 field missing", "4,200.00",
		"cannot be recalled"} {
		if !strings.Contains(review.body, want) {
			t.Errorf("the review does not say %q", want)
		}
	}
	var seen api.Invoice
	if s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+ids["ONE"], nil, &seen); seen.Submitted {
		t.Fatal("the review has submitted an invoice")
	}

	var result response
	for range 2 { // the second press
		sent := v.post("/invoices/submit", fields...)
		if sent.status != http.StatusSeeOther {
			t.Fatalf("submit: %d %s", sent.status, sent.body)
		}
		if result.body == "" {
			result = v.get(sent.header.Get("Location"))
			if again := v.get(sent.header.Get("Location")); again.status != http.StatusOK {
				t.Errorf("the result again: %d", again.status)
			}
		}
	}
	for _, want := range []string{"2 invoices submitted", "3 invoices not submitted",
		"The provider did not accept the document. It is still a draft.", "The draft is incomplete.",
		"An invoice with this number has already been submitted.", "Rejected: provider"} {
		if !strings.Contains(result.body, want) {
			t.Errorf("the result does not say %q", want)
		}
	}
	for _, number := range []string{"ONE", "TWO"} {
		s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+ids[number], nil, &seen)
		if seen.Submission == nil {
			t.Fatalf("%s was not submitted", number)
		}
		if posts, accepted := s.posts(t, seen.Submission.ID); posts != 1 || accepted != 1 {
			t.Errorf("%s: %d posts, %d accepted", number, posts, accepted)
		}
	}
}

// TestBulkSubmitRefuses checks what the form and its pages refuse: too many invoices, other companies' invoices, and
// none.
func TestBulkSubmitRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	var mine api.Invoice
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft("INV-1", "1"), &mine)
	s.company(t, "other@example.com", "correct horse battery staple")
	other := s.visitor(t)
	other.login("other@example.com", "correct horse battery staple")
	for _, path := range []string{"/invoices/submit?invoice=", "/invoices/submitted?result="} {
		if got := other.get(path + mine.ID); got.status != http.StatusOK || strings.Contains(got.body, "INV-1") {
			t.Errorf("%s of another company: %d", path, got.status)
		}
		if got := v.get(path + "x"); got.status != http.StatusNotFound {
			t.Errorf("%s of no invoice: %d", path, got.status)
		}
	}
	got := other.post("/invoices/submit", "invoice", mine.ID)
	if page := other.get(got.header.Get("Location")); got.status != http.StatusSeeOther ||
		strings.Contains(page.body, "INV-1") {
		t.Errorf("another company submits: %d", got.status)
	}
	var many []string
	query := url.Values{}
	for n := range 101 {
		id := mine.ID[:len(mine.ID)-3] + strconv.Itoa(100+n)
		many = append(many, "invoice", id)
		query.Add("invoice", id)
	}
	for name, got := range map[string]response{"form": v.post("/invoices/submit", many...),
		"review": v.get("/invoices/submit?" + query.Encode())} {
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "up to 100 invoices") {
			t.Errorf("%s with 101 invoices: %d", name, got.status)
		}
	}
	if got := v.post("/invoices/submit"); got.header.Get("Location") != "/invoices?notice=bad.no_drafts" {
		t.Errorf("no invoice: %d %s", got.status, got.header.Get("Location"))
	}
	var seen api.Invoice
	if s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+mine.ID, nil, &seen); seen.Submitted {
		t.Error("the invoice was submitted")
	}
}
