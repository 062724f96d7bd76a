// Package adapters lists the adapters to providers, each of which is a package of its own.
package adapters

import (
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/einvoicebe"
	"quittance/internal/provider/phossap"
	"quittance/internal/provider/protocol"
	"quittance/internal/provider/simulator"
	"quittance/internal/provider/storecove"
)

// Descriptions returns the description of every adapter.
func Descriptions() []provider.Description {
	var all []provider.Description
	for _, kind := range kinds {
		all = append(all, kind.describe())
	}
	return all
}

// kinds lists the adapters in the order in which people see them.
var kinds = [...]struct { //nolint:gochecknoglobals // a constant table
	name     string
	describe func() provider.Description
}{
	{"http", protocol.Describe}, {"phoss-ap", phossap.Describe}, {"e-invoice-be", einvoicebe.Describe},
	{"storecove", storecove.Describe}, {"simulator", simulator.Describe},
}

// Describe returns the description of the adapter of a kind. ok is false if there is none.
func Describe(kind string) (d provider.Description, ok bool) {
	for _, k := range kinds {
		if k.name == kind {
			return k.describe(), true
		}
	}
	return provider.Description{}, false
}

// PublishedVocabulary returns a table that one of our adapters publishes, or has published, by its name. A retained
// response is read again with the table that it was first read with. A published table never changes: a change is a new
// table with a new name, and the old one stays in the adapter's [provider.Description].
func PublishedVocabulary(name string) (invoice.Vocabulary, bool) {
	for _, adapter := range Descriptions() {
		for _, table := range adapter.Vocabularies() {
			if table.Name == name {
				return table, true
			}
		}
	}
	return invoice.Vocabulary{}, false
}

// ReadPurchase reads the retained metadata of a purchase document: an entry of a page of the provider protocol, or an
// event that announces a received document.
func ReadPurchase(metadata []byte) provider.Purchase {
	if event, _ := storecove.ReadEvent(metadata); event.Document != nil {
		return *event.Document
	}
	return protocol.ReadPurchase(metadata)
}
