package remote

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// TestScenarioCheck gives each scenario the lines that it wants, with one missing: it has not happened then.
func TestScenarioCheck(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		check := func(wants []string) error {
			p := &player{env: Environment{Out: io.Discard}, scenario: s}
			for _, want := range wants {
				first, _, _ := strings.Cut(want, "|")
				what, rest, _ := strings.Cut(first, " ")
				if err := p.tell(what, "  %s (final)", rest); err != nil {
					t.Fatal(err)
				}
			}
			return p.check()
		}
		if err := check(s.wants); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		for n, want := range s.wants {
			if err := check(slices.Delete(slices.Clone(s.wants), n, n+1)); err == nil {
				t.Errorf("%s has happened without %q", s.name, want)
			}
		}
		if len(s.wants) == 0 && s.play == nil {
			t.Errorf("%s wants nothing", s.name)
		}
	}
}
