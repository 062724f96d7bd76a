package server

import (
	"sync"

	"quittance/internal/ledger/base"
)

// cachedCredentials is the size of each of the two generations of the cache.
const cachedCredentials = 1 << 15

// credentialCache remembers which credentials were accepted here and their companies, so that the next requests with
// them do not compete with anonymous ones. It authenticates nothing: the credential of each request is looked up in the
// database. It is safe for concurrent use.
type credentialCache struct {
	mu sync.Mutex
	// current holds the credentials seen since the last rotation, previous those of the generation before.
	current, previous map[[32]byte]base.ID
}

func newCredentialCache() *credentialCache {
	return &credentialCache{current: map[[32]byte]base.ID{}}
}

// company returns the company of a credential that was accepted recently.
func (c *credentialCache) company(digest [32]byte) (base.ID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if company, ok := c.current[digest]; ok {
		return company, true
	}
	company, ok := c.previous[digest]
	return company, ok
}

func (c *credentialCache) add(digest [32]byte, company base.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.current[digest]; !ok && len(c.current) >= cachedCredentials {
		c.previous, c.current = c.current, map[[32]byte]base.ID{}
	}
	c.current[digest] = company
}

func (c *credentialCache) remove(digest [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.current, digest)
	delete(c.previous, digest)
}
