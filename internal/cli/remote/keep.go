package remote

import (
	"context"
	"errors"
	"time"

	"quittance/client"
)

// maxReplaced bounds how many replaced profiles the profile of a sandbox keeps.
const maxReplaced = 8

// answerPatience limits the question whether a sandbox still answers.
const answerPatience = 5 * time.Second

// KeepSandbox writes the profile of a sandbox on this machine to a directory of profiles, or to that of the user if dir
// is empty. It keeps the profile that it replaces. The function that it returns is for a sandbox whose company ends
// with it: it puts back the last replaced profile whose sandbox still answers, or removes the profile, unless another
// sandbox has written its own meanwhile.
func KeepSandbox(dir string, p Profile) (remove func() error, err error) {
	keep, err := directory(dir)
	if err != nil {
		return nil, err
	}
	p.Name = SandboxProfile
	// A profile that cannot be read is of no use to anybody, and is replaced all the same.
	if before, failed := keep.Load(SandboxProfile); failed == nil {
		for _, other := range append([]Profile{before}, before.Replaced...) {
			if !other.same(p) && len(p.Replaced) < maxReplaced {
				p.Replaced = append(p.Replaced, other)
			}
		}
	}
	return func() error { return keep.endSandbox(p) }, keep.Save(p)
}

// same reports whether two profiles are for the same company of the same server.
func (p Profile) same(other Profile) bool {
	return p.URL == other.URL && p.AccountID == other.AccountID
}

// endSandbox removes what was kept about a sandbox that has ended for good.
func (d profiles) endSandbox(p Profile) error {
	kept, err := d.Load(SandboxProfile)
	switch {
	case errors.Is(err, errNoProfile), err == nil && !kept.Credential.Equal(p.Credential):
		return d.removePositions(p)
	case err != nil:
		return err
	}
	for n, before := range p.Replaced {
		if before.answers() {
			before.Replaced = p.Replaced[n+1:]
			return errors.Join(d.removePositions(p), d.Save(before))
		}
	}
	return d.Remove(p)
}

// answers reports whether the server of a profile answers, with the same company.
func (p Profile) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
	defer cancel()
	config := p.config()
	config.MaxAttempts = 1
	service, err := client.New(config)
	if err != nil {
		return false
	}
	account, err := service.Account(ctx)
	return err == nil && account.ID == p.AccountID
}
