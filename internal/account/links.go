package account

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"sync"

	"quittance/internal/platform/secret"
)

// LoginLinks are links that each log in one user, once. A sandbox on a developer's machine prints them, so that nobody
// has to copy a password. They live in the memory of one process. A LoginLinks is safe for concurrent use; nil has no
// links.
type LoginLinks struct {
	mu    sync.Mutex
	users map[[32]byte]linkedUser // by the digest of the link's secret
}

type linkedUser struct {
	email    string
	password secret.Text
}

// linkBytes is how much random a link has.
const linkBytes = 32

// Add makes a link and returns its secret, which is safe in a URL. It fails only if random does.
func (l *LoginLinks) Add(random io.Reader, email string, password secret.Text) (string, error) {
	var raw [linkBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("login link: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(raw[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == nil {
		l.users = map[[32]byte]linkedUser{}
	}
	l.users[sha256.Sum256([]byte(text))] = linkedUser{email, password}
	return text, nil
}

// Take returns the credentials of the link with the given secret, and removes the link. It returns false if there is
// none.
func (l *LoginLinks) Take(text string) (email string, password secret.Text, found bool) {
	if l == nil {
		return "", secret.Text{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	digest := sha256.Sum256([]byte(text))
	user, found := l.users[digest]
	delete(l.users, digest)
	return user.email, user.password, found
}
