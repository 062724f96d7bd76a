package site

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
)

func overviewRoutes() []console.Route {
	return []console.Route{{Method: http.MethodGet, Path: "/", Needs: access.Read, Serve: showOverview}}
}

// The overview is polled less often than lists, and its queue shows so many invoices and so many credit notes.
const (
	overviewPollInterval = 10 * time.Second
	queuedInvoices       = 10
	queuedCredits        = 5
)

// overviewPage is the view model of the first page.
type overviewPage struct {
	Part page.Live
	// MayWrite reports that the user may create invoices.
	MayWrite bool
	// Unproved reports that the user gets no notices, because nobody has proved the address.
	Unproved bool
}

// overviewPart is the live part of the first page.
type overviewPart struct {
	// Empty reports that the company has no invoices.
	Empty, MayWrite bool
	Tiles           []tile
	// Failing is since when the provider has given no usable answers; zero if it does, or has failed only briefly.
	Failing time.Time
	// Queue has invoices alone, so that it has as many as the tile says. Subscriptions and Credits need a person, too.
	Queue, Subscriptions, Credits []queued
	// More is how many invoices need attention that the queue does not show.
	More  int
	Chart overviewChart
}

// tile is the figure of one tab of the list of invoices, to which it leads.
type tile struct {
	Tab view.Tab
	// Meaning is the style class, and Shape the icon.
	Meaning, Shape string
	Invoices       int
	Sums           []*page.Money
}

// Path returns the address of the tab.
func (t tile) Path() string { return "/invoices?tab=" + string(t.Tab) }

// queued is one thing that needs a person.
type queued struct {
	// Kind is invoice, credit or subscription.
	Kind        string
	Title, Path string
	// Who is the recipient or a description, or "". Amount is nil if it has none.
	Who    string
	Amount *page.Money
	Pills  []page.Pill
	// Since is when it began, or zero.
	Since time.Time
	// Quotes are the provider's own messages.
	Quotes []string
	// Step is the key of the next step below "overview.step.", and StepPath its address.
	Step, StepPath string
}

func showOverview(req *console.Request) error {
	ctx := req.R.Context()
	found, err := view.Of(req.Session.Tenant).Overview(ctx)
	if err != nil {
		return err
	}
	p := overviewPart{Empty: found.Tabs[view.TabAll].Invoices == 0, MayWrite: req.Session.Permissions.Has(access.Write),
		Tiles: tiles(found.Tabs), Chart: newOverviewChart(found.Days)}
	if err := fillQueue(ctx, req, &p, found.Tabs[view.TabAttention].Invoices); err != nil {
		return err
	}
	announcement, err := req.Words.Messages.Plural("overview.attention", found.Tabs[view.TabAttention].Invoices)
	if err != nil {
		return err
	}
	part, err := req.LivePart("overview", "overview", p, overviewPollInterval, announcement)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("overview", part)
	}
	unproved, err := unproved(ctx, req)
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, "overview", "overview.title", page.Layout{Section: "overview",
		Body: overviewPage{part, p.MayWrite, unproved}})
}

// unproved reports that the user would get notices by e-mail if somebody had proved the address.
func unproved(ctx context.Context, req *console.Request) (bool, error) {
	if sends, err := identity.SendsMail(ctx, req.DB); err != nil || !sends {
		return false, err
	}
	user, err := identity.FindUser(ctx, req.Session.Tenant, req.Session.User)
	return user.ProvedAt == nil, err
}

// tiles returns the tiles, in their order.
func tiles(counts map[view.Tab]view.TabCount) []tile {
	out := []tile{
		{Tab: view.TabAttention, Meaning: "negative", Shape: "bad"},
		{Tab: view.TabInProgress, Meaning: "waiting", Shape: "wait"},
		{Tab: view.TabAccepted, Meaning: "positive", Shape: "good"}, {Tab: view.TabDrafts, Shape: "draft"},
	}
	for n := range out {
		count := counts[out[n].Tab]
		out[n].Invoices = count.Invoices
		if count.Invoices == 0 {
			out[n].Meaning = ""
		}
		for _, sum := range count.Sums {
			out[n].Sums = append(out[n].Sums, page.MoneyOf(sum.Amount, sum.Currency))
		}
	}
	return out
}

// fillQueue fills the queue with the newest invoices, and adds subscriptions and credit notes. attention is how many
// invoices need attention.
func fillQueue(ctx context.Context, req *console.Request, p *overviewPart, attention int) error {
	of := view.Of(req.Session.Tenant)
	invoices, err := of.Invoices(ctx, view.InvoiceFilter{Tab: view.TabAttention}, 1, queuedInvoices)
	if err != nil {
		return err
	}
	credits, err := of.AttentionCreditNotes(ctx, queuedCredits)
	if err != nil {
		return err
	}
	quotes, err := latestRemarks(ctx, req, invoices.Entries, credits)
	if err != nil {
		return err
	}
	if err := errors.Join(noticeConnection(ctx, req, p), queueSubscriptions(ctx, req, p)); err != nil {
		return err
	}
	for _, i := range invoices.Entries {
		if i.Submission == nil {
			continue // it was corrected since it was counted
		}
		item := queued{Kind: "invoice", Title: console.Deref(i.Draft.InvoiceNumber), Path: "/invoices/" + i.ID.String(),
			Who: console.Deref(i.Draft.RecipientName), Amount: page.MoneyOf(i.Draft.TotalAmount, i.Draft.Currency)}
		item.StepPath = item.Path
		if i.Submission.Correctable() && p.MayWrite {
			item.Step, item.StepPath = "correct", item.Path+"/edit"
		}
		if err := describe(req, &item, i.Submission, quotes); err != nil {
			return err
		}
		p.Queue = append(p.Queue, item)
	}
	p.More = max(0, attention-len(invoices.Entries))
	for _, c := range credits {
		if c.Submission == nil {
			continue
		}
		item := queued{Kind: "credit", Title: c.Number, Path: "/credit-notes/" + c.ID.String(),
			Amount: page.MoneyOf(c.Credit.Total, c.Currency)}
		item.StepPath = item.Path
		if err := describe(req, &item, c.Submission, quotes); err != nil {
			return err
		}
		p.Credits = append(p.Credits, item)
	}
	return nil
}

// describe says why a submission needs a person.
func describe(req *console.Request, item *queued, s *invoices.Submission, quotes map[base.ID][]string) error {
	messages := req.Words.Messages
	item.Since, item.Quotes = s.AttemptedAt, quotes[s.ID]
	if s.Outcome != api.OutcomeAcknowledged {
		meaning, shape := "waiting", "unknown"
		if s.Outcome.Rejected() {
			meaning, shape = "negative", "bad"
		}
		item.Pills = append(item.Pills, page.Pill{Meaning: meaning, Shape: shape,
			Text: messages.TextOr("outcome."+string(s.Outcome), string(s.Outcome))})
	}
	for _, state := range documents.StateViews(s.States) {
		if state.Meaning != api.MeaningNegative {
			continue
		}
		text, err := messages.Text("overview.word", messages.TextOr("state."+state.Dimension, state.Dimension), state.Value)
		if err != nil {
			return err
		}
		item.Pills = append(item.Pills, page.Pill{Meaning: "negative", Shape: state.Shape(), Text: text, Tip: state.Value})
		item.Since = s.Origins[invoice.Dimension(state.Dimension)].ReportedAt
	}
	if item.Step == "" {
		item.Step = "review"
	}
	if s.Outcome == api.OutcomeUnknown {
		item.Step = "watch"
	}
	return nil
}

// maxQuotes is how many messages the queue quotes of each response.
const maxQuotes = 2

// latestRemarks returns the provider's messages to people in its latest response about each submission.
func latestRemarks(ctx context.Context, req *console.Request, invoices []invoices.InvoiceRow,
	credits []invoices.CreditNoteRow) (map[base.ID][]string, error) {
	var submissions []base.ID
	for _, i := range invoices {
		if i.Submission != nil {
			submissions = append(submissions, i.Submission.ID)
		}
	}
	for _, c := range credits {
		if c.Submission != nil {
			submissions = append(submissions, c.Submission.ID)
		}
	}
	of := view.Of(req.Session.Tenant)
	latest, err := of.LatestResponses(ctx, submissions)
	if err != nil {
		return nil, err
	}
	evidence := make([]base.ID, 0, len(latest))
	for _, id := range latest {
		evidence = append(evidence, id)
	}
	bodies, err := of.EvidenceBodies(ctx, evidence)
	if err != nil {
		return nil, err
	}
	out := map[base.ID][]string{}
	for submission, id := range latest {
		for _, remark := range invoice.ReadRemarks(bodies[id]) {
			text := remark.Text
			if text == "" {
				text = remark.Code
			}
			if remark.Code != invoice.Discovery && len(out[submission]) < maxQuotes && !slices.Contains(out[submission], text) {
				out[submission] = append(out[submission], text)
			}
		}
	}
	return out, nil
}

// noticeConnection says since when the active connection is in trouble.
func noticeConnection(ctx context.Context, req *console.Request, p *overviewPart) error {
	connections, err := invoices.Connections(ctx, req.DB, &req.Session.Account.ID)
	if err != nil {
		return err
	}
	for _, c := range connections {
		if view.InTrouble(c, req.Now()) {
			p.Failing = *c.FailingSince
		}
	}
	return nil
}

// queueSubscriptions adds the webhook subscriptions that need a person.
func queueSubscriptions(ctx context.Context, req *console.Request, p *overviewPart) error {
	troubled, err := view.Of(req.Session.Tenant).TroubledSubscriptions(ctx)
	if err != nil {
		return err
	}
	for _, s := range troubled {
		path := "/webhooks/" + s.ID.String()
		item := queued{Kind: "subscription", Title: s.URL, Path: path, Who: console.Deref(s.Description), Step: "deliveries",
			StepPath: path}
		since := s.FailingSince
		text, err := req.Text("overview.subscription.failing")
		if !s.Active {
			since, item.Step = s.DeactivatedAt, "subscription"
			text, err = req.Text("overview.subscription.deactivated")
		}
		if since != nil {
			item.Since = *since
		}
		if err != nil {
			return err
		}
		item.Pills = []page.Pill{{Meaning: "negative", Shape: "warn", Text: text}}
		p.Subscriptions = append(p.Subscriptions, item)
	}
	return nil
}
