package view

import (
	"quittance/client/api"
	"quittance/internal/store"
)

// SecondFactor presents the state of a second factor.
func SecondFactor(s store.SecondFactorState) api.SecondFactor {
	return api.SecondFactor{Enrolled: s.EnrolledAt != nil, EnrolledAt: s.EnrolledAt, RecoveryCodesLeft: s.RecoveryCodes}
}
