package service

import "quittance/internal/platform/problem"

// ErrConfig is the kind of the errors of [Open] that no new start cures, because a setting is missing or wrong.
var ErrConfig = problem.Setting("a setting is missing or wrong")
