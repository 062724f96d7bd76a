package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"quittance/test/kit"
)

var provePattern = regexp.MustCompile(`http://localhost/prove#([\w-]+)`)

// lastProof returns the secret of the last link that proves an address, or "".
func (b *mailbox) lastProof(to string) (code string) {
	for _, m := range b.relay.Messages() {
		if found := provePattern.FindStringSubmatch(plainMail(m)); found != nil && m.To == to {
			code = found[1]
		}
	}
	return code
}

// move changes the address of a colleague, who proves it with the second link, and removes the colleague. If a response
// was lost, the change was made already, another link may have replaced the last, and the colleague may be gone.
func (b *mailbox) move(t *testing.T, colleague *customer) {
	t.Helper()
	colleague.email = "moved@palm.example"
	colleague.do(t, http.MethodPost, atAuth+"address",
		"", fmt.Sprintf(`{"email":%q,"current_password":%q}`, colleague.email, colleague.password), http.StatusOK)
	kit.Eventually(t, func() error {
		b.running(t)
		if b.lastProof(colleague.email) == "" {
			return errors.New("no link to the new address has arrived")
		}
		return nil
	})
	tried := b.lastProof(colleague.email)
	colleague.do(t, http.MethodPost, atAuth+"address/proof", "", "", http.StatusOK)
	kit.Eventually(t, func() error {
		b.running(t)
		last := b.lastProof(colleague.email)
		if last == tried {
			return errors.New("no new link has arrived")
		}
		tried = last
		got := colleague.call(t, http.MethodPost, atAuth+"address/confirm", colleague.token,
			"", fmt.Sprintf(`{"code":%q}`, last))
		if got.status != http.StatusOK && !b.proved(t, colleague.email) {
			b.wantFired(t, got)
			return fmt.Errorf("the last link: status %d", got.status)
		}
		return nil
	})
	if !b.proved(t, colleague.email) {
		t.Error("the address is not proved")
	}
	if got := b.do(t, http.MethodDelete, atUsers+"/"+b.userID(t, colleague.email), "", "", http.StatusOK,
		http.StatusNotFound); got.status != http.StatusOK {
		b.wantFired(t, got)
	}
	if n := len(b.users(t)); n != 1 {
		t.Errorf("the company has %d users after the removal", n)
	}
}

// proved reports whether a user of the company has proved the address.
func (b *mailbox) proved(t *testing.T, email string) bool {
	t.Helper()
	for _, user := range b.users(t) {
		if user.Email == email {
			return user.EmailProved
		}
	}
	return false
}
