package db

import (
	"context"
	"errors"
	"slices"
	"testing"

	"quittance/test/kit"
)

// TestBeforeCommit checks that the values of the writes in one commit reach [Options.BeforeCommit] in one call, without
// those of writes that failed, and that what it writes is committed with them.
func TestBeforeCommit(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		var calls [][]any
		g.options.BeforeCommit = func(ctx context.Context, t *Tx, values []any) error {
			calls = append(calls, values)
			_, err := t.Exec(ctx, `insert into numbers (n) values ($1) on conflict (n) do nothing`, 1000+len(values))
			return err
		}
		passed := func(ctx context.Context, t *Tx) error { t.AtCommit("single"); return nil }
		kit.Must(t, g.add(t.Context(), 100, passed))
		if len(calls) != 1 || !slices.Equal(calls[0], []any{"single"}) {
			t.Errorf("a write alone: %v", calls)
		}
		kit.Must(t, g.add(t.Context(), 101, nil))
		if len(calls) != 1 {
			t.Error("called without a value")
		}
		calls = nil
		ends := make([]error, 6)
		g.batch(6, func(n int) {
			ends[n] = g.add(t.Context(), n, func(_ context.Context, t *Tx) error {
				t.AtCommit(n)
				if n == 3 {
					return errors.New("wrong")
				}
				return nil
			})
		})
		if ends[3] == nil || errors.Join(slices.Delete(ends, 3, 4)...) != nil {
			t.Errorf("results %v", ends)
		}
		if g.group().savepoints && (len(calls) != 1 || !slices.Equal(calls[0], []any{0, 1, 2, 4, 5})) {
			t.Errorf("together: %v", calls)
		}
		if kept := g.kept(t); !slices.Contains(kept, 1001) || g.group().savepoints && !slices.Contains(kept, 1005) {
			t.Errorf("kept %v", kept)
		}
	})
}

// TestBeforeCommitFails checks that an error of [Options.BeforeCommit] for one of the writes in a commit fails that
// write only, and rolls it back.
func TestBeforeCommitFails(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		wrong := errors.New("wrong")
		g.options.BeforeCommit = func(_ context.Context, _ *Tx, values []any) error {
			if slices.Contains(values, any(2)) {
				return wrong
			}
			return nil
		}
		ends := make([]error, 5)
		g.batch(5, func(n int) {
			ends[n] = g.add(t.Context(), n, func(_ context.Context, t *Tx) error { t.AtCommit(n); return nil })
		})
		for n, err := range ends {
			if n == 2 && !errors.Is(err, wrong) || n != 2 && err != nil {
				t.Errorf("write %d: %v", n, err)
			}
		}
		if kept := g.kept(t); !slices.Equal(kept, []int{0, 1, 3, 4}) {
			t.Errorf("kept %v", kept)
		}
	})
}
