package drafts

import (
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
)

// draftSums is the feedback on the whole form.
type draftSums struct {
	Totals   invoice.Totals
	Currency string
	// ShowDue reports that the amount due may be another one than the total.
	ShowDue bool
	// Format is the document format whose rules were checked, "" if the connection has none.
	Format string
	// IncompleteLine is the first line that prevents calculating the totals, from 1, or 0. IncompleteAllowance reports
	// that an allowance or a charge on the invoice does.
	IncompleteLine      int
	IncompleteAllowance bool
	// Missing and Advice concern the submission. Unsavable reports that a draft cannot be saved without one of the missing
	// fields.
	Missing, Advice []documents.Advice
	Unsavable       bool
	// ProfileMissing is the number of missing fields of the company's profile, and ProfileAdvice that of recommendations
	// about it. The profile has its own page.
	ProfileMissing, ProfileAdvice int
	// Announcement is a text for screen readers. AnnouncementDigest identifies it, and Announce reports that it has
	// changed.
	Announcement       string
	AnnouncementDigest string
	Announce           bool
	// Shown has the digests of the feedback that the form shows with the sums.
	Shown string
}

// maxListedMissing is the number of missing fields up to which they are listed without a click.
const maxListedMissing = 8

// Count returns the number of missing fields, those of the company's profile included.
func (s draftSums) Count() int { return len(s.Missing) + s.ProfileMissing }

// Few reports that the list of missing fields is short.
func (s draftSums) Few() bool { return len(s.Missing) <= maxListedMissing }

// sums calculates the totals and the feedback on the whole form.
func sums(req *console.Request, checked *CheckedForm) (draftSums, error) {
	s := draftSums{Totals: checked.arithmetic.Compute(&checked.Draft), Currency: console.Deref(checked.Draft.Currency),
		ShowDue: checked.Draft.PrepaidAmount != nil || checked.Draft.RoundingAmount != nil,
		Format:  req.Session.Account.Format}
	ofProfile := func(a documents.Advice) bool { return strings.HasPrefix(a.Path, console.SellerPath) }
	needs, others := documents.DivideAdvice(checked.missing, checked.Advice)
	checked.sayAdvice(needs)
	checked.sayAdvice(others)
	s.Missing, s.Advice = slices.DeleteFunc(slices.Clone(needs), ofProfile),
		slices.DeleteFunc(slices.Clone(others), ofProfile)
	s.Unsavable = slices.ContainsFunc(s.Missing, func(a documents.Advice) bool { return specAt(a.Path).Required })
	s.ProfileMissing, s.ProfileAdvice = len(needs)-len(s.Missing), len(others)-len(s.Advice)
	if s.Totals.Total == nil && s.Currency != "" && !checked.Faults.Has("currency") {
		s.IncompleteLine, s.IncompleteAllowance = checked.incomplete()
	}
	var err error
	if s.Totals.Total != nil {
		s.Announcement, err = req.Text("draft.announcement", page.Grouped(s.Totals.Total.String()), s.Currency)
	}
	s.AnnouncementDigest = page.Digest([]byte(s.Announcement))
	s.Announce = s.Announcement != "" && s.AnnouncementDigest != req.Form.Get("announced")
	return s, err
}

// incomplete returns what prevents calculating the totals: the first line, from 1, or else an allowance or a charge.
func (checked *CheckedForm) incomplete() (line int, ofAllowance bool) {
	d := &checked.Draft
	for n := range d.Items {
		alone := api.Draft{Currency: d.Currency, Items: d.Items[n : n+1]}
		if checked.arithmetic.Compute(&alone).Total == nil {
			return n + 1, false
		}
	}
	return 0, len(d.Items) > 0 && len(d.Allowances)+len(d.Charges) > 0
}
