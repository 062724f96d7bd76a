package server

import (
	"sync"

	"quittance/internal/store"
)

// cachedCredentials is how many credentials are remembered, twice over.
const cachedCredentials = 1 << 15

// credentialCache remembers which credentials were accepted here and whose they are, so that their next requests do not
// stand among those of strangers. It accepts nothing: each request is still asked about in the database. It is safe for
// concurrent use.
type credentialCache struct {
	mu sync.Mutex
	// recent are those seen since it was last full, before the others of the time before.
	recent, before map[[32]byte]store.ID
}

func newCredentialCache() *credentialCache {
	return &credentialCache{recent: map[[32]byte]store.ID{}}
}

// company is whose a credential is, if it was accepted lately.
func (c *credentialCache) company(digest [32]byte) (store.ID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if company, ok := c.recent[digest]; ok {
		return company, true
	}
	company, ok := c.before[digest]
	return company, ok
}

func (c *credentialCache) add(digest [32]byte, company store.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.recent[digest]; !ok && len(c.recent) >= cachedCredentials {
		c.before, c.recent = c.recent, map[[32]byte]store.ID{}
	}
	c.recent[digest] = company
}

func (c *credentialCache) remove(digest [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.recent, digest)
	delete(c.before, digest)
}
