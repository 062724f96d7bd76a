package drafts

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// creditForm holds the input in the form of a credit note. A line is selected by entering a quantity or an amount.
type creditForm struct {
	Number, IssueDate, Reason, Kind string
	// Quantities and Amounts have one entry for each line of the invoice.
	Quantities, Amounts []string
}

// readCreditForm reads the form of a credit note for an invoice with the given number of lines.
func readCreditForm(input url.Values, lines int) creditForm {
	f := creditForm{Number: input.Get("credit_note_number"), IssueDate: input.Get("issue_date"), Kind: input.Get("kind"),
		Reason:     strings.ReplaceAll(input.Get("reason"), "\r\n", "\n"),
		Quantities: make([]string, lines), Amounts: make([]string, lines)}
	copy(f.Quantities, input["quantity"])
	copy(f.Amounts, input["net_amount"])
	return f
}

// chosen returns the lines that have input.
func (f creditForm) chosen() []int {
	var out []int
	for n := range f.Quantities {
		if strings.TrimSpace(f.Quantities[n]+f.Amounts[n]) != "" {
			out = append(out, n)
		}
	}
	return out
}

// json returns the equivalent API request.
func (f creditForm) json(invoiceID string) []byte {
	var out strictjson.Object
	out.AddText("invoice_id", invoiceID)
	out.AddText("credit_note_number", f.Number)
	out.AddText("issue_date", f.IssueDate)
	out.AddText("reason", f.Reason)
	out.AddText("kind", f.Kind)
	if f.Kind != string(api.CreditFull) {
		var items []strictjson.Object
		for _, position := range f.chosen() {
			var item strictjson.Object
			item.Add("position", strconv.AppendInt(nil, int64(position), 10))
			item.AddNumber("quantity", f.Quantities[position])
			item.AddNumber("net_amount", f.Amounts[position])
			items = append(items, item)
		}
		if len(items) > 0 { // package invoice reports that a partial credit note needs lines
			out.Add("items", strictjson.Array(items))
		}
	}
	return out.Append(nil)
}

// credits is the API's decoder of credit notes.
var credits = strictjson.For[api.CreditNoteRequest]() //nolint:gochecknoglobals // a plan of a type, read only

// read returns the form with texts as the API takes them, and the faults of those that nobody can read, by path.
func (f creditForm) read(messages console.Catalogue, currency string) (creditForm, api.Faults, error) {
	values, faults := f, api.Faults{}
	var failed error
	take := func(path, value string, fault *api.Fault, err error) string {
		if failed = errors.Join(failed, err); fault != nil {
			faults.Add(path, fault.Rule, fault.Message)
		}
		return value
	}
	date, fault, err := messages.ReadDate(f.IssueDate)
	values.IssueDate = take("issue_date", date, fault, err)
	values.Quantities, values.Amounts = slices.Clone(f.Quantities), slices.Clone(f.Amounts)
	for _, n := range f.chosen() {
		path := "items[" + strconv.Itoa(n) + "]."
		quantity, fault, err := readNumber(messages, f.Quantities[n], console.PlainNumber, "")
		values.Quantities[n] = take(path+"quantity", quantity, fault, err)
		amount, fault, err := readNumber(messages, f.Amounts[n], console.MoneyNumber, currency)
		values.Amounts[n] = take(path+"net_amount", amount, fault, err)
	}
	return values, faults, failed
}

// credit validates the form like an API request, against the invoice and its live credit notes.
func (f creditForm) credit(req *console.Request, invoiceID string, draft *api.Draft,
	live []invoice.Credit) (api.CreditNoteRequest, invoice.Credit, api.Faults, error) {
	values, unread, err := f.read(req.Words.Messages, console.Deref(draft.Currency))
	if err != nil {
		return api.CreditNoteRequest{}, invoice.Credit{}, nil, err
	}
	body, err := strictjson.Parse(values.json(invoiceID))
	if err != nil {
		return api.CreditNoteRequest{}, invoice.Credit{}, nil, problem.For(api.CodeMalformedRequest).Because(err)
	}
	request, form := credits.Decode(body)
	credit, faults := invoice.RequestCredit(draft, live, &request, req.Arithmetic(), form)
	faults = values.placed(faults)
	if len(unread) > 0 {
		delete(faults, "items") // lines whose numbers nobody can read are not missing
	}
	maps.Copy(faults, unread)
	return request, credit, faults, nil
}

// placed returns the faults by the line of the invoice instead of the position among the selected lines.
func (f creditForm) placed(faults api.Faults) api.Faults {
	chosen := f.chosen()
	out := api.Faults{}
	for path, list := range faults {
		if rest, ok := strings.CutPrefix(path, "items["); ok {
			number, field, _ := strings.Cut(rest, "]")
			if n, err := strconv.Atoi(number); err == nil && n < len(chosen) {
				path = "items[" + strconv.Itoa(chosen[n]) + "]" + field
			}
		}
		out[path] = append(out[path], list...)
	}
	return out
}

// creditFormPage is the view model of the form of a credit note.
type creditFormPage struct {
	ID, InvoiceNumber, Currency string
	Form                        creditForm
	Remaining                   invoice.Remaining
	Left                        string
	Lines                       []creditLine
	Notes                       map[string]fieldNotes
	Faults                      []string
	Sums                        creditSums
	// Refused reports that saving the form failed.
	Refused bool
	// Command is what an administrator runs to enable the submission of credit notes, "" if it is enabled.
	Command string
	// Nothing reports that the invoice is fully credited.
	Nothing bool
}

// Date reports whether the browser's own control can show the date.
func (p creditFormPage) Date() bool { return len(p.Notes["issue_date"].Faults) == 0 }

// creditLine is one line of the invoice in the form.
type creditLine struct {
	Number                                int
	Name, Unit                            string
	Left, LeftNet                         string
	Quantity, Amount                      string
	Computable                            bool
	LineNotes, QuantityNotes, AmountNotes fieldNotes
}

// creditSums holds the calculated amounts of a credit note.
type creditSums struct {
	// Total is the credited amount with tax, and Left the amount that remains on the invoice. Both are "" when the form
	// has faults.
	Total, Left, Currency string
	// Shown has the digests of the feedback that the form shows with the sums.
	Shown string
}

// creditFields lists the paths of the form's own fields, in their order.
var creditFields = []string{"invoice_id", "credit_note_number", "issue_date", "reason", "kind", "items"} //nolint:gochecknoglobals // a constant list

func newCredit(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	found, remaining, err := documents.Remaining(req, id)
	if err != nil {
		return err
	}
	today, err := req.Today()
	if err != nil {
		return err
	}
	form := readCreditForm(nil, len(found.Draft.Items))
	form.IssueDate, form.Kind = today.Format(time.DateOnly), string(api.CreditPartial)
	if form.Number, err = view.Of(req.Session.Tenant).SuggestCreditNumber(req.R.Context()); err != nil {
		return err
	}
	return respondCredit(req, http.StatusOK, found, remaining, form, api.Faults{}, creditSums{})
}

// respondCredit responds with the form of a credit note.
func respondCredit(req *console.Request, status int, found invoices.Invoice, remaining invoice.Remaining,
	form creditForm, faults api.Faults, sums creditSums) error {
	d := &found.Draft
	date, fault, err := req.Words.Messages.ReadDate(form.IssueDate)
	if err != nil {
		return err
	}
	if fault == nil {
		form.IssueDate = date // what the browser's own control shows
	}
	p := creditFormPage{ID: found.ID.String(), InvoiceNumber: console.Deref(d.InvoiceNumber),
		Currency: console.Deref(d.Currency),
		Form:     form, Remaining: remaining, Left: page.Grouped(string(remaining.Total)), Sums: sums,
		Refused: len(faults) > 0,
		Notes:   map[string]fieldNotes{}}
	say := func(faults []api.Fault) []api.Fault { return say(req.Words.Messages, "", faults) }
	for _, path := range creditFields {
		p.Notes[path] = newNotes(path, say(faults[path]))
		if faults.Has(path) {
			p.Faults = append(p.Faults, path)
		}
	}
	p.Sums.Shown = digests(creditGroups(req, faults, len(d.Items)))
	p.Nothing = !remaining.Untouched
	for n := range d.Items {
		path := "items[" + strconv.Itoa(n) + "]"
		left := remaining.Lines[n]
		line := creditLine{Number: n + 1, Name: console.Deref(d.Items[n].Name),
			Unit:    req.Words.UnitName(page.Grouped(string(left.Quantity)), d.Items[n].UnitCode),
			Left:    page.Grouped(string(left.Quantity)),
			LeftNet: page.Grouped(string(left.NetAmount)), Quantity: form.Quantities[n], Amount: form.Amounts[n],
			Computable:    left.NetAmount != "",
			QuantityNotes: newNotes(path+".quantity", say(faults[path+".quantity"])),
			AmountNotes:   newNotes(path+".net_amount", say(faults[path+".net_amount"])),
			LineNotes:     newNotes(path, say(slices.Concat(faults[path], faults[path+".position"])))}
		for _, notes := range []fieldNotes{line.LineNotes, line.QuantityNotes, line.AmountNotes} {
			if len(notes.Faults) > 0 {
				p.Faults = append(p.Faults, notes.Path)
			}
		}
		p.Lines = append(p.Lines, line)
		p.Nothing = p.Nothing && strings.Trim(string(left.NetAmount)+string(left.Quantity), "-0.") == ""
	}
	if p.Command, err = confirmCommand(req); err != nil {
		return err
	}
	return req.Show(status, "credit_form", "credit.new", page.Layout{Section: "credits", Body: p}, p.InvoiceNumber)
}

// confirmCommand returns the command that enables the submission of credit notes over the company's connection, "" if
// it is enabled. Without an active connection it has a placeholder.
func confirmCommand(req *console.Request) (string, error) {
	if req.Session.Account.CreditNotes {
		return "", nil
	}
	connections, err := invoices.Connections(req.R.Context(), req.DB, &req.Session.Account.ID)
	if err != nil {
		return "", err
	}
	id := "CONNECTION_ID"
	for _, connection := range connections {
		if connection.State == invoices.ConnectionActive {
			id = connection.ID.String()
		}
	}
	return "quittance connection confirm-credit-notes " + id + " --contract CONTRACT --mapping MAPPING", nil
}

// createCredit creates a credit note from the form.
func createCredit(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	if req.Form.Get("do") == doKeep {
		found, remaining, err := documents.Remaining(req, id)
		if err != nil {
			return err
		}
		return respondCredit(req, http.StatusOK, found, remaining, readCreditForm(req.Form, len(found.Draft.Items)),
			api.Faults{}, creditSums{})
	}
	if err := req.AcquireForInvoice(id); err != nil {
		return err
	}
	var form creditForm
	var faults api.Faults
	created, err := invoices.CreateCreditNote(req.R.Context(), req.Session.Tenant, id,
		func(draft *api.Draft, live []invoice.Credit) (invoices.NewCreditNote, error) {
			form = readCreditForm(req.Form, len(draft.Items))
			request, credit, found, err := form.credit(req, id.String(), draft, live)
			if err != nil {
				return invoices.NewCreditNote{}, err
			}
			if faults = found; len(faults) > 0 {
				return invoices.NewCreditNote{}, errFormFaults
			}
			return invoices.NewCreditNote{Number: *request.CreditNoteNumber, IssueDate: *request.IssueDate,
				Reason: *request.Reason, Credit: credit}, nil
		})
	if len(faults) > 0 {
		found, remaining, err := documents.Remaining(req, id)
		if err != nil {
			return err
		}
		return respondCredit(req, http.StatusUnprocessableEntity, found, remaining, form, faults, creditSums{})
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/credit-notes/"+created.ID.String(), "good.credited"))
}

// creditCheck is the feedback on the form of a credit note while the user types.
type creditCheck struct {
	Sums   creditSums
	Groups []noteGroup
}

// checkCredit responds with the feedback on a form. It stores nothing.
func checkCredit(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	found, live, err := documents.CreditedInvoice(req, id)
	if err != nil {
		return err
	}
	form := readCreditForm(req.Form, len(found.Draft.Items))
	// Number, date and reason do not affect the amounts and may still be empty while the user selects lines.
	asked := form
	asked.Number, asked.IssueDate, asked.Reason = "-", "2000-01-01", "-"
	_, credit, faults, err := asked.credit(req, id.String(), &found.Draft, live)
	if err != nil {
		return err
	}
	p := creditCheck{Sums: creditSums{Currency: console.Deref(found.Draft.Currency)}}
	if len(faults) == 0 {
		p.Sums.Total = page.Grouped(string(credit.Total))
		p.Sums.Left = page.Grouped(string(invoice.Remain(&found.Draft, append(live, credit), req.Arithmetic()).Total))
	}
	if len(form.chosen()) == 0 {
		delete(faults, "items")
	}
	groups := creditGroups(req, faults, len(found.Draft.Items))
	p.Sums.Shown = digests(groups)
	p.Groups = changedNotes(req, groups, p.Sums.Shown)
	return req.Part("credit_form", "check", p)
}

// creditGroups returns the feedback on the kind of a credit note and its lines, and then on each line.
func creditGroups(req *console.Request, faults api.Faults, lines int) []noteGroup {
	notes := func(path string, list []api.Fault) fieldNotes {
		return newNotes(path, say(req.Words.Messages, "", list))
	}
	groups := []noteGroup{{Notes: []fieldNotes{notes("kind", faults["kind"]), notes("items", faults["items"])}}}
	for n := range lines {
		path := "items[" + strconv.Itoa(n) + "]"
		groups = append(groups,
			noteGroup{Notes: []fieldNotes{notes(path, slices.Concat(faults[path], faults[path+".position"])),
				notes(path+".quantity", faults[path+".quantity"]), notes(path+".net_amount", faults[path+".net_amount"])}})
	}
	return groups
}

func creditRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/invoices/{invoice}/credit", Needs: access.Write, Serve: newCredit},
		{Method: http.MethodPost, Path: "/invoices/{invoice}/credit", Needs: access.Write, Serve: createCredit,
			Large: true},
		{Method: http.MethodPost, Path: "/invoices/{invoice}/credit/check", Needs: access.Write,
			Serve: checkCredit, Large: true},
	}
}
