package remote

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/secret"
)

func kept(t *testing.T) (profiles, Profile) {
	t.Helper()
	dir := profiles(t.TempDir())
	p := Profile{Name: "p", URL: "http://127.0.0.1:1", Company: "C", AccountID: "A", ExpiresAt: new(time.Unix(1, 0).UTC()),
		Credential: secret.New("qk_sandbox_x"),
		Simulated: &Simulated{ProviderURL: "http://127.0.0.1:2", Credential: secret.New("provider"),
			ReceiverURL: "https://127.0.0.1:3/hooks"}}
	if err := dir.Save(p); err != nil {
		t.Fatal(err)
	}
	return dir, p
}

func TestProfileIsPrivate(t *testing.T) {
	dir, want := kept(t)
	path := filepath.Join(string(dir), "profiles", "p.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	got, err := dir.Load("p")
	if err != nil || !got.Credential.Equal(want.Credential) ||
		!got.Simulated.Credential.Equal(want.Simulated.Credential) || !got.ExpiresAt.Equal(*want.ExpiresAt) ||
		got.URL != want.URL {
		t.Errorf("%+v, %v", got, err)
	}
	if text := fmt.Sprintf("%+v %#v", got, got); strings.Contains(text, "qk_sandbox_x") {
		t.Errorf("the key is printed: %s", text)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := dir.Load("p"); err == nil || !strings.Contains(err.Error(), "others may read") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := dir.Save(want); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Load("p"); err != nil {
		t.Errorf("written again: %v", err)
	}
	if err := dir.Remove(want); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Load("p"); !errors.Is(err, errNoProfile) {
		t.Errorf("removed: %v", err)
	}
}

func TestProfileNames(t *testing.T) {
	dir, p := kept(t)
	for _, name := range []string{"", "..", "../p", "a/b", ".hidden", strings.Repeat("x", 65)} {
		p.Name = name
		if dir.Save(p) == nil || dir.Remove(p) == nil {
			t.Errorf("%q is accepted", name)
		}
		if _, err := dir.Load(name); err == nil {
			t.Errorf("%q is read", name)
		}
	}
}

func TestDamagedProfile(t *testing.T) {
	dir, _ := kept(t)
	for _, text := range []string{"", "{", "{}", `{"url":"http://x"}`, "[]", `{"url":1,"credential":"x"}`} {
		if err := os.WriteFile(filepath.Join(string(dir), "profiles", "p.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := dir.Load("p"); err == nil || !strings.HasSuffix(err.Error(),
			"p.json is damaged: quittance logout --local removes it, and quittance login writes another") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestChosenProfile checks which profile is used when none is named: that of a sandbox only if nobody has logged in
// elsewhere.
func TestChosenProfile(t *testing.T) {
	dir, p := kept(t)
	chosen := func() string {
		got, err := target{ConfigDir: string(dir)}.load()
		if errors.Is(err, errNoProfile) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return got.Name
	}
	for _, name := range []string{"", SandboxProfile, defaultProfile} {
		if p.Name = name; name != "" {
			if err := dir.Save(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := chosen(); got != name {
			t.Errorf("%q was chosen, want %q", got, name)
		}
	}
}

func TestScenariosAreRefusedInProduction(t *testing.T) {
	sandbox := api.Account{Connection: &api.Connection{Environment: "sandbox"}}
	key := func(text string) Profile { return Profile{Credential: secret.New(text)} }
	if err := checkSandbox(key("qk_sandbox_x"), sandbox); err != nil {
		t.Error(err)
	}
	for _, err := range []error{checkSandbox(key("qk_production_x"), sandbox), checkSandbox(key("token"), api.Account{}),
		checkSandbox(key("token"), api.Account{Connection: &api.Connection{Environment: "production"}})} {
		if err == nil {
			t.Error("accepted")
		}
	}
}

func TestScenarioNeedsItsSandbox(t *testing.T) {
	p := &player{env: Environment{Out: io.Discard, Err: io.Discard, Now: time.Now}, ctx: t.Context()}
	if err := errors.Join(p.supply("P-1", "sent")); !errors.Is(err, errNoSimulated) {
		t.Error(err)
	}
	if err := p.failingDelivery(); !errors.Is(err, errNoSimulated) {
		t.Error(err)
	}
}

func TestUnencrypted(t *testing.T) {
	for address, want := range map[string]bool{"http://127.0.0.1:1": false, "http://localhost": false,
		"http://[::1]": false, "https://a.example": false,
		"http://a.example": true, "http://192.0.2.1": true} {
		if unencrypted(address) != want {
			t.Errorf("%s: want %v", address, want)
		}
	}
}
