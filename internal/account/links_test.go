package account_test

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"testing"

	"quittance/internal/account"
	"quittance/internal/platform/secret"
)

// TestLoginLinks checks that a link works for one caller only, however many use it at the same time, and that no other
// text works.
func TestLoginLinks(t *testing.T) {
	links := &account.LoginLinks{}
	one, err := links.Add(rand.Reader, "a@example.com", secret.New("first"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := links.Add(rand.Reader, "b@example.com", secret.New("second"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", one[1:], one + "A", "a@example.com"} {
		if _, _, found := links.Take(text); found {
			t.Errorf("%q logs in", text)
		}
	}
	var taken atomic.Int32
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			if email, password, found := links.Take(one); found {
				taken.Add(1)
				if email != "a@example.com" || password.Reveal() != "first" {
					t.Errorf("the link is one of %s", email)
				}
			}
		})
	}
	running.Wait()
	if taken.Load() != 1 {
		t.Errorf("the link worked %d times", taken.Load())
	}
	if email, _, found := links.Take(other); !found || email != "b@example.com" {
		t.Error("the other link does not work")
	}
	var none *account.LoginLinks
	if _, _, found := none.Take(other); found {
		t.Error("a server without links has one")
	}
}
