package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/store"
	"quittance/test/kit"
)

// TestAuthenticateTogether checks that each of many concurrent look-ups, some of the same token, gets its own result,
// that a cancelled look-up does not affect others, and that a revoked token is refused immediately.
func TestAuthenticateTogether(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		companies := []company{f.company}
		for n := range 3 {
			companies = append(companies, f.newCompany(t, fmt.Sprintf("owner-%d@example.com", n)))
		}
		token := func(n int) [32]byte { return digest(byte(100 + n)) }
		for n, c := range companies {
			_, err := f.CreateToken(ctx, c.user, store.NewToken{Digest: token(n), ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		ask := func(refused int) {
			race(48, func(i int) {
				n := i % (len(companies) + 2)
				call, hangUp := context.WithCancel(ctx)
				defer hangUp()
				if i%7 == 3 {
					hangUp()
				}
				session, err := f.Authenticate(call, token(n))
				switch {
				case i%7 == 3 && errors.Is(err, context.Canceled):
				case n >= len(companies) || n == refused:
					if !errors.Is(err, store.ErrNotFound) {
						t.Errorf("token %d: %+v, %v", n, session, err)
					}
				case err != nil || session.Tenant.Key() != companies[n].tenant.Key() || session.User != companies[n].user.ID ||
					session.Account.ID != companies[n].account.ID || session.Digest != token(n):
					t.Errorf("token %d: %+v, %v", n, session, err)
				}
			})
		}
		ask(-1)
		kit.Must(t, f.RevokeToken(ctx, token(1)))
		ask(1)
	})
}
