package integration_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// mails invites somebody and sets a forgotten password, both with links from e-mails, after errors. The secrets of the
// links belong in these e-mails and in the forms that the links lead to, and the first one in the output of the command
// that invites.
func (s *canaryStory) mails() {
	s.must("account", "user", "invite", s.account, "--email", "third@canary.example", "--role", "viewer", "--json")
	code := s.mailedLink("/join")
	invited := url.Values{"name": {marker}, "password": {s.canary("password of the third", " é ")}}
	s.submit(422, "/join/password", code, url.Values{"name": {marker}, "password": {"short"}})
	s.submit(422, "/join/password", code+"0", invited)
	s.submit(200, "/join/password", code, invited)

	s.submit(422, "/forgot/link", "", url.Values{"email": {s.password}})
	s.submit(200, "/forgot/link", "", url.Values{"email": {s.email}})
	code = s.mailedLink("/reset")
	next := s.canary("password after a reset", " é ")
	s.submit(422, "/reset/password", code, url.Values{"password": {"short"}})
	s.submit(422, "/reset/password", code+"0", url.Values{"password": {next}})
	s.submit(200, "/reset/password", code, url.Values{"password": {next}})
	s.submit(422, "/reset/password", code, url.Values{"password": {next}})
	s.password = next
	got := s.want(200, "POST", loginPath, jsonOf("email", s.email, "password", next), nil)
	s.token = s.field(got.body, "/data/token")
	s.add("third token", s.token)
}

// mailedLink waits for an e-mail with a link to a path, adds the secret of the link to the scan, and returns it.
func (s *canaryStory) mailedLink(path string) (code string) {
	s.t.Helper()
	link := regexp.MustCompile(`http://localhost` + path + `#([\w-]{40,})`)
	if err := s.server.await(func() error {
		for _, m := range s.relay.Messages() {
			if found := link.FindStringSubmatch(plainMail(m)); found != nil {
				code = found[1]
				return nil
			}
		}
		return fmt.Errorf("no link to %s has arrived", path)
	}); err != nil {
		s.t.Fatal(err)
	}
	s.add("secret of a link to "+path, code)
	s.links = append(s.links, code)
	return code
}

// submit submits a form of the console, with the secret of a link if code is not "", and follows the redirect of its
// response. A form that is shown again keeps the secret.
func (s *canaryStory) submit(status int, path, code string, fields url.Values) {
	s.t.Helper()
	if code != "" {
		fields.Set("code", code)
	}
	got := s.call("POST", path, fields.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	if got.status != status {
		s.t.Errorf("POST %s: status %d, want %d: %s", path, got.status, status, got.body)
	}
	text := string(got.body)
	if status == 422 && code != "" {
		text = strings.ReplaceAll(text, `name="code" value="`+code+`"`, "")
	}
	s.scan("page POST "+path, []byte(text))
}

// sentMails searches the e-mails. Each may have the secret of its own link, and no other.
func (s *canaryStory) sentMails() {
	for _, m := range s.relay.Messages() {
		text := plainMail(m)
		for _, code := range s.links {
			if strings.Contains(text, "#"+code) {
				text = strings.ReplaceAll(text, "#"+code, "")
				break
			}
		}
		s.scan("mail to "+m.To, []byte(text))
	}
}
