package db

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestWriteInside: a write that is begun inside another one would wait for itself: it is refused at once, and what it was begun in fails
// when it says so, and only then.
func TestWriteInside(t *testing.T) {
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
				t.Errorf("%s: the write inside ends with %v", name, err)
			}
		}
		if waited := time.Since(begun); waited >= WriteTimeout/2 {
			t.Errorf("it was waited for %s", waited)
		}
		if kept := g.kept(t); len(kept) != 0 {
			t.Errorf("kept %v", kept)
		}
	})
}
