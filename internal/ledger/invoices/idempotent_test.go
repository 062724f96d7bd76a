package invoices_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestIdempotencyKeys: an effect and its answer are one; a repeat gets the answer, another request is refused, a
// failure leaves no trace, and after its time a key is free again.
func TestIdempotencyKeys(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		first, replayed, err := fixture.Once(f, "k", 1, "A-1")
		if err != nil || replayed {
			t.Fatal(replayed, err)
		}
		again, replayed, err := fixture.Once(f, "k", 1, "A-1")
		if err != nil || !replayed {
			t.Errorf("the repeat: replayed %t, %v", replayed, err)
		}
		fixture.WantEqual(t, "the repeated response", again, invoices.IdempotentResponse{Status: 201, EntityTag: `"1"`,
			Body: first.Body})
		if _, _, err := fixture.Once(f, "k", 2, "A-2"); !errors.Is(err, invoices.ErrKeyReused) {
			t.Errorf("another request got %v", err)
		}
		wantDrafts(t, f, 1)

		broken := errors.New("refused")
		_, _, err = invoices.Idempotent(t.Context(), f.Tenant, "failed", [32]byte{3}, time.Hour,
			func(ctx context.Context, tenant *base.Tenant) (invoices.IdempotentResponse, error) {
				number := "A-3"
				if _, err := invoices.Create(ctx, tenant, &api.Draft{InvoiceNumber: &number, Items: []api.Item{}}); err != nil {
					return invoices.IdempotentResponse{}, err
				}
				return invoices.IdempotentResponse{}, broken
			})
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		wantDrafts(t, f, 1)
		if _, replayed, err := fixture.Once(f, "failed", 4, "A-4"); err != nil || replayed {
			t.Errorf("the key of a failure is not free: %v, %v", replayed, err)
		}

		f.Clock.Advance(24*time.Hour + time.Second)
		if _, replayed, err := fixture.Once(f, "k", 9, "A-5"); err != nil || replayed {
			t.Errorf("an expired key is not free: %v, %v", replayed, err)
		}
		wantDrafts(t, f, 3)
	})
}

// TestLargeResponses: a large answer is kept in much less than its length, and given again to the byte; so is a small
// one, as it is.
func TestLargeResponses(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		for name, body := range map[string]string{"small": `{"data":1}`,
			"large":         `{"data":"` + strings.Repeat("Consulting by the hour, ", 30_000) + `"}`,
			"another large": `{"data":"` + strings.Repeat("Consulting by the day, ", 20_000) + `"}`, "empty": ""} {
			call := func() (invoices.IdempotentResponse, bool, error) {
				return invoices.Idempotent(t.Context(), f.Tenant, name, [32]byte{1}, time.Hour,
					func(context.Context, *base.Tenant) (invoices.IdempotentResponse, error) {
						return invoices.IdempotentResponse{Status: 201, Body: []byte(body)}, nil
					})
			}
			_, _, err := call()
			kit.Must(t, err)
			again, replayed, err := call()
			kit.Must(t, err)
			if !replayed || string(again.Body) != body {
				t.Errorf("%s: the repeat got %.100s", name, again.Body)
			}
			reply, err := invoices.FindIdempotentResponse(t.Context(), f.Tenant, name, [32]byte{1})
			kit.Must(t, err)
			if reply == nil || string(reply.Body) != body {
				t.Errorf("%s: without acting it is %v", name, reply)
			}
			kept := f.Number(t, `select octet_length(body) from idempotency where tenant_id = $1 and key = $2`, f.Tenant.ID(),
				name)
			if most := int64(max(len(body)/10, min(len(body), 4<<10))); kept > most {
				t.Errorf("%s: %d bytes are kept of %d", name, kept, len(body))
			}
		}
	})
}

// TestIdempotencyRace: of many at the same time one acts and the others get its answer.
func TestIdempotencyRace(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const racers = 20
		responses, acted := make([]string, racers), make([]bool, racers)
		var running sync.WaitGroup
		for n := range racers {
			running.Go(func() {
				reply, replayed, err := fixture.Once(f, "race", 1, "R-1")
				fixture.Must2(t, err)
				responses[n], acted[n] = string(reply.Body), !replayed
			})
		}
		running.Wait()
		actors := 0
		for n := range racers {
			if acted[n] {
				actors++
			}
			if responses[n] != responses[0] {
				t.Errorf("answers differ: %s and %s", responses[n], responses[0])
			}
		}
		if actors != 1 {
			t.Errorf("%d acted", actors)
		}
		wantDrafts(t, f, 1)
	})
}

func wantDrafts(t *testing.T, f *fixture.Fixture, want int) {
	t.Helper()
	page, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 100)
	kit.Must(t, err)
	if page.Total != want || len(page.Entries) != want {
		t.Errorf("%d drafts, %d listed; want %d", page.Total, len(page.Entries), want)
	}
}
