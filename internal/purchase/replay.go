package purchase

import (
	"quittance/internal/provider"
	"quittance/internal/store"
)

// Reread returns what is shown of the retained metadata of a purchase document, by the same rules as when it came: the
// second half of [store.Replay].
func Reread(metadata []byte) (store.NewIncoming, error) {
	entry := provider.ReadPurchase(metadata)
	return read(&entry), nil
}
