package db

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestFailedStatement checks that a write whose closure ignores the error of a statement fails and leaves nothing
// behind, alone and in one commit with others, which succeed.
func TestFailedStatement(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ignoreFailure := func(ctx context.Context, tx *Tx) error {
			if _, err := tx.Exec(ctx, "insert into numbers (n) values ($1)", 1); err == nil {
				return errors.New("a number was inserted twice")
			}
			var n int
			_ = tx.QueryRowContext(ctx, "select count(*) from numbers").Scan(&n)
			return nil
		}
		if err := g.Write(t.Context(), "numbers", func(ctx context.Context, tx *Tx) error {
			if _, err := tx.Exec(ctx, "insert into numbers (n) values ($1), ($2)", 1, 2); err != nil {
				return err
			}
			return ignoreFailure(ctx, tx)
		}); !errors.Is(err, errStatementFailed) || g.ViolatedConstraint(err) != g.repeats() {
			t.Errorf("alone it ends with %v", err)
		}
		if kept := g.kept(t); len(kept) != 0 {
			t.Errorf("kept %v", kept)
		}
		ends := make([]error, 4)
		g.batch(4, func(n int) {
			ends[n] = g.add(t.Context(), n, func(ctx context.Context, tx *Tx) error {
				if n != 3 {
					return nil
				}
				if _, err := tx.Exec(ctx, "insert into numbers (n) values ($1)", 10); err != nil {
					return err
				}
				return ignoreFailure(ctx, tx)
			})
		})
		for n, err := range ends {
			if (n == 3) != errors.Is(err, errStatementFailed) || n != 3 && err != nil {
				t.Errorf("write %d ends with %v", n, err)
			}
		}
		if got := g.kept(t); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("kept %v", got)
		}
	})
}
