package operator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
	"quittance/internal/platform/problem"
)

func unknownRoutes() []route {
	return []route{
		{method: http.MethodGet, path: unknownPath, serve: (*request).listUnknown},
		{method: http.MethodGet, path: unknownPath + "/{account}/{submission}", serve: (*request).showUnknown},
		{method: http.MethodPost, path: unknownPath + "/{account}/{submission}/resolve", serve: (*request).resolve},
	}
}

// unknownPageRows is the view model of the list of submissions with an unknown outcome, oldest first.
type unknownPageRows struct {
	Rows []unknownRow
	Next string
}

// unknownRow is a submission with its company.
type unknownRow struct {
	invoices.Submission
	Company string
}

func (req *request) listUnknown() error {
	query := req.R.URL.Query()
	found, err := lists.UnknownSubmissions(req.R.Context(), req.DB, parsePosition(query.Get("after")), maxPerPage+1)
	if err != nil {
		return err
	}
	p := unknownPageRows{}
	if more := len(found) > maxPerPage; more {
		found = found[:maxPerPage]
		p.Next = next(unknownPath, query, more, formatPosition(lists.SubmissionPosition(found[maxPerPage-1])))
	}
	accounts := make([]base.ID, len(found))
	for n, s := range found {
		accounts[n] = s.Account
	}
	companies, err := lists.Companies(req.R.Context(), req.DB, accounts)
	if err != nil {
		return err
	}
	for _, s := range found {
		p.Rows = append(p.Rows, unknownRow{s, companies[s.Account]})
	}
	return req.Show(http.StatusOK, "unknown", "op.unknown.title", page.Layout{Section: "unknown", Body: p})
}

// submissionPage is the view model of one submission: what is known of it, what the provider returned, and the
// decision.
type submissionPage struct {
	invoices.Submission
	Account    base.Account
	Connection connectionRow
	Evidence   []responseRow
	// Older reports that there are older responses than those of the page.
	Older bool
	// Acts are the decisions; none for a known outcome.
	Acts []act
}

// Concerns reports that operators have a decision to take, or have taken one. They see the responses for no other
// submission.
func (p submissionPage) Concerns() bool {
	return p.Outcome == api.OutcomeUnknown || p.Resolved != nil
}

// responseRow is one retained response of the provider.
type responseRow struct {
	api.Evidence
	// Body is the text of the response, formatted if it is JSON, and "" if it is withheld or no text.
	Body string
	// Cut reports that Body is only the beginning.
	Cut bool
}

// The number of responses on the page, and of bytes of one that the page shows.
const (
	maxResponses = 50
	maxShown     = 16 << 10
)

func (req *request) showUnknown() error {
	tenant, id, err := req.submission()
	if err != nil {
		return err
	}
	ctx := req.R.Context()
	p := submissionPage{}
	if p.Submission, err = invoices.FindSubmission(ctx, tenant, id); err != nil {
		return err
	}
	if p.Account, err = identity.FindAccount(ctx, req.DB, tenant.Account()); err != nil {
		return err
	}
	connection, err := invoices.FindConnection(ctx, req.DB, p.Submission.Connection)
	if err != nil {
		return err
	}
	p.Connection = connectionRow{Connection: connection, Company: p.Account.Company}
	if p.Concerns() {
		if err := req.addEvidence(&p, tenant); err != nil {
			return err
		}
	}
	if p.Outcome == api.OutcomeUnknown {
		at := unknownPath + "/" + tenant.Account().String() + "/" + id.String() + "/resolve"
		p.Acts = []act{{ID: "resend", Path: at, Key: "resend", Of: p.Number, Decision: invoices.DecisionResend},
			{ID: "reject", Path: at, Key: "reject", Of: p.Number, Decision: invoices.DecisionReject, Danger: true}}
	}
	return req.Show(http.StatusOK, "submission", "op.submission.title", page.Layout{Section: "unknown", Body: p}, p.Number)
}

// submission returns the company and the identifier of the submission that the path names.
func (req *request) submission() (*base.Tenant, base.ID, error) {
	account, err := req.ID("account")
	if err != nil {
		return nil, base.ID{}, err
	}
	id, err := req.ID("submission")
	if err != nil {
		return nil, base.ID{}, err
	}
	tenant, err := req.DB.Tenant(req.R.Context(), account)
	return tenant, id, err
}

// addEvidence adds the newest responses, newest first, with their texts.
func (req *request) addEvidence(p *submissionPage, tenant *base.Tenant) error {
	of := view.Of(tenant)
	found, err := of.SubmissionEvidence(req.R.Context(), p.ID, maxResponses+1)
	if err != nil {
		return err
	}
	if p.Older = len(found) > maxResponses; p.Older {
		found = found[:maxResponses]
	}
	for _, e := range found {
		row := responseRow{Evidence: view.Evidence(e)}
		if !e.Withheld {
			body, err := invoices.EvidenceChunk(req.R.Context(), tenant, e.ID, 0, maxShown+1)
			if err != nil {
				return err
			}
			row.Cut = len(body) > maxShown
			row.Body = readable(body[:min(len(body), maxShown)], row.Cut)
		}
		p.Evidence = append(p.Evidence, row)
	}
	return nil
}

// readable returns a body as text: formatted if it is whole JSON, and "" if it is no text.
func readable(body []byte, cut bool) string {
	var pretty bytes.Buffer
	if !cut && json.Indent(&pretty, body, "", "  ") == nil {
		return pretty.String()
	}
	for n := 1; cut && n < utf8.UTFMax && n < len(body) && !utf8.Valid(body); n++ { // the cut may be inside a character
		body = body[:len(body)-1]
	}
	if !utf8.Valid(body) {
		return ""
	}
	return string(body)
}

// resolve records the decision of the operator.
func (req *request) resolve() error {
	tenant, id, err := req.submission()
	if err != nil {
		return err
	}
	ctx, reason, err := req.actContext()
	if err != nil {
		return err
	}
	decision := req.Form.Get("decision")
	if decision != invoices.DecisionResend && decision != invoices.DecisionReject {
		return problem.For(api.CodeMalformedRequest)
	}
	if _, err := invoices.ResolveSubmission(ctx, tenant, id, decision, reason); err != nil {
		return err
	}
	path := unknownPath + "/" + tenant.Account().String() + "/" + id.String()
	return req.Redirect(page.WithNotice(path, "good.resolved_"+decision))
}

// instant returns the time of a number of microseconds since 1970.
func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
