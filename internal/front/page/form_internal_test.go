package page

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseFields checks that forms may have more fields than net/url accepts, and which are UTF-8.
func TestParseFields(t *testing.T) {
	t.Parallel()
	typed := url.Values{"empty": {""}, "a b": {"1&2=3", "+%é\r\n"}}
	for range 11_000 {
		typed.Add("many", "x")
	}
	got, err := parseFields(typed.Encode(), 18_000)
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(typed, got); d != "" {
		t.Errorf("parsed fields (-want +got):\n%s", d)
	}
	for _, wrong := range []string{"a=%zz", "%zz=a", strings.Repeat("a&", 18_000)} {
		if _, err := parseFields(wrong, 18_000); err == nil {
			t.Errorf("%.20q was accepted as a form", wrong)
		}
	}
	if IsUTF8(url.Values{"a": {"b", "\xff"}}) || IsUTF8(url.Values{"\xff": {"b"}}) || !IsUTF8(typed) {
		t.Error("IsUTF8 is wrong")
	}
}
