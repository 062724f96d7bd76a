package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// partialProvider implements the provider protocol. For the recipient subset-N it reports only the dimensions whose
// bits are set in N, each time with a new sequence number.
type partialProvider struct {
	*httptest.Server
	mu      sync.Mutex
	subsets map[string]int // by reference
	asked   map[string]int
}

func newPartialProvider(t *testing.T) *partialProvider {
	t.Helper()
	p := &partialProvider{subsets: map[string]int{}, asked: map[string]int{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *partialProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/v1/purchases":
		_, _ = io.WriteString(w, `{"purchases":[],"next_cursor":"","has_more":false}`)
	case r.Method == http.MethodPost:
		var document struct {
			Reference string
			Invoice   struct {
				Recipient string `json:"recipient_network_id"`
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&document); err != nil {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		var subset int
		if _, err := fmt.Sscanf(document.Invoice.Recipient, "subset-%d", &subset); err != nil {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		p.subsets[document.Reference] = subset
		p.mu.Unlock()
		p.report(w, document.Reference)
	default:
		p.report(w, path.Base(r.URL.Path))
	}
}

func (p *partialProvider) report(w io.Writer, reference string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[reference]++
	var states []string
	for n, dimension := range dimensions {
		if p.subsets[reference]&(1<<n) != 0 {
			states = append(states, fmt.Sprintf(`%q:{"value":"word_%d","terminal":true%s}`, dimension, n, meaningOf[n]))
		}
	}
	fmt.Fprintf(w,
		`{"reference":%q,"provider_reference":"X","status":"accepted","sequence":%d,"reported_at":"2026-03-01T09:00:00Z","states":{%s},"messages":[]}`,
		reference, p.asked[reference], strings.Join(states, ","))
}

func (p *partialProvider) times(reference string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[reference]
}

// TestEverySubsetOfStates reports every subset of the four dimensions. It checks that dimensions that were not reported
// are null, and that values and their meanings are shown as reported: in the invoice, in the lists, in the history and
// in every event. Only all four terminal values together cause the terminal event, once.
func TestEverySubsetOfStates(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		provider := newPartialProvider(t)
		c := s.company(t)
		c.connect(t, provider.URL, service.Sandbox)
		ids, references := make([]string, 16), make([]string, 16)
		for subset := range 16 {
			ids[subset] = c.draft(t, c.numbered(fmt.Sprintf("subset-%d", subset)))
			a := c.post(t, invoicesPath+"/"+ids[subset]+"/submit", "")
			a.want(t, http.StatusOK, "")
			wantStates(t, a, "/data", subset)
			wantDetails(t, c, a, "/data", subset)
			references[subset] = a.textAt(t, "/data/submission/id")
		}
		for subset := range 15 { // the submission with all four is not polled any more
			kit.Until(t, "four reports of each subset", func() bool { return provider.times(references[subset]) >= 4 })
			wantStates(t, c.get(t, invoicesPath+"/"+ids[subset]), "/data", subset)
		}
		list := c.get(t, invoicesPath+"?per_page=100")
		for subset := range 16 {
			read, history := c.get(t, invoicesPath+"/"+ids[subset]), c.get(t, invoicesPath+"/"+ids[subset]+"/submissions")
			wantStates(t, read, "/data", subset)
			wantDetails(t, c, read, "/data", subset)
			wantStates(t, history, "/data/0", subset)
			wantDetails(t, c, history, "/data/0", subset)
			wantStates(t, list, fmt.Sprintf("/data/%d", 15-subset), subset)
		}
		if n := provider.times(references[15]); n != 1 {
			t.Errorf("a submission with four terminal states was polled %d times", n-1)
		}
		wantSubsetEvents(t, c, references)
	})
}

// meaningOf has the meaning that the provider reports in each dimension: two known ones, an unknown one and none.
var meaningOf = [...]string{`,"meaning":"positive"`, `,"meaning":"negative"`, `,"meaning":"splendid"`, ``}

// publishedMeaning has the meaning that the API shows in each dimension.
var publishedMeaning = [...]string{`"positive"`, `"negative"`, "null", "null"}

// wantStates compares the four states at a pointer with a subset.
func wantStates(t *testing.T, a response, pointer string, subset int) {
	t.Helper()
	for n, dimension := range dimensions {
		want := "null"
		if subset&(1<<n) != 0 {
			want = fmt.Sprintf(`"word_%d"`, n)
		}
		wantRaw(t, a, pointer+"/"+dimension, want)
	}
}

// wantDetails checks the details of the four states and their evidence.
func wantDetails(t *testing.T, c *company, a response, pointer string, subset int) {
	t.Helper()
	for n, dimension := range dimensions {
		at := pointer + "/states/" + dimension
		if subset&(1<<n) == 0 {
			wantRaw(t, a, at, "null")
			continue
		}
		wantRaw(t, a, at+"/value", fmt.Sprintf(`"word_%d"`, n))
		wantRaw(t, a, at+"/final", "true")
		wantRaw(t, a, at+"/meaning", publishedMeaning[n])
		invoice, _, _ := strings.Cut(a.request.path, "/submi")
		evidence := c.get(t, invoice+"/evidence")
		wantRaw(t, evidence, "/data/0/id", a.raw(t, at+"/evidence_id"))
		wantRaw(t, evidence, "/data/0/received_at", a.raw(t, at+"/reported_at"))
		wantRaw(t, evidence, "/data/0/words/"+dimension, fmt.Sprintf(`"word_%d"`, n))
	}
}

// wantSubsetEvents checks that each submission has one event for its result, one for its states if it has any, and one
// terminal event if all states are terminal.
func wantSubsetEvents(t *testing.T, c *company, references []string) {
	t.Helper()
	events := c.get(t, "/api/v1/webhooks/events?limit=100")
	wantRaw(t, events, "/pagination/has_more", "false")
	seen := map[string]int{}
	for n := 0; events.raw(t, fmt.Sprintf("/data/%d", n)) != ""; n++ {
		at := fmt.Sprintf("/data/%d", n)
		resource := events.textAt(t, at+"/resource_id")
		seen[resource+events.textAt(t, at+"/event")]++
		for subset, reference := range references {
			if reference == resource {
				wantStates(t, events, at+"/payload", subset)
			}
		}
	}
	want := map[string]int{}
	for subset, reference := range references {
		want[reference+"einvoice.submission.updated"] = 1
		if subset != 0 {
			want[reference+"einvoice.status.changed"] = 1
		}
		if subset == 15 {
			want[reference+"einvoice.terminal"] = 1
		}
	}
	wantEqual(t, "events", seen, want)
}
