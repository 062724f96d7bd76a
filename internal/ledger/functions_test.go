package ledger_test

import (
	"go/ast"
	"go/token"
	"testing"

	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
)

// tenantFunctions returns the exported functions of the ledger that access data of a tenant, by name.
func tenantFunctions() map[string]any {
	return map[string]any{
		"events.CreateSubscription":          events.CreateSubscription,
		"events.DeactivateSubscription":      events.DeactivateSubscription,
		"events.EventEnd":                    events.EventEnd,
		"events.EventPage":                   events.EventPage,
		"events.Find":                        events.Find,
		"events.FindDelivery":                events.FindDelivery,
		"events.FindSubscription":            events.FindSubscription,
		"events.Redeliver":                   events.Redeliver,
		"identity.APIKeyCounts":              identity.APIKeyCounts,
		"identity.APIKeys":                   identity.APIKeys,
		"identity.AddPasskey":                identity.AddPasskey,
		"identity.BeginPasskey":              identity.BeginPasskey,
		"identity.BeginTOTP":                 identity.BeginTOTP,
		"identity.ChangeAddress":             identity.ChangeAddress,
		"identity.ChangeUser":                identity.ChangeUser,
		"identity.ConfirmTOTP":               identity.ConfirmTOTP,
		"identity.CreateAPIKey":              identity.CreateAPIKey,
		"identity.DisableSecondFactor":       identity.DisableSecondFactor,
		"identity.EndOtherSessions":          identity.EndOtherSessions,
		"identity.EndSession":                identity.EndSession,
		"identity.FindAPIKey":                identity.FindAPIKey,
		"identity.FindInvitation":            identity.FindInvitation,
		"identity.FindSessionRecord":         identity.FindSessionRecord,
		"identity.FindUser":                  identity.FindUser,
		"identity.Invitations":               identity.Invitations,
		"identity.Invite":                    identity.Invite,
		"identity.Logo":                      identity.Logo,
		"identity.PendingTOTP":               identity.PendingTOTP,
		"identity.ProveAddress":              identity.ProveAddress,
		"identity.ReadMailSettings":          identity.ReadMailSettings,
		"identity.ReadSecondFactorState":     identity.ReadSecondFactorState,
		"identity.RemovePasskey":             identity.RemovePasskey,
		"identity.RemoveUser":                identity.RemoveUser,
		"identity.RenamePasskey":             identity.RenamePasskey,
		"identity.ReplaceRecoveryCodes":      identity.ReplaceRecoveryCodes,
		"identity.RequestAddressProof":       identity.RequestAddressProof,
		"identity.ResetSecondFactor":         identity.ResetSecondFactor,
		"identity.RevokeAPIKey":              identity.RevokeAPIKey,
		"identity.RevokeInvitation":          identity.RevokeInvitation,
		"identity.SessionAge":                identity.SessionAge,
		"identity.SessionRecords":            identity.SessionRecords,
		"identity.SetLoginPolicy":            identity.SetLoginPolicy,
		"identity.SetMailSettings":           identity.SetMailSettings,
		"identity.Users":                     identity.Users,
		"identity.UsersWithSecondFactor":     identity.UsersWithSecondFactor,
		"incoming.Find":                      incoming.Find,
		"incoming.RevisionChunk":             incoming.RevisionChunk,
		"incoming.RevisionDocument":          incoming.RevisionDocument,
		"incoming.RevisionSize":              incoming.RevisionSize,
		"incoming.Seed":                      incoming.Seed,
		"invoices.BeginCreditNoteSubmission": invoices.BeginCreditNoteSubmission,
		"invoices.BeginSubmission":           invoices.BeginSubmission,
		"invoices.Create":                    invoices.Create,
		"invoices.CreateCreditNote":          invoices.CreateCreditNote,
		"invoices.CreditedInvoice":           invoices.CreditedInvoice,
		"invoices.Delete":                    invoices.Delete,
		"invoices.DraftText":                 invoices.DraftText,
		"invoices.EachDraft":                 invoices.EachDraft,
		"invoices.EvidenceBody":              invoices.EvidenceBody,
		"invoices.EvidenceChunk":             invoices.EvidenceChunk,
		"invoices.EvidenceSize":              invoices.EvidenceSize,
		"invoices.Find":                      invoices.Find,
		"invoices.FindCreditNote":            invoices.FindCreditNote,
		"invoices.FindIdempotentResponse":    invoices.FindIdempotentResponse,
		"invoices.FindSubmission":            invoices.FindSubmission,
		"invoices.FindUpload":                invoices.FindUpload,
		"invoices.FindWithin":                invoices.FindWithin,
		"invoices.Idempotent":                invoices.Idempotent,
		"invoices.Import":                    invoices.Import,
		"invoices.NumberHolder":              invoices.NumberHolder,
		"invoices.PendingDeliveries":         invoices.PendingDeliveries,
		"invoices.Quotas":                    invoices.Quotas,
		"invoices.ReadExtent":                invoices.ReadExtent,
		"invoices.ResolveSubmission":         invoices.ResolveSubmission,
		"invoices.StoreUpload":               invoices.StoreUpload,
		"invoices.SubmittedDocument":         invoices.SubmittedDocument,
		"invoices.Update":                    invoices.Update,
		"invoices.UpdateCreditNote":          invoices.UpdateCreditNote,
		"invoices.UsableConnection":          invoices.UsableConnection,
		"invoices.UsedNumbers":               invoices.UsedNumbers,
		"invoices.VoidCreditNote":            invoices.VoidCreditNote,
	}
}

// noData are the exported functions that take a tenant and access nothing of it, and why.
var noData = map[string]string{
	"incoming.SealIncoming": "seals what it is given",
	"invoices.Customers":    "names the book, whose methods are tried for themselves",
	"invoices.Items":        "as invoices.Customers",
	"invoices.SealAs":       "seals what it is given",
}

// TestTenantFunctionsAreComplete checks that tenantFunctions has every exported function that accesses data of a
// tenant, except those which run in a transaction of their caller.
func TestTenantFunctionsAreComplete(t *testing.T) {
	known := tenantFunctions()
	for _, file := range sources(t, token.NewFileSet()) {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !function.Name.IsExported() || function.Recv != nil || file.Name.Name == "base" ||
				!takes(function, "Tenant") || takes(function, "Tx", "Querier") {
				continue
			}
			name := file.Name.Name + "." + function.Name.Name
			if known[name] == nil && noData[name] == "" {
				t.Errorf("%s takes a tenant and is not among the functions of tenantFunctions", name)
			}
			delete(known, name)
		}
	}
	for name := range known {
		t.Errorf("%s is no function that takes a tenant", name)
	}
}
