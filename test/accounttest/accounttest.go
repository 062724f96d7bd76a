// Package accounttest has what the tests of other packages need of accounts.
package accounttest

import "quittance/internal/account"

// Cheap returns a cost of password hashes that takes microseconds, for users of tests that are not about passwords. A
// service accepts it only in a trial.
func Cheap() account.Cost { return account.Cost{Memory: 64, Passes: 1, Lanes: 1} }
