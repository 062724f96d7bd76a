//go:build !checkpoints

package main

import (
	"time"

	"quittance/internal/store"
)

// checkpoint observes nothing: only a binary that was built with the tag checkpoints ends itself on command.
func checkpoint() (store.Checkpoint, error) { return nil, nil }

// missingGap is the one that is promised.
func missingGap() (time.Duration, error) { return 0, nil }
