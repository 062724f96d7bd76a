package purchase

import (
	"quittance/internal/ledger/incoming"
	"quittance/internal/provider/adapters"
)

// Reread returns what is shown of the retained metadata of a purchase document, by the rules that applied when it was
// received. It is the function behind [proof.Replay].Purchase.
func Reread(metadata []byte) (incoming.NewIncoming, error) {
	entry := adapters.ReadPurchase(metadata)
	return newIncoming(&entry), nil
}
