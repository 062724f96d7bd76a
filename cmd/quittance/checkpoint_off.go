//go:build !checkpoints

package main

import "quittance/internal/store"

// checkpoint observes nothing: only a binary that was built with the tag checkpoints ends itself on command.
func checkpoint() (store.Checkpoint, error) { return nil, nil }
