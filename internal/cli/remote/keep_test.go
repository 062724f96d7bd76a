package remote

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"quittance/client/api"
	"quittance/internal/platform/secret"
)

// TestKeepSandbox starts and ends sandboxes in different orders. One that ends for good removes its own profile and no
// other, and puts back that of the last one before it that still answers.
func TestKeepSandbox(t *testing.T) {
	for _, c := range []struct {
		name, ends string
		// answer are the sandboxes that still answer.
		answer, want string
	}{
		{"the first ends", "a", "bc", "c"},
		{"one in between ends", "b", "ac", "c"},
		{"the last ends", "c", "ab", "b"},
		{"the last two end", "bc", "a", "a"},
		{"the last two end the other way round", "cb", "a", "a"},
		{"all end", "abc", "", ""},
		{"the one before was killed", "c", "a", "a"},
		{"the others were killed", "c", "", ""},
		{"it ends twice", "cc", "ab", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			remove := map[string]func() error{}
			servers := map[string]*httptest.Server{}
			for _, name := range []string{"a", "b", "c"} {
				servers[name] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_ = json.NewEncoder(w).Encode(api.Data[api.Account]{Data: api.Account{ID: name}})
				}))
				defer servers[name].Close()
				p := Profile{URL: servers[name].URL, AccountID: name, Credential: secret.New(name),
					Simulated: &Simulated{Credential: secret.New("provider of " + name)}}
				undo, err := KeepSandbox(dir, p)
				if err != nil {
					t.Fatal(err)
				}
				remove[name] = undo
			}
			alive := func(name string) bool {
				for _, letter := range c.answer {
					if string(letter) == name {
						return true
					}
				}
				return false
			}
			for name, server := range servers {
				if !alive(name) {
					server.Close()
				}
			}
			for _, letter := range c.ends {
				if err := remove[string(letter)](); err != nil {
					t.Fatal(err)
				}
			}
			p, err := profiles(dir).Load(SandboxProfile)
			if p.AccountID != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("the profile is that of %q, %v, want %q", p.AccountID, err, c.want)
			}
			if err == nil && (p.Credential.Reveal() != c.want || p.Simulated.Credential.Reveal() != "provider of "+c.want) {
				t.Errorf("the profile of %s has another credential", c.want)
			}
		})
	}
}
