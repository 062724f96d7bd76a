package purchase

import (
	"quittance/internal/provider/adapters"
	"quittance/internal/store"
)

// Reread returns what is shown of the retained metadata of a purchase document, by the rules that applied when it was
// received. It is the function behind [store.Replay].Purchase.
func Reread(metadata []byte) (store.NewIncoming, error) {
	entry := adapters.ReadPurchase(metadata)
	return newIncoming(&entry), nil
}
