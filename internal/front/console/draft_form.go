package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// fieldKind is the kind of input that a field takes.
type fieldKind int

const (
	textField      fieldKind = iota
	multilineField           // text of several lines
	numberField              // decimal, kept digit for digit
	dateField                // YYYY-MM-DD
	timeField                // HH:MM
)

// fieldSpec describes one field of a draft's form. A test compares the tables with the types of package api.
type fieldSpec struct {
	// name is the JSON name.
	name string
	kind fieldKind
	// codes is the name of the code list to choose from, or "". emirates reports that it applies to the United Arab
	// Emirates alone.
	codes    string
	emirates bool
	// counts is what a number counts.
	counts numberKind
	// required reports that a draft needs the field, and optional that not even a submission needs it.
	required, optional bool
}

// draftFields lists the fields of an invoice, without its lines.
var draftFields = []fieldSpec{ //nolint:gochecknoglobals // a constant table
	{name: "invoice_number", required: true},
	{name: "issue_date", kind: dateField, required: true},
	{name: "issue_time", kind: timeField, optional: true},
	{name: "due_date", kind: dateField},
	{name: "currency", codes: "currencies", required: true},
	{name: "payment_means_code", codes: "payment-means"},
	{name: "recipient_name", required: true},
	{name: "recipient_network_id"},
	{name: "buyer_endpoint_scheme", codes: "endpoint-schemes"},
	{name: "buyer_street"},
	{name: "buyer_city"},
	{name: "buyer_subdivision", codes: "emirates", emirates: true, optional: true},
	{name: "buyer_country", codes: "countries"},
	{name: "buyer_tax_id", optional: true},
	{name: "buyer_legal_id", optional: true},
	{name: "buyer_legal_id_scheme", codes: "registration-types", emirates: true, optional: true},
	{name: "buyer_reference", optional: true},
	{name: "order_reference", optional: true},
	{name: "contract_reference", optional: true},
	{name: "tax_exchange_rate", kind: numberField, optional: true},
	{name: "transaction_flags", optional: true},
	{name: "external_id", optional: true},
	{name: "note", kind: multilineField, optional: true},
	{name: "total_amount", kind: numberField, counts: moneyNumber, required: true},
}

// itemFields lists the fields of a line.
var itemFields = []fieldSpec{ //nolint:gochecknoglobals // a constant table
	{name: "name", required: true},
	{name: "quantity", kind: numberField, required: true},
	{name: "unit_code", codes: unitCodes},
	{name: "net_unit_price", kind: numberField, counts: moneyNumber, required: true},
	{name: "vat_category", codes: "tax-categories"},
	{name: "vat_rate", kind: numberField, counts: percentNumber},
	{name: "item_code", optional: true},
	{name: "description", kind: multilineField, optional: true},
	{name: "base_quantity", kind: numberField, optional: true},
	{name: "gross_unit_price", kind: numberField, counts: moneyNumber, optional: true},
	{name: "discount_amount", kind: numberField, counts: moneyNumber, optional: true},
	{name: "tax_exemption_code", codes: "tax-exemptions", optional: true},
	{name: "tax_exemption_reason", optional: true},
	{name: "commodity_code", optional: true},
	{name: "commodity_scheme", optional: true},
	{name: "order_line_reference", optional: true},
}

// itemPrefix is the prefix of the names of a line's fields. They are repeated for each line.
const itemPrefix = "items."

// maxItems is the maximum number of lines of a draft (api.Draft).
const maxItems = 1000

// draftForm holds the input in the form of a draft.
type draftForm struct {
	// Fields and each of Items hold texts by JSON name.
	Fields map[string]string
	Items  []map[string]string
	// Customer is the identifier of the customer that the recipient was filled in from, or "". SaveCustomer says that the
	// recipient is to be saved as a customer, and the key [saveItem] of a line that the line is to be saved as an item.
	Customer     string
	SaveCustomer bool
}

// readDraftForm reads the input of a draft's form.
func readDraftForm(input url.Values) draftForm {
	f := draftForm{Fields: map[string]string{}, Customer: input.Get("customer"),
		SaveCustomer: input.Get("save_customer") != ""}
	for _, field := range draftFields {
		f.Fields[field.name] = field.normalized(input.Get(field.name))
	}
	count := 0
	for _, field := range itemFields {
		count = max(count, len(input[itemPrefix+field.name]))
	}
	for n := range min(count, maxItems+1) { // one line too many is reported as a fault
		item := map[string]string{}
		for _, field := range itemFields {
			if values := input[itemPrefix+field.name]; n < len(values) {
				item[field.name] = field.normalized(values[n])
			}
		}
		if slices.Contains(input[saveItem], strconv.Itoa(n)) {
			item[saveItem] = "1"
		}
		f.Items = append(f.Items, item)
	}
	return f
}

// normalized returns the input of a field. Browsers send CR LF for each line break.
func (spec fieldSpec) normalized(value string) string {
	if spec.kind == multilineField {
		return strings.ReplaceAll(value, "\r\n", "\n")
	}
	return value
}

// withoutEmptyLines returns the form without empty lines at the end. It keeps the first line.
func (f draftForm) withoutEmptyLines() draftForm {
	for len(f.Items) > 1 && emptyLine(f.Items[len(f.Items)-1]) {
		f.Items = f.Items[:len(f.Items)-1]
	}
	return f
}

// emptyLine reports whether nothing was typed into a line. A new line has the tax of the one before.
func emptyLine(item map[string]string) bool {
	for name, value := range item {
		if strings.TrimSpace(value) != "" && name != "vat_category" && name != "vat_rate" && name != saveItem {
			return false
		}
	}
	return true
}

// draftFormOf returns the form of a draft, with texts as the API takes them. Decimals keep their digits.
func draftFormOf(d *api.Draft) (draftForm, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return draftForm{}, fmt.Errorf("draft: %w", err)
	}
	body, err := strictjson.Parse(text)
	if err != nil {
		return draftForm{}, err
	}
	f := draftForm{Fields: map[string]string{}}
	for name, value := range body.Members() {
		if string(name) != "items" {
			f.Fields[string(name)] = inputOf(value)
			continue
		}
		for element := range value.Elements() {
			item := map[string]string{}
			for name, value := range element.Members() {
				item[string(name)] = inputOf(value)
			}
			f.Items = append(f.Items, item)
		}
	}
	return f, nil
}

// inputOf returns the input that stands for a value.
func inputOf(value strictjson.Value) string {
	if value.Kind() == '0' {
		return string(value.Raw())
	}
	return value.Text()
}

// json returns the equivalent API request. The form has texts as the API takes them.
func (f draftForm) json() []byte {
	var out jsonObject
	appendFields(&out, draftFields, f.Fields)
	items := make([][]byte, len(f.Items))
	for n, item := range f.Items {
		var line jsonObject
		appendFields(&line, itemFields, item)
		items[n] = line.encoded()
	}
	out.addRaw("items", jsonArray(items))
	return out.encoded()
}

func appendFields(out *jsonObject, fields []fieldSpec, input map[string]string) {
	for _, field := range fields {
		if field.kind == numberField {
			out.addNumber(field.name, input[field.name])
		} else {
			out.addText(field.name, input[field.name])
		}
	}
}

// drafts is the API's decoder of drafts.
var drafts = strictjson.For[api.Draft]() //nolint:gochecknoglobals // a plan of a type, read only

// draft validates the form like an API request and returns all faults.
func (f draftForm) draft() (api.Draft, api.Faults, error) {
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
	known := map[string]*string{}
	know := func(text *string) {
		if text != nil {
			known[strings.ReplaceAll(*text, "\r\n", "\n")] = text
		}
	}
	know(before.Note)
	for n := range before.Items {
		know(before.Items[n].Description)
	}
	if draft.Note != nil && known[*draft.Note] != nil {
		draft.Note = known[*draft.Note]
	}
	for n := range draft.Items {
		if text := draft.Items[n].Description; text != nil && known[*text] != nil {
			draft.Items[n].Description = known[*text]
		}
	}
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
func (f *draftForm) apply(button string) (at focus, known bool) {
	do, number, _ := strings.Cut(button, ":")
	line, err := strconv.Atoi(number)
	inside := err == nil && 0 <= line && line < len(f.Items)
	switch {
	case do == doAdd:
		if len(f.Items) < maxItems {
			f.Items = append(f.Items, f.nextItem())
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
	return focus{}, do == doRemove || do == doUp || do == doDown || do == doItem
}

// nextItem returns a new line, with the tax of the last one.
func (f *draftForm) nextItem() map[string]string {
	item := map[string]string{}
	if n := len(f.Items); n > 0 {
		item["vat_category"], item["vat_rate"] = f.Items[n-1]["vat_category"], f.Items[n-1]["vat_rate"]
	}
	return item
}

// moved returns the focus after a line was moved: the same button, or the opposite one at the first or last line.
func (f *draftForm) moved(do string, line int) focus {
	switch {
	case line == 0:
		do = doDown
	case line == len(f.Items)-1:
		do = doUp
	}
	return focus{Do: do, Line: line}
}

// prepareCopy turns the form of an invoice, with texts as the API takes them, into that of a new one: without a number,
// issued today, and with the same payment period.
func (f *draftForm) prepareCopy(today time.Time) {
	issued, errIssued := time.Parse(time.DateOnly, f.Fields["issue_date"])
	due, errDue := time.Parse(time.DateOnly, f.Fields["due_date"])
	f.Fields["invoice_number"], f.Fields["issue_time"], f.Fields["due_date"] = "", "", ""
	f.Fields["issue_date"] = today.Format(time.DateOnly)
	if errIssued == nil && errDue == nil && !due.Before(issued) {
		if moved := today.Add(due.Sub(issued)); moved.Year() <= 9999 {
			f.Fields["due_date"] = moved.Format(time.DateOnly)
		}
	}
}
