package provider

import (
	"maps"
	"slices"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// Published is a [Description] as people and programs read it.
type Published struct {
	Kind            string            `json:"kind"`
	Summary         string            `json:"summary"`
	Profiles        []string          `json:"profiles"`
	RequiresProfile bool              `json:"requires_profile"`
	Currencies      []string          `json:"currencies,omitempty"`
	Options         []PublishedOption `json:"options"`
	Lookup          string            `json:"lookup"`
	// IdempotentReferences, CreditNotes, IncomingInvoices and RecipientLookup say what the adapter can do.
	IdempotentReferences bool `json:"idempotent_references"`
	CreditNotes          bool `json:"credit_notes"`
	IncomingInvoices     bool `json:"incoming_invoices"`
	RecipientLookup      bool `json:"recipient_lookup"`
	// Tables are the current and the former word tables.
	Tables []PublishedTable `json:"tables"`
}

// PublishedOption is an [Option].
type PublishedOption struct {
	Name     string `json:"name"`
	Summary  string `json:"summary"`
	Required bool   `json:"required"`
	Rule     string `json:"rule"`
}

// PublishedTable is an [invoice.Vocabulary]: where a response holds its words, and what they mean.
type PublishedTable struct {
	Name string `json:"name"`
	// Within points at the string of a response that holds the JSON into which the other pointers lead; "" if that is the
	// response itself.
	Within string `json:"within,omitempty"`
	// Statuses are the words of the document's status; empty if each response implies ImpliedStatus.
	Statuses      map[string]string `json:"statuses"`
	ImpliedStatus string            `json:"implied_status,omitempty"`
	// UnlistedStatus is what any other word means; without it, a response with another word is not read.
	UnlistedStatus string `json:"unlisted_status,omitempty"`
	// Dimensions are the four dimensions; null for one that the provider never reports.
	Dimensions map[string]*PublishedDimension `json:"dimensions"`
}

// PublishedDimension says where one dimension is in a response.
type PublishedDimension struct {
	Pointer string `json:"pointer"`
	// InResponse says that the response itself says whether a word is final and what it means.
	InResponse bool            `json:"in_response"`
	Words      []PublishedWord `json:"words"`
}

// PublishedWord is a word of a dimension; Meaning is null if the provider does not publish one.
type PublishedWord struct {
	Value   string       `json:"value"`
	Final   bool         `json:"final"`
	Meaning *api.Meaning `json:"meaning"`
}

// Publish returns the description in its published form.
func (d Description) Publish() Published {
	out := Published{Kind: d.Kind, Summary: d.Summary, Profiles: []string{}, RequiresProfile: d.RequiresProfile,
		Currencies: d.Currencies, Options: []PublishedOption{}, Lookup: d.Lookup, IdempotentReferences: d.Idempotent,
		CreditNotes: d.CreditNotes, IncomingInvoices: d.Purchases, RecipientLookup: d.Recipients, Tables: []PublishedTable{}}
	for _, profile := range d.Profiles {
		out.Profiles = append(out.Profiles, string(profile))
	}
	for _, o := range d.Options {
		out.Options = append(out.Options, PublishedOption{Name: o.Name, Summary: o.Summary, Required: o.Required,
			Rule: o.Rule})
	}
	for _, table := range d.Vocabularies() {
		out.Tables = append(out.Tables, publishTable(&table))
	}
	return out
}

// publishTable returns a table in its published form.
func publishTable(v *invoice.Vocabulary) PublishedTable {
	table := PublishedTable{Name: v.Name, Within: string(v.Within), Statuses: map[string]string{},
		ImpliedStatus: string(v.Implied), UnlistedStatus: string(v.Unlisted), Dimensions: map[string]*PublishedDimension{}}
	for word, status := range v.Statuses {
		table.Statuses[word] = string(status)
	}
	for dimension, pointers := range map[invoice.Dimension]*invoice.StatePointers{
		invoice.DimensionSubmission:      &v.Submission,
		invoice.DimensionProviderInvoice: &v.ProviderInvoice,
		invoice.DimensionTaxAuthority:    &v.TaxAuthority,
		invoice.DimensionReceiver:        &v.Receiver,
	} {
		table.Dimensions[string(dimension)] = publishDimension(pointers)
	}
	return table
}

// publishDimension returns the words of a dimension, in alphabetical order, or nil if the provider never reports it.
func publishDimension(p *invoice.StatePointers) *PublishedDimension {
	if p.Value == "" {
		return nil
	}
	out := &PublishedDimension{Pointer: string(p.Value), InResponse: p.Terminal != "", Words: []PublishedWord{}}
	words := slices.Collect(maps.Keys(p.Meanings))
	for _, word := range slices.Concat(p.TerminalValues, p.Values) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for _, word := range words {
		shown := PublishedWord{Value: word, Final: slices.Contains(p.TerminalValues, word)}
		if meaning, known := p.Meanings[word]; known {
			shown.Meaning = &meaning
		}
		out.Words = append(out.Words, shown)
	}
	return out
}
