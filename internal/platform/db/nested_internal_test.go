package db

import (
	"context"
	"errors"
	"testing"
)

// TestNestedWrite checks that a write within the closure of another write is refused, because it would wait for itself:
// until its time-out, with another error.
func TestNestedWrite(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx := t.Context()
		for name, write := range map[string]func(ctx context.Context) error{
			"alone": func(ctx context.Context) error {
				return g.Write(ctx, "inner", func(context.Context, *Tx) error { return nil })
			},
			"shared": func(ctx context.Context) error { return g.add(ctx, 7, func(context.Context, *Tx) error { return nil }) },
		} {
			if err := g.Write(ctx, "outer", func(ctx context.Context, _ *Tx) error { return write(ctx) }); !errors.Is(err,
				errNestedWrite) {
				t.Errorf("%s: the inner write returns %v", name, err)
			}
		}
		if kept := g.kept(t); len(kept) != 0 {
			t.Errorf("kept %v", kept)
		}
	})
}
