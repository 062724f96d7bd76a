package base

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// useInterval is the shortest time between two recorded uses of a session or an API key.
const useInterval = time.Minute

// uses collects the uses of credentials that are not recorded yet, at most one of each credential. It is safe for
// concurrent use.
type uses[K comparable, U any] struct {
	mu      sync.Mutex
	pending map[K]U
}

// useDue reports whether a use is to be noted: none was recorded during the last minute. recorded is zero if none ever
// was.
func useDue(recorded, now time.Time) bool { return now.Sub(recorded) >= useInterval }

// note notes a use unless one is waiting already.
func (u *uses[K, U]) note(key K, use U) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, waiting := u.pending[key]; waiting {
		return
	}
	if u.pending == nil {
		u.pending = map[K]U{}
	}
	u.pending[key] = use
}

// take returns the uses that wait, and forgets them.
func (u *uses[K, U]) take() map[K]U {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.pending
	u.pending = nil
	return taken
}

// apiKeyUse is a use of an API key: the account that has the key, the time in microseconds, and the address of the
// caller or "".
type apiKeyUse struct {
	account ID
	at      int64
	from    string
}

// RecordUses writes when the API keys and sessions were used last that [DB.AuthenticateAPIKey] and [DB.Authenticate]
// have accepted since. The server calls it about once a second, so that no request waits for a write. A use that cannot
// be written is lost, and the next one is noted again.
func (db *DB) RecordUses(ctx context.Context) error {
	keys, sessions := db.keyUses.take(), db.sessionUses.take()
	if len(keys) == 0 && len(sessions) == 0 {
		return nil
	}
	// All replicas lock the rows in the same order.
	ids := slices.SortedFunc(maps.Keys(keys), func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	digests := slices.SortedFunc(maps.Keys(sessions), func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	return db.Write(ctx, "record uses", func(ctx context.Context, t *Tx) error {
		for _, digest := range digests {
			if err := t.ExecDeferred(ctx, `update tokens set last_used_at = $2
				where digest = $1 and (last_used_at is null or last_used_at < $2)`, digest[:], sessions[digest]); err != nil {
				return err
			}
		}
		for _, id := range ids {
			use := keys[id]
			if err := t.ExecDeferred(ctx, `update api_keys set last_used_at = $3, last_used_from = $4
				where account_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3)`, use.account, id, use.at, use.from); err != nil {
				return err
			}
		}
		return nil
	})
}
