package db

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestNestedWrite checks that a write within the closure of another write is refused at once, because it would wait for itself.
func TestNestedWrite(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx, cancel := context.WithTimeout(t.Context(), WriteTimeout/2)
		defer cancel()
		begun := time.Now()
		for name, write := range map[string]func(ctx context.Context) error{
			"alone": func(ctx context.Context) error {
				return g.Write(ctx, "inner", func(context.Context, *Tx) error { return nil })
			},
			"shared": func(ctx context.Context) error { return g.add(ctx, 7, func(context.Context, *Tx) error { return nil }) },
		} {
			if err := g.Write(ctx, "outer", func(ctx context.Context, _ *Tx) error { return write(ctx) }); !errors.Is(err, errNestedWrite) {
				t.Errorf("%s: the inner write returns %v", name, err)
			}
		}
		if waited := time.Since(begun); waited >= WriteTimeout/2 {
			t.Errorf("the refusal took %s", waited)
		}
		if kept := g.kept(t); len(kept) != 0 {
			t.Errorf("kept %v", kept)
		}
	})
}
