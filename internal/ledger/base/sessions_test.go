package base_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestAuthenticateTogether checks that each of many concurrent look-ups, some of the same token, gets its own result,
// that a cancelled look-up does not affect others, and that a revoked token is refused immediately.
func TestAuthenticateTogether(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		companies := []fixture.Company{f.Company}
		for n := range 3 {
			companies = append(companies, f.NewCompany(t, fmt.Sprintf("owner-%d@example.com", n)))
		}
		token := func(n int) [32]byte { return fixture.Digest(byte(100 + n)) }
		for n, c := range companies {
			_, err := identity.CreateToken(ctx, f.DB, c.User, identity.NewToken{Digest: token(n),
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		ask := func(refused int) {
			fixture.Race(48, func(i int) {
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
					if !errors.Is(err, base.ErrNotFound) {
						t.Errorf("token %d: %+v, %v", n, session, err)
					}
				case err != nil || session.Tenant.ID() != companies[n].Tenant.ID() || session.User != companies[n].User.ID ||
					session.Account.ID != companies[n].Account.ID || session.Digest != token(n):
					t.Errorf("token %d: %+v, %v", n, session, err)
				}
			})
		}
		ask(-1)
		kit.Must(t, identity.RevokeToken(ctx, f.DB, token(1)))
		ask(1)
	})
}
