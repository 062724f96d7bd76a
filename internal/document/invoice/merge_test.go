package invoice

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quittance/client/api"
)

// testVocabulary returns the vocabulary of the provider protocol, with a table for one dimension.
func testVocabulary() Vocabulary {
	return Vocabulary{
		Reference: "/reference", ProviderReference: "/provider_reference",
		Status:   "/status",
		Statuses: map[string]Status{"accepted": Accepted, "processing": Processing, "rejected": Rejected},
		Sequence: "/sequence", ReportedAt: "/reported_at",
		Submission: StatePointers{Value: "/states/submission_state/value",
			Terminal: "/states/submission_state/terminal"},
		ProviderInvoice: StatePointers{Value: "/states/provider_invoice_state/value",
			Terminal: "/states/provider_invoice_state/terminal"},
		TaxAuthority: StatePointers{Value: "/states/tax_authority_state/value",
			Terminal: "/states/tax_authority_state/terminal"},
		Receiver: StatePointers{Value: "/states/receiver_state/value", Terminal: "/states/receiver_state/terminal",
			Meaning: "/states/receiver_state/meaning", TerminalValues: []string{"paid", "refused"},
			Meanings: map[string]api.Meaning{"paid": api.MeaningPositive,
				"refused": api.MeaningNegative}},
	}
}

// fataler is the part of testing.T and rapid.T that these tests use.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// reportOf reads a report with these states from a real body, because there is no other way to make a new state.
func reportOf(t fataler, sequence int64, words map[Dimension]StoredState) Report {
	t.Helper()
	states := map[Dimension]any{}
	for d, w := range words {
		states[d] = map[string]any{"value": w.Value, "terminal": w.Terminal, "meaning": w.Meaning}
	}
	body, err := json.Marshal(map[string]any{"reference": "r", "status": "processing", "sequence": sequence,
		"states": states})
	if err != nil {
		t.Fatalf("body: %v", err)
	}
	report, err := ReadReport(body, testVocabulary())
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	return report
}

// storedStates is the reverse of [RestoreStates].
func storedStates(s States) map[Dimension]StoredState {
	words := map[Dimension]StoredState{}
	for _, d := range Dimensions {
		if word, terminal, reported := s.Get(d); reported {
			words[d] = s.Stored(d)
			if words[d].Value != word || words[d].Terminal != terminal {
				panic("Get and Word disagree")
			}
		}
	}
	return words
}

// subset returns the dimensions whose bit is set.
func subset(bits int, word func(Dimension) StoredState) map[Dimension]StoredState {
	words := map[Dimension]StoredState{}
	for i, d := range Dimensions {
		if bits&(1<<i) != 0 {
			words[d] = word(d)
		}
	}
	return words
}

// TestMeaningBelongsToValue: a changed meaning is kept without an event. A value that is reported without a meaning has
// none, whatever the meaning of the value before.
func TestMeaningBelongsToValue(t *testing.T) {
	before := RestoreStates(map[Dimension]StoredState{DimensionReceiver: {Value: "sent", Meaning: api.MeaningWaiting}})
	for _, tt := range []struct {
		news    StoredState
		changed int
	}{
		{StoredState{Value: "sent", Meaning: api.MeaningPositive}, 0}, {StoredState{Value: "sent"}, 0},
		{StoredState{Value: "seen"}, 1}, {StoredState{Value: "seen", Meaning: api.MeaningNegative}, 1},
	} {
		after, change := before.Merge(reportOf(t, 1, map[Dimension]StoredState{DimensionReceiver: tt.news}), 0)
		if after.Stored(DimensionReceiver) != tt.news || len(change.Changed) != tt.changed || change.TerminalChanged {
			t.Errorf("after %+v: %+v, %+v", tt.news, after.Stored(DimensionReceiver), change)
		}
	}
}

// TestMergeTouchesOnlyWhatIsReported: for each of the 16 subsets of reported dimensions, over each of the 16 subsets of
// known dimensions, a dimension that is not reported stays as it is.
func TestMergeTouchesOnlyWhatIsReported(t *testing.T) {
	for prior := range 16 {
		for reported := range 16 {
			t.Run(fmt.Sprintf("%04b after %04b", reported, prior), func(t *testing.T) {
				before := subset(prior, func(d Dimension) StoredState {
					return StoredState{Value: "old " + string(d),
						Terminal: true}
				})
				news := subset(reported, func(d Dimension) StoredState { return StoredState{Value: "new " + string(d)} })
				want := maps.Clone(before)
				maps.Copy(want, news)

				after, change := RestoreStates(before).Merge(reportOf(t, 1, news), 0)
				if got := storedStates(after); !maps.Equal(got, want) {
					t.Errorf("states %v, want %v", got, want)
				}
				var changed []Dimension
				for _, d := range Dimensions {
					if _, ok := news[d]; ok {
						changed = append(changed, d)
					}
				}
				if !slices.Equal(change.Changed, changed) || change.Stale || change.BecameTerminal ||
					change.TerminalChanged != (prior&reported != 0) {
					t.Errorf("change %+v, want changed %v", change, changed)
				}
			})
		}
	}
}

func TestMergeChange(t *testing.T) {
	all := func(word string, terminal bool) map[Dimension]StoredState {
		return subset(15, func(Dimension) StoredState { return StoredState{Value: word, Terminal: terminal} })
	}
	one := func(word string, terminal bool) map[Dimension]StoredState {
		return map[Dimension]StoredState{DimensionReceiver: {Value: word, Terminal: terminal}}
	}
	almost := maps.Clone(all("done", true))
	almost[DimensionReceiver] = StoredState{Value: "open"}
	tests := []struct {
		name   string
		before map[Dimension]StoredState
		report map[Dimension]StoredState
		want   Change
	}{
		{"the same again", all("done", true), all("done", true), Change{}},
		{"nothing reported", almost, nil, Change{}},
		{"one word", all("sent", false), one("read", false), Change{Changed: []Dimension{DimensionReceiver}}},
		{"the same word becomes final", almost, one("open", true), Change{TerminalChanged: true, BecameTerminal: true}},
		{"the last final word", almost, one("done", true),
			Change{Changed: []Dimension{DimensionReceiver}, TerminalChanged: true, BecameTerminal: true}},
		{"another final word", all("done", true), one("refused", true), Change{Changed: []Dimension{DimensionReceiver}}},
		{"final no longer", all("done", true), one("reopened", false),
			Change{Changed: []Dimension{DimensionReceiver}, TerminalChanged: true}},
		{"all at once", nil, all("done", true), Change{Changed: Dimensions[:], TerminalChanged: true, BecameTerminal: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := RestoreStates(tt.before).Merge(reportOf(t, 7, tt.report), 7)
			wantEqual(t, "the change", got, tt.want)
		})
	}
}

// TestMergeHistory: after any sequence of reports, each dimension has the last value that was not stale.
func TestMergeHistory(t *testing.T) {
	words := rapid.Custom(func(t *rapid.T) map[Dimension]StoredState {
		word := rapid.SampledFrom([]string{"accepted", "pending", "ß", "rejected"})
		return subset(rapid.IntRange(0, 15).Draw(t, "reported"), func(Dimension) StoredState {
			return StoredState{Value: word.Draw(t, "word"), Terminal: rapid.Bool().Draw(t, "terminal")}
		})
	})
	rapid.Check(t, func(t *rapid.T) {
		var states States
		var last int64
		want := map[Dimension]StoredState{}
		for range rapid.IntRange(1, 12).Draw(t, "reports") {
			sequence, news := rapid.Int64Range(0, 9).Draw(t, "sequence"), words.Draw(t, "words")
			previous := maps.Clone(want)
			after, change := states.Merge(reportOf(t, sequence, news), last)
			if stale := sequence < last; change.Stale != stale {
				t.Fatalf("sequence %d after %d: stale %t", sequence, last, change.Stale)
			}
			if !change.Stale {
				maps.Copy(want, news)
				last = sequence
			}
			if got := storedStates(after); !maps.Equal(got, want) {
				t.Fatalf("states %v, want %v", got, want)
			}
			for _, d := range Dimensions {
				if change.Has(d) != (previous[d].Value != want[d].Value) {
					t.Fatalf("change %+v from %v to %v", change, previous, want)
				}
			}
			if change.BecameTerminal != (after.AllTerminal() && !states.AllTerminal()) {
				t.Fatalf("change %+v from %v to %v", change, previous, want)
			}
			states = after
		}
		if restored := RestoreStates(storedStates(states)); restored != states {
			t.Fatalf("restored %v, want %v", storedStates(restored), storedStates(states))
		}
	})
}

func TestStates(t *testing.T) {
	var none States
	if none.AllTerminal() || none.Wire() != (api.States{}) {
		t.Errorf("nothing reported: %+v", none.Wire())
	}
	for _, d := range append(Dimensions[:], "outcome") {
		if word, terminal, reported := none.Get(d); word != "" || terminal || reported {
			t.Errorf("%s of nothing: %q, %t, %t", d, word, terminal, reported)
		}
	}
	s := RestoreStates(map[Dimension]StoredState{
		DimensionTaxAuthority: {Value: "cleared", Terminal: true}, DimensionReceiver: {Terminal: true},
		"outcome": {Value: "x"},
	})
	if !s.TaxAuthority.Reported() || s.TaxAuthority.Value() != "cleared" || !s.TaxAuthority.Terminal() {
		t.Errorf("tax authority %+v", s.TaxAuthority)
	}
	if s.Receiver != (State[Receiver]{}) {
		t.Errorf("a row without a word became %+v", s.Receiver)
	}
	wire := s.Wire()
	if wire.TaxAuthorityState == nil || *wire.TaxAuthorityState != "cleared" || wire.SubmissionState != nil ||
		wire.ProviderInvoiceState != nil || wire.ReceiverState != nil {
		t.Errorf("wire %+v", wire)
	}
}

// TestWireNames: the JSON fields of the API are the names of the dimensions, each with its own state.
func TestWireNames(t *testing.T) {
	s := RestoreStates(subset(15, func(d Dimension) StoredState { return StoredState{Value: "word of " + string(d)} }))
	text, err := json.Marshal(s.Wire())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[Dimension]string
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, d := range Dimensions {
		if fields[d] != "word of "+string(d) {
			t.Errorf("%s is %q", d, fields[d])
		}
	}
	if len(fields) != len(Dimensions) {
		t.Errorf("fields %v", fields)
	}
}

func TestOutcome(t *testing.T) {
	for status, want := range map[Status]api.Outcome{
		Accepted: api.OutcomeAcknowledged, Processing: api.OutcomeAcknowledged, Rejected: api.OutcomeRejected,
		"": api.OutcomeUnknown,
	} {
		if got := Outcome(status); got != want {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}

func TestEvents(t *testing.T) {
	const updated, changed, terminal = api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal
	submission, receiver := []Dimension{DimensionSubmission}, []Dimension{DimensionReceiver}
	tests := []struct {
		name   string
		change Change
		o      EventContext
		want   []api.EventKind
	}{
		{"nothing new", Change{}, EventContext{}, nil},
		{"only a flag", Change{TerminalChanged: true}, EventContext{}, nil},
		{"first report without words", Change{}, EventContext{First: true}, []api.EventKind{updated}},
		{"first report", Change{Changed: receiver}, EventContext{First: true}, []api.EventKind{updated, changed}},
		{"outcome", Change{}, EventContext{OutcomeChanged: true}, []api.EventKind{updated}},
		{"submission state", Change{Changed: submission}, EventContext{}, []api.EventKind{updated, changed}},
		{"another state", Change{Changed: receiver}, EventContext{}, []api.EventKind{changed}},
		{"everything", Change{Changed: submission, TerminalChanged: true, BecameTerminal: true}, EventContext{First: true},
			[]api.EventKind{updated, changed, terminal}},
		{"final by its flag alone", Change{TerminalChanged: true, BecameTerminal: true}, EventContext{},
			[]api.EventKind{terminal}},
		{"final again", Change{Changed: receiver, BecameTerminal: true}, EventContext{TerminalAnnounced: true},
			[]api.EventKind{changed}},
		{"stale", Change{Stale: true}, EventContext{First: true, OutcomeChanged: true}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Events(tt.change, tt.o); !slices.Equal(got, tt.want) {
				t.Errorf("events %v, want %v", got, tt.want)
			}
		})
	}
}
