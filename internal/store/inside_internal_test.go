package store

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
		ctx, cancel := context.WithTimeout(t.Context(), writeTimeout/2)
		defer cancel()
		begun := time.Now()
		for name, write := range map[string]func(ctx context.Context) error{
			"alone": func(ctx context.Context) error {
				return g.write(ctx, "inner", func(context.Context, *tx) error { return nil })
			},
			"shared": func(ctx context.Context) error { return g.add(ctx, 7, func(context.Context, *tx) error { return nil }) },
		} {
			if err := g.write(ctx, "outer", func(ctx context.Context, _ *tx) error { return write(ctx) }); !errors.Is(err, errNestedWrite) {
				t.Errorf("%s: the write inside ends with %v", name, err)
			}
		}
		if waited := time.Since(begun); waited >= writeTimeout/2 {
			t.Errorf("it was waited for %s", waited)
		}
		if kept := g.kept(t); len(kept) != 0 {
			t.Errorf("kept %v", kept)
		}
	})
}
