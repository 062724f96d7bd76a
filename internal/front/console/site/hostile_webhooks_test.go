package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/test/kit"
)

// TestHostileWebhooks checks that the pages have the same elements and attributes as with plain text, and show the text
// unchanged, whatever a subscription's description, a receiver's response or a purchase document contains.
func TestHostileWebhooks(t *testing.T) {
	t.Parallel()
	l, reach := listen(t, http.StatusBadRequest, "")
	s := start(t, first(), true, time.Millisecond, reach)
	v := s.loggedIn(t)
	want := map[string]string{}
	for _, text := range append([]string{"early", "plain"}, hostile...) {
		got := s.webhookShapes(t, v, l, text)
		if text == "early" || text == "plain" { // the second: from then on the lists have several pages
			want = got
			continue
		}
		for page, shape := range got {
			if shape != want[page] {
				t.Errorf("%q changes %s: %s", text, page, difference(shape, want[page]))
			}
		}
	}
}

// webhookShapes stores a text in all places and returns the shape of every page that shows it.
func (s *system) webhookShapes(t *testing.T, v *visitor, l *listener, text string) map[string]string {
	t.Helper()
	l.become(http.StatusBadRequest, text, nil)
	id := s.subscription(t, l.url, text, api.EventIncomingReceived)
	for _, body := range []string{"1", "2"} {
		s.purchase(t, text, func(d *incoming.NewIncoming) {
			d.DocumentType, d.InvoiceNumber, d.SupplierName, d.SupplierNetworkID, d.MediaType, d.Body = &text, &text, &text,
				&text, text, []byte(text+body)
			if body == "2" { // the fields that are shown as changed
				d.SupplierName, d.Currency = new(text+"2"), new("USD")
			}
		})
	}
	delivery := s.ended(t, id)[0].ID.String()
	incoming, err := view.Of(s.tenant(t)).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 1)
	kit.Must(t, err)
	out := map[string]string{}
	for page, path := range map[string]string{"the subscriptions": "/webhooks?per=1", "a subscription": "/webhooks/" + id,
		"what is lost": "/webhooks/lost?per=1", "a delivery": "/webhooks/deliveries/" + delivery,
		"the incoming": "/incoming?per=1", "an incoming": "/incoming/" + incoming.Entries[0].ID.String()} {
		got := v.get(path)
		if got.status != http.StatusOK {
			t.Errorf("%q: %s: %d", text, page, got.status)
		}
		root := parse(t, got.body)
		out[page] = shape(root)
		if !strings.Contains(textOf(root), text) {
			t.Errorf("%q is not shown on %s", text, page)
		}
	}
	// The forms contain their input.
	searched := parse(t, v.get("/incoming?q="+url.QueryEscape(text+" in none")).body)
	out["the search"] = shape(searched)
	refused := parse(t, v.post("/webhooks/new", "url", "https://localhost/"+text, "description", text, "events",
		"einvoice.terminal").body)
	out["the form"] = shape(refused)
	held := map[string]string{}
	for _, root := range []*html.Node{searched, refused} {
		elements(root, func(node *html.Node) {
			held[attribute(node, "id")] = attribute(node, "value") + textOf(node)
		})
	}
	for field, want := range map[string]string{"q": strings.TrimSpace(text + " in none"),
		"url": "https://localhost/" + text, "description": text} {
		if held[field] != want {
			t.Errorf("%q: %s contains %q", text, field, held[field])
		}
	}
	sid, err := base.ParseID(id)
	kit.Must(t, err)
	_, err = events.DeactivateSubscription(t.Context(), s.tenant(t), sid) // at most twenty may be active
	kit.Must(t, err)
	return out
}
