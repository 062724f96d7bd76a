package store

import (
	"quittance/api"
	"quittance/internal/invoice"
)

// Wire is the invoice as the API and the pages show it. profile is the seller's, for the advice that depends on it.
func (i Invoice) Wire(profile *api.Profile) api.Invoice {
	missing := invoice.Missing(&i.Draft)
	out := api.Invoice{ID: i.ID.String(), Draft: i.Draft, Complete: len(missing) == 0, Missing: missing,
		Warnings: invoice.Warnings(&i.Draft, profile), States: i.States().Wire(), CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}
	if i.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &i.Submission.AttemptedAt
		out.Submission = new(i.Submission.Wire())
	}
	return out
}

// Wire is the submission as the API shows it.
func (s Submission) Wire() api.Submission {
	return api.Submission{ID: s.ID.String(), Outcome: s.Outcome, AttemptedAt: s.AttemptedAt, ProviderReference: s.Reference,
		LastCheckedAt: s.LastCheckedAt, NextCheckAt: s.DueAt}
}

// Wire is the subscription as the API shows it, without its secret.
func (s Subscription) Wire() api.Subscription {
	kinds := make([]string, len(s.Events))
	for n, kind := range s.Events {
		kinds[n] = string(kind)
	}
	return api.Subscription{ID: s.ID.String(), URL: s.URL, Events: kinds, Description: s.Description, Active: s.Active,
		CreatedAt: s.CreatedAt, DeactivatedAt: s.DeactivatedAt, DeactivationReason: s.DeactivationReason}
}
