package invoice

import "quittance/api"

// Dimension names one of the four independent state dimensions by its JSON field (specification, part 2.5).
type Dimension string

// The four dimensions.
const (
	DimensionSubmission      Dimension = "submission_state"
	DimensionProviderInvoice Dimension = "provider_invoice_state"
	DimensionTaxAuthority    Dimension = "tax_authority_state"
	DimensionReceiver        Dimension = "receiver_state"
)

// Dimensions lists the four dimensions in the order of the specification.
var Dimensions = [...]Dimension{DimensionSubmission, DimensionProviderInvoice, DimensionTaxAuthority, DimensionReceiver} //nolint:gochecknoglobals // a constant list

// The four types below mark a [State] with its dimension. They have no values worth making.
type (
	// Submission marks the provider validation or submission result.
	Submission struct{}
	// ProviderInvoice marks the top-level provider invoice state.
	ProviderInvoice struct{}
	// TaxAuthority marks the tax-authority reporting state.
	TaxAuthority struct{}
	// Receiver marks the receiver state.
	Receiver struct{}
)

// marker is any one of the four dimensions.
type marker interface {
	Submission | ProviderInvoice | TaxAuthority | Receiver
}

// State is what the provider last said in dimension D, verbatim. The zero value means that it has said nothing.
type State[D marker] struct {
	// The field takes no room. It mentions D, so that Go refuses to convert a state of one dimension into another;
	// without it all four would have the same underlying type.
	_        [0]D
	value    string
	terminal bool
	meaning  api.Meaning
}

// Reported tells whether the provider has ever given a word in this dimension.
func (s State[D]) Reported() bool { return s.value != "" }

// Value returns the state value, 1 to 256 code points, or "" when nothing was reported.
func (s State[D]) Value() string { return s.value }

// Terminal tells whether the provider, or its adapter's published table, says that the word is final.
func (s State[D]) Terminal() bool { return s.terminal }

// Meaning returns what the provider, or its adapter's published table, says the word means; "" when neither says.
func (s State[D]) Meaning() api.Meaning { return s.meaning }

// wire returns the word as the API writes it: nil when nothing was reported.
func (s State[D]) wire() *string {
	if !s.Reported() {
		return nil
	}
	return &s.value
}

// States are the four dimensions of one submission. The zero value has nothing reported.
type States struct {
	Submission      State[Submission]
	ProviderInvoice State[ProviderInvoice]
	TaxAuthority    State[TaxAuthority]
	Receiver        State[Receiver]
}

// Get returns one dimension by its name; a name that is none of [Dimensions] is never reported.
func (s States) Get(d Dimension) (word string, terminal, reported bool) {
	switch d {
	case DimensionSubmission:
		return s.Submission.value, s.Submission.terminal, s.Submission.Reported()
	case DimensionProviderInvoice:
		return s.ProviderInvoice.value, s.ProviderInvoice.terminal, s.ProviderInvoice.Reported()
	case DimensionTaxAuthority:
		return s.TaxAuthority.value, s.TaxAuthority.terminal, s.TaxAuthority.Reported()
	case DimensionReceiver:
		return s.Receiver.value, s.Receiver.terminal, s.Receiver.Reported()
	}
	return "", false, false
}

// Stored returns one dimension as the store keeps it; the zero StoredState when nothing was reported or d is none of [Dimensions].
func (s States) Stored(d Dimension) StoredState {
	switch d {
	case DimensionSubmission:
		return s.Submission.stored()
	case DimensionProviderInvoice:
		return s.ProviderInvoice.stored()
	case DimensionTaxAuthority:
		return s.TaxAuthority.stored()
	case DimensionReceiver:
		return s.Receiver.stored()
	}
	return StoredState{}
}

// kept is the state as the store keeps it.
func (s State[D]) stored() StoredState {
	return StoredState{Value: s.value, Terminal: s.terminal, Meaning: s.meaning}
}

// AllTerminal tells whether every one of the four dimensions was reported and is final.
func (s States) AllTerminal() bool {
	return s.Submission.terminal && s.ProviderInvoice.terminal && s.TaxAuthority.terminal && s.Receiver.terminal
}

// Wire returns the four states as the API and the webhooks write them.
func (s States) Wire() api.States {
	return api.States{
		SubmissionState:      s.Submission.wire(),
		ProviderInvoiceState: s.ProviderInvoice.wire(),
		TaxAuthorityState:    s.TaxAuthority.wire(),
		ReceiverState:        s.Receiver.wire(),
	}
}

// StoredState is one stored state: the row of one dimension.
type StoredState struct {
	// Value is the provider's word; "" means that nothing was reported.
	Value string
	// Terminal tells whether the word was final when it was reported.
	Terminal bool
	// Meaning is what the word was said to mean when it was reported; "" when nothing said it.
	Meaning api.Meaning
}

// RestoreStates rebuilds the states that were merged and stored earlier, from the store's one row per dimension. It
// is for the store alone, and a test of the whole module lists its callers: new states come from [ReadReport]. A
// dimension without a row is not reported; a key that is none of [Dimensions] names no state.
func RestoreStates(rows map[Dimension]StoredState) States {
	return States{
		Submission:      restore[Submission](rows[DimensionSubmission]),
		ProviderInvoice: restore[ProviderInvoice](rows[DimensionProviderInvoice]),
		TaxAuthority:    restore[TaxAuthority](rows[DimensionTaxAuthority]),
		Receiver:        restore[Receiver](rows[DimensionReceiver]),
	}
}

// restore makes one state of its row: what has no word is not final and means nothing.
func restore[D marker](w StoredState) State[D] {
	if w.Value == "" {
		return State[D]{}
	}
	return State[D]{value: w.Value, terminal: w.Terminal, meaning: w.Meaning}
}
