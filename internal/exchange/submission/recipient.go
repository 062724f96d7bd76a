package submission

import (
	"context"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
)

// callRecipient names the look-up of a recipient in logs and metrics.
const callRecipient = "recipient"

// LookUpRecipient asks the provider of the company's active connection whether a recipient can receive documents. The
// answer is advice: nothing is stored, and nothing depends on it, so that the call is no checkpoint. Found is nil if
// the provider has no look-up, cannot say, or does not respond as it should in time. LookUpRecipient returns
// [invoices.ErrConnectionRequired], [invoices.ErrNotApproved] or [ErrBusy].
func (s *Service) LookUpRecipient(ctx context.Context, tenant *base.Tenant, scheme,
	id string) (api.RecipientLookup, error) {
	connection, err := invoices.UsableConnection(ctx, tenant, s.Environment, s.Release)
	if err != nil {
		return api.RecipientLookup{}, err
	}
	lookup := api.RecipientLookup{Profiles: []string{}}
	if kind, ok := adapters.Describe(connection.Kind); ok && kind.Recipients {
		release, err := s.limiter.acquire(ctx, tenant.Account(), acquireTimeout)
		if err != nil {
			return api.RecipientLookup{}, err
		}
		defer release()
		if adapter, _ := s.prepareCall(ctx, tenant, connection, callRecipient); adapter != nil {
			ctx, span := s.Tracer.ProviderCall(ctx, connection.Kind, callRecipient)
			recipient, response := adapter.Recipient(ctx, provider.Participant{Scheme: scheme, ID: id})
			span.EndProviderCall(response.Kind.String(), response.HTTPStatus, string(response.ErrorClass))
			s.Observe(callRecipient, response.Kind.String(), response.Duration)
			s.Log.InfoContext(ctx, "provider call", "call", callRecipient, "account", tenant.Account(),
				"connection", connection.ID, "request_id", base.ActorOf(ctx).RequestID, "kind", response.Kind.String(),
				"status", response.HTTPStatus, "class", string(response.ErrorClass),
				"duration_ms", response.Duration.Milliseconds())
			lookup.Found, lookup.Profiles = recipient.Found, append(lookup.Profiles, recipient.Profiles...)
		}
	}
	lookup.LookedUpAt = s.db.Now()
	return lookup, nil
}
