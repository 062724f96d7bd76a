package webhooks

import (
	"testing"
	"time"

	"golang.org/x/text/language"

	"quittance/test/consoletest"
)

// TestSubscriptionHealth checks that an active subscription is positive only if its newest deliveries arrived and its
// last attempt too, and negative if attempts fail for long although no delivery has failed yet.
func TestSubscriptionHealth(t *testing.T) {
	messages := consoletest.Words(t, language.English).Messages
	for _, c := range []struct {
		health        subscriptionHealth
		text, meaning string
	}{
		{subscriptionHealth{Active: true}, "No deliveries yet", "neutral"},
		{subscriptionHealth{Active: true, Pending: 1}, "Pending", "waiting"},
		{subscriptionHealth{Active: true, Delivered: 30}, "Delivering", "positive"},
		{subscriptionHealth{Active: true, Delivered: 29, Undelivered: 1}, "Some failed", "waiting"},
		{subscriptionHealth{Active: true, Undelivered: 29, Pending: 1}, "Failing", "negative"},
		{subscriptionHealth{Active: true, Retried: true, Pending: 30}, "Retrying", "waiting"},
		{subscriptionHealth{Active: true, Retried: true, Delivered: 29, Pending: 1}, "Retrying", "waiting"},
		{subscriptionHealth{Active: true, Retried: true, Failing: new(time.Time), Pending: 30}, "Failing", "negative"},
		{subscriptionHealth{Active: true, Retried: true, Failing: new(time.Time), Delivered: 29, Pending: 1}, "Failing",
			"negative"},
		{subscriptionHealth{Delivered: 30}, "Deactivated", "neutral"},
	} {
		if got, err := health(messages, c.health); err != nil || got.Text != c.text || got.Meaning != c.meaning {
			t.Errorf("%+v: %q with the meaning %s, %v", c.health, got.Text, got.Meaning, err)
		}
	}
}
