package view

import (
	"quittance/client/api"
	"quittance/internal/ledger/identity"
)

// SecondFactor presents the state of a second factor.
func SecondFactor(s identity.SecondFactorState) api.SecondFactor {
	enrolled := s.EnrolledAt()
	return api.SecondFactor{Enrolled: enrolled != nil, EnrolledAt: enrolled, RecoveryCodesLeft: s.RecoveryCodes}
}
