package service

import (
	"log/slog"
	"strings"
	"testing"

	"quittance/internal/account/sso"
	"quittance/internal/platform/secret"
)

// TestSignOnSettings checks that the settings of single sign-on go together, and that neither people nor calls reach
// the service or the provider over plain HTTP in production.
func TestSignOnSettings(t *testing.T) {
	t.Parallel()
	whole := sso.Config{Issuer: "https://login.example", ClientID: "quittance", ClientSecret: secret.New("secret")}
	for name, test := range map[string]struct {
		edit func(c *Config)
		want string
	}{
		"none":         {func(c *Config) { c.SignOn = sso.Config{}; c.PublicURL = "" }, ""},
		"whole":        {func(*Config) {}, ""},
		"no secret":    {func(c *Config) { c.SignOn.ClientSecret = secret.Text{} }, "go together"},
		"no client":    {func(c *Config) { c.SignOn.ClientID = "" }, "go together"},
		"no issuer":    {func(c *Config) { c.SignOn.Issuer = "" }, "go together"},
		"no address":   {func(c *Config) { c.PublicURL = "" }, "needs --public-url"},
		"plain":        {func(c *Config) { c.PublicURL = "http://quittance.example" }, "needs an https address"},
		"plain issuer": {func(c *Config) { c.SignOn.Issuer = "http://127.0.0.1:9" }, "--oidc-issuer: the address"},
		"sandbox": {func(c *Config) {
			c.Environment, c.PublicURL, c.SignOn.Issuer = Sandbox, "http://127.0.0.1", "http://127.0.0.1:9"
		}, ""},
	} {
		config := Config{Environment: Production, PublicURL: "https://quittance.example", SignOn: whole,
			Log: slog.New(slog.DiscardHandler)}
		test.edit(&config)
		err := config.checkSignOn()
		if err == nil {
			s := &Service{config: config}
			err = s.createSignOn()
			if err == nil && (s.signOn == nil) != (config.SignOn.Issuer == "") {
				t.Errorf("%s: the client is %v", name, s.signOn)
			}
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
