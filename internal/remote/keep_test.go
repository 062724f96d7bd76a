package remote

import (
	"errors"
	"testing"

	"quittance/internal/secret"
)

// TestKeepSandbox checks that a sandbox that ends removes its own profile and no other.
func TestKeepSandbox(t *testing.T) {
	dir := t.TempDir()
	remove := map[string]func() error{}
	for _, name := range []string{"first", "second"} {
		undo, err := KeepSandbox(dir, Profile{URL: "http://127.0.0.1:1", Credential: secret.New(name)})
		if err != nil {
			t.Fatal(err)
		}
		remove[name] = undo
	}
	for _, name := range []string{"first", "second", "second"} {
		if err := remove[name](); err != nil {
			t.Fatal(err)
		}
		p, err := profiles(dir).Load(SandboxProfile)
		if gone := errors.Is(err, errNoProfile); gone != (name == "second") {
			t.Errorf("after the end of the %s sandbox: %v, %v", name, p.Name, err)
		}
	}
}
