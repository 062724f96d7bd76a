package invoice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReadRemarks: the provider's messages for people are read verbatim, within limits. A part with another form is
// ignored and does not affect the others.
func TestReadRemarks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ي", maxRemark+5)
	for body, want := range map[string][]Remark{
		`{"messages":[{"code":"BR-CO-15","text":"the total\nis <b>wrong</b>"},{"text":"again"}]}`: {{"BR-CO-15",
			"the total is <b>wrong</b>"}, {"", "again"}},
		`{"messages":[{"code":7,"text":["x"]},{"code":"A","text":null},"words",{"code":"B"}]}`: {{"A", ""}, {"B", ""}},
		`{"messages":{"code":"A"},"discovery":{"result":"not_found"}}`: {{"discovery",
			"not_found"}},
		`{"error":{"code":"unknown_reference","message":"never seen"}}`: {{"unknown_reference",
			"never seen"}},
		`{"messages":[{"text":"` + long + `"}]}`: {{"",
			long[:2*(maxRemark-1)] + "…"}},
		`{"messages":[` + strings.Repeat(`{"code":"A"},`, 500) +
			`{"code":"A"}]}`: slices.Repeat([]Remark{{"A", ""}}, maxRemarks),
		`{"messages":[{"code":"A"}],"messages":[]}`:       nil,
		`{"messages":[{"code":"A"`:                        nil,
		`<html>no JSON</html>`:                            nil,
		`{"error":"words","discovery":3,"messages":null}`: nil,
		`"words"`: nil,
		``:        nil,
	} {
		wantEqual(t, fmt.Sprintf("%.80s", body), ReadRemarks([]byte(body)), want)
	}
}
