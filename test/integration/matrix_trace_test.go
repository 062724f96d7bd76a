package integration_test

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// openTenant opens the current tenant of an account beside a server, like an administration command.
func openTenant(t *testing.T, address, keyFile, account string) *base.Tenant {
	t.Helper()
	keys, err := secret.ReadKeyFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	db, err := ledger.Open(t.Context(), address, base.Options{Keys: keys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	id, err := base.ParseID(account)
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := db.Tenant(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

// traced returns the checkpoints that were reached, as a map from command to checkpoint to count, and when each was
// first reached.
func traced(dir string) (reached map[string]map[string]int, first map[victim]int, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	reached, first = map[string]map[string]int{}, map[victim]int{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, nil, err
		}
		counts := map[string]int{}
		for line := range strings.Lines(string(text)) {
			at := strings.TrimSuffix(line, "\n")
			if counts[at]++; counts[at] == 1 {
				first[victim{command: file.Name(), at: at}] = len(first)
			}
		}
		reached[file.Name()] = counts
	}
	return reached, first, nil
}

// addTraced adds the checkpoints that one story has reached.
func addTraced(to, more map[string]map[string]int) {
	for command, reached := range more {
		if to[command] == nil {
			to[command] = map[string]int{}
		}
		maps.Copy(to[command], reached)
	}
}
