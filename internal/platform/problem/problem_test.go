package problem_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// limited is an error that describes itself.
type limited struct{}

func (limited) Error() string              { return "too many" }
func (limited) Describe() *problem.Problem { return wait }

var (
	missing = problem.New(api.CodeNotFound, "not found")
	full    = problem.New(api.CodeUnavailable, "no place").After(time.Second)
	taken   = problem.Local("taken", http.StatusConflict, "already taken")
	setting = problem.Setting("a wrong setting")
	wait    = &problem.Problem{Kind: problem.For(api.CodeRateLimited), RetryAfter: 1500 * time.Millisecond}
)

// TestOf checks what the user sees of an error, however it is wrapped.
func TestOf(t *testing.T) {
	broken := errors.New("broken")
	faults := api.Faults{}
	faults.Add("name", "required", "is required")
	for name, test := range map[string]struct {
		err    error
		name   string
		code   api.Code
		status int
		exit   int
		retry  string
	}{
		"a kind":                  {missing, "not_found", api.CodeNotFound, 404, 1, ""},
		"a wrapped kind":          {fmt.Errorf("read: %w", missing), "not_found", api.CodeNotFound, 404, 1, ""},
		"the first of two":        {fmt.Errorf("%w: %w", missing, full), "not_found", api.CodeNotFound, 404, 1, ""},
		"with a cause":            {missing.Because(full), "not_found", api.CodeNotFound, 404, 1, ""},
		"temporarily":             {problem.For(api.CodeUnavailable), "unavailable", api.CodeUnavailable, 503, 1, "5"},
		"soon":                    {errors.Join(broken, full), "unavailable", api.CodeUnavailable, 503, 1, "1"},
		"of pages alone":          {taken, "taken", api.CodeInternal, 409, 1, ""},
		"a setting":               {fmt.Errorf("start: %w", setting), "setting", api.CodeInternal, 500, 78, ""},
		"one that says it itself": {fmt.Errorf("log in: %w", limited{}), "rate_limited", api.CodeRateLimited, 429, 1, "2"},
		"broken rules": {problem.For(api.CodeValidationFailed).In(faults), "validation_failed", api.CodeValidationFailed,
			422, 1, ""},
		"a timeout":   {fmt.Errorf("ask: %w", context.DeadlineExceeded), "unavailable", api.CodeUnavailable, 503, 1, "5"},
		"a departure": {context.Canceled, "unavailable", api.CodeUnavailable, 503, 1, "5"},
		"any other":   {broken, "internal", api.CodeInternal, 500, 1, ""},
	} {
		p := problem.Of(test.err)
		header := http.Header{}
		p.SetHeader(header)
		if p.Name() != test.name || p.Code() != test.code || p.Status() != test.status || p.Exit() != test.exit ||
			header.Get("Retry-After") != test.retry {
			t.Errorf("%s: %s %s %d, exit status %d, retry %q", name, p.Name(), p.Code(), p.Status(), p.Exit(),
				header.Get("Retry-After"))
		}
		if !strings.Contains(p.Error(), test.err.Error()) || !errors.Is(p, p.Kind) {
			t.Errorf("%s: the log has %q", name, p)
		}
	}
	if err := problem.For(api.CodeValidationFailed).In(nil); err != nil {
		t.Errorf("no broken rule: %v", err)
	}
	if p := missing.Because(broken); !errors.Is(p, missing) || !errors.Is(p, broken) || errors.Is(p, full) {
		t.Errorf("%v is another kind", p)
	}
}

// TestDescriptionsAreNotShared checks that what is added to the description of one error is not in that of another.
func TestDescriptionsAreNotShared(t *testing.T) {
	shared := missing.With(map[string]any{"kept": true})
	first := problem.Of(fmt.Errorf("first: %w", shared))
	first.Details["more"] = true
	first.Allow = "GET"
	second := problem.Of(fmt.Errorf("second: %w", shared))
	if len(second.Details) != 1 || second.Allow != "" || len(shared.Details) != 1 {
		t.Errorf("the second has %v, %q", second.Details, second.Allow)
	}
}

// TestCodes checks that each code of the API has an error status, a name and a message.
func TestCodes(t *testing.T) {
	n := len(problem.Codes())
	for _, code := range problem.Codes() {
		kind := problem.For(code)
		if kind.Code() != code || kind.Name() != string(code) || kind.Status() < 400 || kind.Status() > 599 ||
			!strings.HasSuffix(kind.Error(), ".") {
			t.Errorf("%s: %s %d %q", code, kind.Name(), kind.Status(), kind)
		}
	}
	if n < 30 {
		t.Errorf("%d codes", n)
	}
}
