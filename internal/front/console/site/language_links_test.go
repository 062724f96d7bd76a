package site_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// languageForm returns the fields of the form of a page that offers the other language.
func languageForm(t testing.TB, page string) url.Values {
	t.Helper()
	fields := url.Values{}
	elements(parse(t, page), func(node *html.Node) {
		for above := node.Parent; above != nil; above = above.Parent {
			if attribute(above, "class") == "language" && attribute(node, "name") != "" {
				fields.Add(attribute(node, "name"), attribute(node, "value"))
			}
		}
	})
	return fields
}

// TestLanguageKeepsThePage checks that somebody who has followed the link of an invitation, or has sent a form of a
// login, stays on the page in the other language: the secret of the link is sent again, in no address.
func TestLanguageKeepsThePage(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner := s.loggedIn(t)
	link := invitationLink.FindStringSubmatch(
		owner.post("/users/invitations", "email", "colleague@example.com", "role", "viewer").body)
	if link == nil {
		t.Fatal("no invitation")
	}
	code := link[3]
	v := s.visitor(t)
	choose := func(page response) response {
		t.Helper()
		form := languageForm(t, page.body)
		got := v.do(http.MethodPost, "/language", form.Encode())
		switch at := got.header.Get("Location"); got.status {
		case http.StatusTemporaryRedirect: // which sends the form again
			return v.do(http.MethodPost, at, form.Encode())
		case http.StatusSeeOther:
			return v.get(at)
		}
		t.Fatalf("choose a language: %d %s", got.status, got.body)
		return got
	}
	want := func(what string, got response, path string) {
		t.Helper()
		if form := languageForm(t, got.body); attributeOfRoot(t, got.body, "lang") != "ar" || form.Get("page") != path {
			t.Errorf("%s: %d, the page %q in %q", what, got.status, form.Get("page"), attributeOfRoot(t, got.body, "lang"))
		}
	}
	for what, page := range map[string]response{
		"invitation":       v.post("/join", "code", code),
		"refused password": v.post("/join/password", "code", code, "name", "نورة", "password", "short"),
	} {
		got := choose(page)
		want(what, got, "/join")
		if fields := controls(t, got.body); fields.Get("code") != code || what == "refused password" &&
			fields.Get("name") != "نورة" {
			t.Errorf("%s: the page has lost its input: %v", what, fields)
		}
		v.post("/language", "language", "en", "page", "/login")
	}
	want("unusable invitation", choose(v.post("/join", "code", "wrong")), "/join")
	v.post("/language", "language", "en", "page", "/login")
	refused := v.post("/login", "email", s.email, "password", "wrong", "next", "/invoices")
	want("wrong password", choose(refused), "/login?next=%2Finvoices")
}

// attributeOfRoot returns an attribute of the element html of a page.
func attributeOfRoot(t testing.TB, page, name string) (value string) {
	t.Helper()
	elements(parse(t, page), func(node *html.Node) {
		if node.Data == "html" {
			value = attribute(node, name)
		}
	})
	return value
}
