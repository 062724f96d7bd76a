package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// controls are the values of a page's form, as a browser would send them without a button.
func controls(t testing.TB, page string) url.Values {
	t.Helper()
	out := url.Values{}
	elements(parse(t, page), func(node *html.Node) {
		name := attribute(node, "name")
		switch {
		case name == "" || node.Data == "button" || node.Data == "meta":
		case node.Data == "textarea":
			out.Add(name, strings.ReplaceAll(textOf(node), "\n", "\r\n"))
		case attribute(node, "type") == "radio" || attribute(node, "type") == "checkbox":
			if has(node, "checked") {
				out.Add(name, attribute(node, "value"))
			}
		case node.Data == "input":
			out.Add(name, attribute(node, "value"))
		}
	})
	return out
}

// has tells whether an element has an attribute, whatever its value.
func has(node *html.Node, name string) bool {
	for _, a := range node.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func TestSmoke(t *testing.T) {
	s := start(t, first(), true, time.Millisecond)
	v := s.inside(t)
	got := v.get("/invoices/new")
	if got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	form := controls(t, got.body)
	t.Log(form)
	got = v.do(http.MethodPost, "/invoices/new", form.Encode())
	t.Log(got.status, got.body)
}
