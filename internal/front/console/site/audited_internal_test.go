package site

import (
	"net/http"
	"strings"
	"testing"

	"quittance/test/audittest"
)

// TestPagesAreAudited checks that docs/audit.md says for every form and button which acts it leaves in the audit log,
// or why none.
func TestPagesAreAudited(t *testing.T) {
	t.Parallel()
	var changing []string
	for _, route := range routes() {
		if route.Method != http.MethodGet {
			changing = append(changing, route.Method+" "+route.Path)
		}
	}
	audittest.Read(t).WantDecisions(t, changing, func(operation string) bool {
		return strings.Contains(operation, " /") && !strings.Contains(operation, " /api/") &&
			!strings.HasPrefix(operation, http.MethodGet) && !strings.HasPrefix(operation, "operators ")
	})
}
