package operator

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/mail"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestWaitingMailsAreShown checks that the page of deliveries says how many e-mails wait because of what, in words for
// every reason.
func TestWaitingMailsAreShown(t *testing.T) {
	s := newSystem(t, ledgertest.SQLite)
	v := s.loggedIn(t)
	if got := v.get(deliveriesPath); strings.Contains(got.body, "h-mails") {
		t.Error("e-mails are shown, and none waits")
	}
	kit.Must(t, identity.RecordMailer(t.Context(), s.Store.DB, true))
	tenant, err := s.Tenant(t.Context(), s.account.ID)
	kit.Must(t, err)
	code, err := secret.NewInvitation(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	kit.Must(t, err)
	_, err = identity.Invite(t.Context(), tenant, nil, identity.NewInvitation{Email: "ann@palm.example",
		Role:   access.Viewer,
		Digest: secret.InvitationDigest(code), ExpiresAt: s.Clock.Now().Add(72 * time.Hour), Secret: code})
	kit.Must(t, err)
	for _, reason := range mail.Reasons() {
		if reason == "unwritable_message" {
			continue // no other attempt follows
		}
		scan, err := identity.DueMailQueues(t.Context(), s.Store.DB, base.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 1 {
			t.Fatalf("%d queues are due", len(scan.Queues))
		}
		leases, err := identity.ClaimMails(t.Context(), scan.Queues[0], 1, time.Minute)
		kit.Must(t, err)
		kit.Must(t, leases[0].Record(t.Context(), identity.MailResult{State: identity.MailPending, Reason: reason,
			DueAt: s.Clock.Now()}))
		got := v.get(deliveriesPath)
		if !strings.Contains(got.body, "h-mails") || strings.Contains(got.body, "op.mails.") ||
			strings.Contains(got.body, "ann@") {
			t.Errorf("%s: the page says\n%s", reason, got.body)
		}
	}
}

// TestFailingDestinationIsShown checks that operators find a webhook destination that does not answer, while its
// delivery is still retried: on the page of deliveries and in the list of accounts.
func TestFailingDestinationIsShown(t *testing.T) {
	s := newSystem(t, ledgertest.SQLite)
	v := s.loggedIn(t)
	tenant, err := s.Tenant(t.Context(), s.account.ID)
	kit.Must(t, err)
	_, err = events.CreateSubscription(t.Context(), tenant, events.NewSubscription{URL: "https://hooks.palm.example/<i>",
		Events: []api.EventKind{api.EventIncomingReceived}, Secret: secret.New("whsec_a-test")})
	kit.Must(t, err)
	kit.Must(t, incoming.Seed(t.Context(), tenant,
		[]incoming.NewIncoming{{ProviderDocumentID: "1", MediaType: "application/xml", Metadata: []byte(`{}`),
			Body: []byte("<Invoice/>"), Retained: true}}))
	scan, err := events.DueDeliveryQueues(t.Context(), s.Store.DB, base.ScanCursor{})
	kit.Must(t, err)
	leases, err := events.ClaimDeliveries(t.Context(), scan.Queues[0], 1, time.Minute)
	kit.Must(t, err)
	kit.Must(t, leases[0].RecordAttempt(t.Context(), events.Attempt{StartedAt: s.Clock.Now(), HTTPStatus: 503},
		events.DeliveryUpdate{State: events.DeliveryPending, DueAt: s.Clock.Now().Add(time.Hour)}))
	if got := v.get(deliveriesPath); strings.Contains(got.body, "hooks.palm.example") {
		t.Errorf("a single failed attempt is shown:\n%s", got.body)
	}
	s.Clock.Advance(events.FailingAfter)
	for path, want := range map[string]string{deliveriesPath: "https://hooks.palm.example/&lt;i&gt;",
		accountsPath: "Webhooks fail"} {
		if got := v.get(path); !strings.Contains(got.body, want) || path == deliveriesPath &&
			!strings.Contains(got.body, "Failing") {
			t.Errorf("%s does not say %q:\n%s", path, want, got.body)
		}
	}
}
