package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
)

// Description is what an adapter publishes about itself: what quittance connection kinds and the guide of providers
// show.
type Description struct {
	// Kind is the adapter's name in connection add --kind.
	Kind string
	// Summary says in one sentence what it connects to.
	Summary string
	// LocalOnly says that it exists in the environment local alone, and needs neither an address nor a credential.
	LocalOnly bool
	// Profiles are the document formats that it carries; empty if it carries none.
	Profiles []document.Profile
	// RequiresProfile says that a connection must name one of Profiles.
	RequiresProfile bool
	// Currencies are the currency codes that it carries; empty if it carries all.
	Currencies []string
	// Addresses reports whether it can send to a participant, with the options of a connection; nil if it can send to
	// every one.
	Addresses func(participant Participant, options map[string]string) bool
	// Options are the adapter's own options.
	Options []Option
	// Idempotent is [Profile].Idempotent.
	Idempotent bool
	// Lookup says in one sentence what answers the question whether the provider has a document.
	Lookup string
	// CreditNotes, Purchases and Recipients say whether it carries credit notes, fetches incoming e-invoices and looks up
	// recipients.
	CreditNotes, Purchases, Recipients bool
	// Vocabularies returns the tables that it reads responses with, the current ones first. It makes them anew: most
	// callers of [Describe] need none.
	Vocabularies func() []invoice.Vocabulary
	// Open returns an adapter and opens no connection.
	Open func(Config) (Adapter, error)
}

// Option is an option of an adapter, given by connection add --option NAME=VALUE.
type Option struct {
	Name string
	// Summary says in one sentence what it is.
	Summary  string
	Required bool
	// Rule says which form a value has, for people, and Valid whether one has it.
	Rule  string
	Valid func(value string) bool
}

// Carries reports whether the adapter carries a currency.
func (d Description) Carries(currency string) bool {
	return len(d.Currencies) == 0 || slices.Contains(d.Currencies, currency)
}

// Faults returns what about an invoice the adapter cannot send with the options of a connection.
func (d Description) Faults(draft *api.Draft, options map[string]string) api.Faults {
	faults := api.Faults{}
	if !d.Carries(TextOf(draft.Currency)) {
		faults["currency"] = []api.Fault{{Rule: "not_supported",
			Message: "the provider carries only " + strings.Join(d.Currencies, ", ")}}
	}
	if d.Addresses != nil && !d.Addresses(Receiver(envelope.Envelope{Invoice: draft}), options) {
		faults["recipient_network_id"] = []api.Fault{{Rule: "not_supported",
			Message: "the provider cannot send to this identifier in the scheme " + TextOf(draft.BuyerEndpointScheme)}}
	}
	return faults
}

// CheckProfile returns an error that says which document formats a connection of this kind can name, if it cannot name
// profile. "" is no format.
func (d Description) CheckProfile(profile string) error {
	switch {
	case profile == "" && d.RequiresProfile:
		return fmt.Errorf("a connection of kind %s needs a document format: one of %s", d.Kind, d.profileNames())
	case profile == "" || slices.Contains(d.Profiles, document.Profile(profile)):
		return nil
	case len(d.Profiles) == 0:
		return fmt.Errorf("a connection of kind %s carries no document format", d.Kind)
	}
	return fmt.Errorf("a connection of kind %s carries the document formats %s", d.Kind, d.profileNames())
}

// profileNames returns the names of the document formats as a list for people.
func (d Description) profileNames() string {
	var names []string
	for _, profile := range d.Profiles {
		names = append(names, string(profile))
	}
	return strings.Join(names, ", ")
}

// CheckOptions returns an error that names the first option that is unknown, missing or in the wrong form.
func (d Description) CheckOptions(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.ContainsFunc(d.Options, func(o Option) bool { return o.Name == name }) {
			return fmt.Errorf("a connection of kind %s has no option %q", d.Kind, name)
		}
	}
	for _, option := range d.Options {
		value, given := options[option.Name]
		switch {
		case !given && option.Required:
			return fmt.Errorf("a connection of kind %s needs the option %s: %s, %s", d.Kind, option.Name, option.Summary,
				option.Rule)
		case given && !option.Valid(value):
			return fmt.Errorf("option %s: %s", option.Name, option.Rule)
		}
	}
	return nil
}

// WithoutMeanings returns the first version of a table, which did not say what state values mean.
func WithoutMeanings(v invoice.Vocabulary, name string) invoice.Vocabulary {
	v.Name = name
	for _, pointers := range []*invoice.StatePointers{&v.Submission, &v.ProviderInvoice, &v.TaxAuthority, &v.Receiver} {
		pointers.Meaning, pointers.Meanings = "", nil
	}
	return v
}
