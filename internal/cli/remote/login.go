package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"quittance/client"
	"quittance/client/api"
	"quittance/internal/platform/secret"
)

type loginCmd struct {
	target
	URL   string `name:"url" required:"" placeholder:"URL" help:"Address of the server, such as https://quittance.example.com."`
	Email string `placeholder:"EMAIL" help:"E-mail address of a user; without it, an API key is read."`
	OTP   string `name:"otp" env:"-" placeholder:"CODE" help:"Code of the second factor, for a user who has one; on a terminal it is asked for."`
}

// Help is shown by --help.
func (loginCmd) Help() string {
	return `Reads an API key, or with --email the password of a user, from standard input, and from a terminal without showing it. An API key is
kept as it is. A password is not kept: the token that the server gives for it is, and it ends after some hours.

Example:
  quittance login --url http://127.0.0.1:8080 --email owner@example.com
  quittance login --url https://quittance.example.com --profile production < key.txt`
}

// loginPatience limits each call of a login.
const loginPatience = 30 * time.Second

// Validate rejects an address that no server can have.
func (c loginCmd) Validate() error {
	_, err := serverURL(c.URL)
	return errors.Join(c.target.Validate(), err)
}

// serverURL returns the address of a server as a profile keeps it: without the path of the API, which people copy from
// examples.
func serverURL(given string) (string, error) {
	address := strings.TrimSuffix(strings.TrimRight(given, "/"), "/api/v1")
	parsed, err := url.Parse(address)
	var rule string
	switch {
	case err != nil: // its text repeats the address, which may have a password
		rule = "it is not an address"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		rule = "it must begin with https:// or http://"
	case parsed.Hostname() == "":
		rule = "it must have a host"
	case !goodPort(parsed):
		rule = portRule + parsed.Port()
	case parsed.User != nil:
		rule = "it must not contain a user or a password"
	case strings.ContainsAny(address, "?#"):
		rule = "it must not have a query or a fragment, which begin with ? and #"
	default:
		return address, nil
	}
	return "", fmt.Errorf("--url: %s; an example is https://quittance.example.com", rule)
}

// Run logs in.
func (c loginCmd) Run(env Environment) error {
	keep, err := c.profiles()
	if err != nil {
		return err
	}
	p := Profile{Name: cmp.Or(c.Profile, defaultProfile), Email: c.Email}
	if p.URL, err = serverURL(c.URL); err != nil {
		return err
	}
	if unencrypted(p.URL) {
		env.say("Warning: %s is not encrypted, so that others in the network can read the credential.", p.URL)
	}
	what := "API key"
	if c.Email != "" {
		what = "password of " + c.Email
	}
	given, err := readSecret(env, what)
	if err != nil {
		return err
	}
	kept := "the API key"
	p.Credential = secret.New(given)
	if c.Email != "" {
		if kept, err = c.token(env, &p, given); err != nil {
			return err
		}
	}
	service, err := p.client()
	if err != nil {
		return err
	}
	account, err := service.Account(env.Context)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	p.AccountID, p.Company = account.ID, account.CompanyName
	before, failed := keep.Load(p.Name)
	if err := keep.Save(p); err != nil {
		return err
	}
	if failed == nil && before.ExpiresAt != nil {
		if err := before.revoke(env.Context); err != nil {
			env.say("The token that the profile %s had stays valid until %s: %v", p.Name,
				before.ExpiresAt.UTC().Format(time.RFC3339), err)
		}
	}
	_, err = fmt.Fprintf(env.Out, "Logged in to %s at %s. The profile %s keeps %s.\n", p.Company, p.URL, p.Name, kept)
	return err
}

// token exchanges a password for a token and returns what is kept.
func (c loginCmd) token(env Environment, p *Profile, password string) (string, error) {
	service, err := client.New(client.Config{BaseURL: p.URL, Email: c.Email, Password: password, UserAgent: userAgent,
		OTP: func(context.Context) (string, error) {
			if c.OTP != "" {
				return c.OTP, nil
			}
			if _, ok := terminal(env.In); !ok {
				return "", errors.New("the user has a second factor: specify --otp")
			}
			return readSecret(env, "code of the second factor")
		}})
	if err != nil {
		return "", err
	}
	login, err := service.Login(env.Context)
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	if login.PasswordChangeRequired {
		env.say("An administrator has set this password: change it in the console.")
	}
	p.Credential, p.ExpiresAt, p.Email = secret.New(login.Token), &login.ExpiresAt, login.User.Email
	return "a token that ends at " + login.ExpiresAt.UTC().Format(time.RFC3339) + ", not the password", nil
}

// unencrypted reports whether an address sends credentials over a network without TLS.
func unencrypted(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return parsed.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// terminal returns the descriptor of an input that is a terminal.
func terminal(in io.Reader) (int, bool) {
	file, ok := in.(*os.File)
	if !ok {
		return 0, false
	}
	fd := int(file.Fd())
	return fd, term.IsTerminal(fd)
}

// readSecret reads one line, from a terminal without showing it. what says what it is, in the middle of a sentence.
func readSecret(env Environment, what string) (string, error) {
	var text string
	if fd, ok := terminal(env.In); ok {
		fmt.Fprint(env.Err, strings.ToUpper(what[:1])+what[1:], ": ")
		read, err := term.ReadPassword(fd)
		env.say("")
		if err != nil {
			return "", fmt.Errorf("read the terminal: %w", err)
		}
		text = string(read)
	} else {
		line, err := bufio.NewReader(io.LimitReader(env.In, 4<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		text = strings.TrimRight(line, "\r\n")
	}
	if text == "" {
		return "", fmt.Errorf("standard input has no %s", what)
	}
	return text, nil
}

type logoutCmd struct {
	target
	Local bool `help:"Only remove the profile, for a server that does not answer any more or a profile that is damaged."`
}

// Help is shown by --help.
func (logoutCmd) Help() string {
	return `A token is revoked at the server. An API key stays valid: revoke it in the console, or with quittance account key revoke.

Example:
  quittance logout --profile production`
}

// Run logs out.
func (c logoutCmd) Run(env Environment) error {
	keep, err := c.profiles()
	if err != nil {
		return err
	}
	p, err := c.load()
	rest := "The API key stays valid until it is revoked."
	switch {
	case c.Local && err != nil && !errors.Is(err, errNoProfile):
		env.say("%v", err)
		rest = "If it had a token or an API key, this stays valid until it ends or is revoked."
	case err != nil:
		return err
	case p.ExpiresAt != nil:
		rest = "The token stays valid until " + p.ExpiresAt.UTC().Format(time.RFC3339) + "."
		if !c.Local {
			if err := p.revoke(env.Context); err != nil {
				return fmt.Errorf("end the session (with --local, only the profile is removed): %w", err)
			}
			rest = "The session has ended."
		}
	}
	if err := keep.Remove(p); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "Removed the profile %s. %s\n", p.Name, rest)
	return err
}

// revoke ends the session of a token. One that has already ended is no error.
func (p Profile) revoke(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/api/v1/client/auth/logout", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.Credential.Reveal())
	calls := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := calls.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusUnauthorized {
		err = fmt.Errorf("the server answers with status %d", response.StatusCode)
	}
	return errors.Join(err, response.Body.Close())
}

type whoamiCmd struct {
	target
	JSON bool `help:"Print the record as JSON."`
}

// Help is shown by --help.
func (whoamiCmd) Help() string {
	return "Example:\n  quittance whoami\n  quittance whoami --profile production --json"
}

// identity is what whoami shows.
type identity struct {
	Profile     string     `json:"profile"`
	Server      string     `json:"server"`
	Company     string     `json:"company"`
	AccountID   string     `json:"account_id"`
	Login       string     `json:"login"`
	User        *string    `json:"user"`
	Role        *api.Role  `json:"role"`
	Scopes      []string   `json:"scopes"`
	ExpiresAt   *time.Time `json:"expires_at"`
	Environment *string    `json:"provider_environment"`
	Format      *string    `json:"document_format"`
}

// Run shows who the commands are.
func (c whoamiCmd) Run(env Environment) error {
	p, service, err := c.connect()
	if err != nil {
		return err
	}
	account, err := service.Account(env.Context)
	if err != nil {
		return explained(err)
	}
	who := p.identity(account)
	if !c.JSON && len(who.Scopes) == 0 {
		who.Scopes = nil // shown as a hyphen
	}
	return show(env, who, c.JSON)
}

func (p Profile) identity(account api.Account) identity {
	who := identity{Profile: p.Name, Server: p.URL, Company: account.CompanyName, AccountID: account.ID, Login: "API key",
		ExpiresAt: p.ExpiresAt}
	if account.Caller.Kind == "user" {
		who.Login, who.User = "token", account.Caller.Email
	}
	who.Role, who.Scopes = account.Caller.Role, account.Caller.Scopes
	if account.Connection != nil {
		who.Environment, who.Format = &account.Connection.Environment, account.Connection.Profile
	}
	return who
}
