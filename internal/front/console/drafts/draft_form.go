package drafts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// itemPrefix is the prefix of the names of a line's fields. They are repeated for each line.
const itemPrefix = "items."

// maxItems is the maximum number of lines of a draft (api.Draft).
const maxItems = 1000

// Form holds the input in the form of a draft.
type Form struct {
	// Fields holds texts by JSON name.
	Fields map[string]string
	Items  []lineInput
	// Entries are those of the lists of the invoice.
	Entries []entry
	// tooMany reports that the lists have more entries than a form can have.
	tooMany bool
	// Customer is the identifier of the customer that the recipient was filled in from, or "". SaveCustomer says that the
	// recipient is to be saved as a customer, and the key [saveItem] of a line that the line is to be saved as an item.
	Customer     string
	SaveCustomer bool
}

// lineInput is the input in a line of the form.
type lineInput struct {
	// Fields holds texts by JSON name.
	Fields map[string]string
	// Entries are those of the lists of the line.
	Entries []entry
}

// equal reports whether two lines have the same input.
func (l lineInput) equal(other lineInput) bool {
	return maps.Equal(l.Fields, other.Fields) && slices.EqualFunc(l.Entries, other.Entries, entry.equal)
}

// linePrefix is the prefix of the JSON paths of the line with an index.
func linePrefix(n int) string { return "items[" + strconv.Itoa(n) + "]." }

// readDraftForm reads the input of a draft's form.
func readDraftForm(input url.Values) Form {
	f := Form{Fields: map[string]string{}, Customer: input.Get("customer"),
		SaveCustomer: input.Get("save_customer") != ""}
	for _, field := range Fields {
		f.Fields[field.Name] = field.Normalized(input.Get(field.Name))
	}
	count := 0
	for _, field := range ItemFields {
		count = max(count, len(input[itemPrefix+field.Name]))
	}
	for n := range min(count, maxItems+1) { // one line too many is reported as a fault
		item := map[string]string{}
		for _, field := range ItemFields {
			if values := input[itemPrefix+field.Name]; n < len(values) {
				item[field.Name] = field.Normalized(values[n])
			}
		}
		if slices.Contains(input[saveItem], strconv.Itoa(n)) {
			item[saveItem] = "1"
		}
		f.Items = append(f.Items, lineInput{Fields: item})
	}
	f.readEntries(input)
	return f
}

// withoutEmptyLines returns the form without empty lines at the end. It keeps the first line.
func (f Form) withoutEmptyLines() Form {
	for len(f.Items) > 1 && emptyLine(f.Items[len(f.Items)-1]) {
		f.Items = f.Items[:len(f.Items)-1]
	}
	return f
}

// emptyLine reports whether nothing was typed into a line. A new line has the tax of the one before.
func emptyLine(item lineInput) bool {
	if len(item.Entries) > 0 {
		return false
	}
	for name, value := range item.Fields {
		if strings.TrimSpace(value) != "" && name != "vat_category" && name != "vat_rate" && name != saveItem {
			return false
		}
	}
	return true
}

// draftFormOf returns the form of a draft, with texts as the API takes them. Decimals keep their digits.
func draftFormOf(d *api.Draft) Form {
	f := Form{Fields: invoice.Texts(draftFields, d), Entries: listed(draftLists, d, 0)}
	for n := range d.Items {
		f.Items = append(f.Items, lineInput{Fields: invoice.Texts(itemFields, &d.Items[n]),
			Entries: listed(lineLists, d, n)})
	}
	f.tooMany = f.countEntries() > console.MaxEntries
	return f
}

// json returns the equivalent API request, so that each rule exists once, in the decoder of the API. The form has texts
// as the API takes them.
func (f Form) json() []byte {
	var out strictjson.Object
	AppendFields(&out, Fields, f.Fields)
	addEntries(&out, draftLists, f.Entries)
	items := make([]strictjson.Object, len(f.Items))
	for n, item := range f.Items {
		AppendFields(&items[n], ItemFields, item.Fields)
		addEntries(&items[n], lineLists, item.Entries)
	}
	out.Add("items", strictjson.Array(items))
	return out.Append(nil)
}

// AppendFields adds what was typed in some fields to an object, in the form that the decoder of the API reads. An empty
// field is absent.
func AppendFields(out *strictjson.Object, fields []FieldSpec, input map[string]string) {
	for _, field := range fields {
		if field.Kind == NumberField {
			out.AddNumber(field.Name, input[field.Name])
		} else {
			out.AddText(field.Name, input[field.Name])
		}
	}
}

// drafts is the API's decoder of drafts.
var drafts = strictjson.For[api.Draft]() //nolint:gochecknoglobals // a plan of a type, read only

// draft validates the form like an API request and returns all faults.
func (f Form) draft() (api.Draft, api.Faults, error) {
	body, err := strictjson.Parse(f.withoutEmptyLines().json())
	if err != nil {
		return api.Draft{}, nil, problem.For(api.CodeMalformedRequest).Because(err)
	}
	draft, faults := drafts.Decode(body)
	return draft, faults.With(invoice.Faults(&draft)), nil
}

// restoreLineBreaks restores the stored form of texts that differ only in line breaks, because a form does not
// distinguish LF from CR LF.
func restoreLineBreaks(draft, before *api.Draft) {
	RestoreLineBreaks(multilineTexts(draft), multilineTexts(before))
}

// multilineTexts returns the texts of a draft and of its lines that may have several lines.
func multilineTexts(d *api.Draft) []**string {
	out := Multiline(draftFields, d)
	for n := range d.Items {
		out = append(out, Multiline(itemFields, &d.Items[n])...)
	}
	return out
}

// RestoreLineBreaks replaces texts by those before that differ only in line breaks.
func RestoreLineBreaks(texts, before []**string) {
	known := map[string]*string{}
	for _, text := range before {
		known[strings.ReplaceAll(**text, "\r\n", "\n")] = *text
	}
	for _, text := range texts {
		*text = cmp.Or(known[**text], *text)
	}
}

// Multiline returns the texts of some fields that may have several lines.
func Multiline[T any](fields []invoice.Field[T], of *T) (out []**string) {
	for _, field := range fields {
		if text, ok := field.Pointer(of).(**string); ok && *text != nil && kindOf(field) == multilineField {
			out = append(out, text)
		}
	}
	return out
}

// The actions of buttons that do not save the form. Those that concern a line are followed by a colon and its number.
const (
	doAdd    = "add"
	doRemove = "remove"
	doUp     = "up"
	doDown   = "down"
	doTotal  = "total"
	// doKeep shows the form again.
	doKeep = "keep"
)

// filledIn has the field that gets the focus after [request.press] has filled the form in.
var filledIn = map[string]string{doTotal: "total_amount", doFill: "recipient_network_id"} //nolint:gochecknoglobals // a constant table

// focus is the control that gets the focus: a field, or a button of a line.
type focus struct {
	// Path is the field's JSON path.
	Path string
	// Do and Line identify the button.
	Do   string
	Line int
}

// apply executes the action of a button. known is false for any other button, which saves the form.
func (f *Form) apply(button string) (at focus, known bool) {
	do, number, _ := strings.Cut(button, ":")
	line, err := strconv.Atoi(number)
	inside := err == nil && 0 <= line && line < len(f.Items)
	switch {
	case do == doAdd:
		if len(f.Items) < maxItems {
			f.Items = append(f.Items, lineInput{Fields: f.nextTax()})
		}
		return focus{Path: "items[" + strconv.Itoa(len(f.Items)-1) + "].name"}, true
	case do == doKeep:
		return focus{}, true
	case filledIn[do] != "":
		return focus{Path: filledIn[do]}, true
	case do == doItem && inside: // which [request.press] has filled in
		return focus{Path: "items[" + strconv.Itoa(line) + "].quantity"}, true
	case do == doRemove && inside:
		f.Items = slices.Delete(f.Items, line, line+1)
		return focus{Do: doRemove, Line: min(line, len(f.Items)-1)}, true
	case do == doUp && inside && line > 0:
		f.Items[line-1], f.Items[line] = f.Items[line], f.Items[line-1]
		return f.moved(doUp, line-1), true
	case do == doDown && inside && line < len(f.Items)-1:
		f.Items[line+1], f.Items[line] = f.Items[line], f.Items[line+1]
		return f.moved(doDown, line+1), true
	}
	if slices.Contains([]string{doRemove, doUp, doDown, doItem}, do) {
		return focus{}, true
	}
	return f.applyEntry(do, number)
}

// nextTax returns the fields of something new, with the tax of the last line.
func (f *Form) nextTax() map[string]string {
	out := map[string]string{}
	if n := len(f.Items); n > 0 {
		last := f.Items[n-1].Fields
		out["vat_category"], out["vat_rate"] = last["vat_category"], last["vat_rate"]
	}
	return out
}

// moved returns the focus after a line was moved: the same button, or the opposite one at the first or last line.
func (f *Form) moved(do string, line int) focus {
	switch {
	case line == 0:
		do = doDown
	case line == len(f.Items)-1:
		do = doUp
	}
	return focus{Do: do, Line: line}
}

// prepareCopy turns the form of an invoice, with texts as the API takes them, into that of a new one: without a number
// and without what belongs to one supply, issued today, and with the same payment period.
func (f *Form) prepareCopy(today time.Time) {
	issued, errIssued := time.Parse(time.DateOnly, f.Fields["issue_date"])
	due, errDue := time.Parse(time.DateOnly, f.Fields["due_date"])
	for _, name := range []string{"invoice_number", "issue_time", "due_date", "tax_point_date", "period.start",
		"period.end", "period.description", "delivery.date", "payment_card.number", "payment_card.network",
		"payment_card.holder", "prepaid_amount", "rounding_amount"} {
		f.Fields[name] = ""
	}
	for _, item := range f.Items {
		item.Fields["period.start"], item.Fields["period.end"] = "", ""
	}
	f.Fields["issue_date"] = today.Format(time.DateOnly)
	if errIssued == nil && errDue == nil && !due.Before(issued) {
		if moved := today.Add(due.Sub(issued)); moved.Year() <= 9999 {
			f.Fields["due_date"] = moved.Format(time.DateOnly)
		}
	}
}

// Unmarshal returns the fields of an entry in their stored form.
func Unmarshal[F invoices.BookFields](text []byte) (fields F, err error) {
	if err := json.Unmarshal(text, &fields); err != nil {
		return fields, fmt.Errorf("stored book entry: %w", err)
	}
	return fields, nil
}
