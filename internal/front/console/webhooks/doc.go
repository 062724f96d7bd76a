// Package webhooks has the pages of subscriptions and of the deliveries to them.
//
// Its invariant: what a destination answered is shown as it is, and never as markup. Start reading at [Subject].
package webhooks
