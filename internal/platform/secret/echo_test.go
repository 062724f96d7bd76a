package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"quittance/internal/platform/secret"
)

// TestEcho checks that a secret is found in every form in which a provider may repeat it, and that other text is not.
// The tests of package provider check the forms one by one over HTTP.
func TestEcho(t *testing.T) {
	t.Parallel()
	echo := secret.NewEcho(secret.New(canary))
	for name, text := range map[string]string{
		"verbatim": canary, "upper case": strings.ToUpper(canary), "hex": hex.EncodeToString([]byte(canary)),
		"base64":    base64.StdEncoding.EncodeToString([]byte("x" + canary)),
		"base64url": base64.RawURLEncoding.EncodeToString([]byte("xy" + canary)),
		"URL":       url.QueryEscape(canary), "JSON": strings.ReplaceAll(canary, "/", `\/`),
		"HTML": strings.ReplaceAll(canary, "+", "&#43;"),
	} {
		if !echo([]byte("before "+text+" after"), false) {
			t.Errorf("%s is not seen in %q", name, text)
		}
	}
	for text, truncated := range map[string]bool{"": true, "canary": false, canary[:len(canary)-1]: false,
		"a harmless text": true, canary[:7]: true} {
		if echo([]byte(text), truncated) {
			t.Errorf("the secret is found in %q (truncated: %v)", text, truncated)
		}
	}
	if !echo([]byte("it is "+canary[:8]), true) {
		t.Error("the beginning of the secret at the end of a truncated text is not found")
	}
	if secret.NewEcho(secret.Text{})([]byte("anything"), true) {
		t.Error("the empty secret is found")
	}
}
