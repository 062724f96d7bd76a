package invoice

import "quittance/client/api"

// Dimension names one of the four independent state dimensions by its JSON field.
type Dimension string

// The four dimensions.
const (
	DimensionSubmission      Dimension = "submission_state"
	DimensionProviderInvoice Dimension = "provider_invoice_state"
	DimensionTaxAuthority    Dimension = "tax_authority_state"
	DimensionReceiver        Dimension = "receiver_state"
)

// Dimensions lists the four dimensions in the order in which people see them.
var Dimensions = [...]Dimension{DimensionSubmission, DimensionProviderInvoice, DimensionTaxAuthority, DimensionReceiver} //nolint:gochecknoglobals // a constant list

// The four types below mark a [State] with its dimension. They are never instantiated.
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

// State is what the provider last reported in dimension D, verbatim. The zero value means that it has reported nothing.
type State[D marker] struct {
	// This field has no size. It mentions D, so that Go does not convert a state of one dimension into another. Without
	// it, all four would have the same underlying type.
	_        [0]D
	value    string
	terminal bool
	meaning  api.Meaning
}

// Reported reports whether the provider has ever reported a value in this dimension.
func (s State[D]) Reported() bool { return s.value != "" }

// Value returns the provider's value, 1 to 256 code points, or "" if nothing was reported.
func (s State[D]) Value() string { return s.value }

// Terminal reports whether the provider, or its adapter's published table, says that the value is terminal.
func (s State[D]) Terminal() bool { return s.terminal }

// Meaning returns what the value means according to the provider or its adapter's published table; "" if neither says.
func (s State[D]) Meaning() api.Meaning { return s.meaning }

// wire returns the value as the API writes it: nil if nothing was reported.
func (s State[D]) wire() *string {
	if !s.Reported() {
		return nil
	}
	return &s.value
}

// States holds the four dimensions of one submission. In the zero value, nothing is reported.
type States struct {
	Submission      State[Submission]
	ProviderInvoice State[ProviderInvoice]
	TaxAuthority    State[TaxAuthority]
	Receiver        State[Receiver]
}

// Get returns one dimension by its name. A name that is not one of [Dimensions] is never reported.
func (s States) Get(d Dimension) (value string, terminal, reported bool) {
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

// Stored returns one dimension as the ledger keeps it, or the zero StoredState if nothing was reported or d is not one
// of [Dimensions].
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

// stored returns the state as the ledger keeps it.
func (s State[D]) stored() StoredState {
	return StoredState{Value: s.value, Terminal: s.terminal, Meaning: s.meaning}
}

// AllTerminal reports whether all four dimensions were reported and are terminal.
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
	// Value is the provider's value; "" means that nothing was reported.
	Value string
	// Terminal says whether the value was terminal when it was reported.
	Terminal bool
	// Meaning is what the value meant when it was reported, "" if that was not stated.
	Meaning api.Meaning
}

// RestoreStates restores states from the ledger's rows, one for each dimension. Only the ledger may call it, because
// new states come from [ReadReport] alone; the architecture test lists its callers. A dimension without a row is not
// reported. A key that is not one of [Dimensions] is ignored.
func RestoreStates(rows map[Dimension]StoredState) States {
	return States{
		Submission:      restore[Submission](rows[DimensionSubmission]),
		ProviderInvoice: restore[ProviderInvoice](rows[DimensionProviderInvoice]),
		TaxAuthority:    restore[TaxAuthority](rows[DimensionTaxAuthority]),
		Receiver:        restore[Receiver](rows[DimensionReceiver]),
	}
}

// restore returns the state of a row. Without a value it is neither terminal nor has it a meaning.
func restore[D marker](row StoredState) State[D] {
	if row.Value == "" {
		return State[D]{}
	}
	return State[D]{value: row.Value, terminal: row.Terminal, meaning: row.Meaning}
}
