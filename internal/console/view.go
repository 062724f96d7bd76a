package console

import (
	"html/template"
	"strconv"
	"strings"
	"time"

	"quittance/sdk/go/api"
)

// viewFuncs returns the functions of the templates. The functions t, tn and tOr return messages.
func viewFuncs(messages catalogue, assets *assetFiles) template.FuncMap {
	return template.FuncMap{
		"t":       messages.text,
		"tn":      messages.plural,
		"tOr":     messages.textOr,
		"asset":   assets.path,
		"instant": instant,
		"amount": func(d *api.Decimal) string {
			if d == nil {
				return ""
			}
			return grouped(d.String())
		},
		"grouped":        grouped,
		"breakableParts": breakableParts,
		"outcome":        messages.outcome,
		"delivery":       messages.delivery,
		"notifications":  messages.notifications,
		"controls":       controls,
		"keyLabel":       messages.keyLabel,
		"moveButtons":    messages.moveButtons,
		"suggestedCodes": suggestedCodes,
		"dimension":      func(name string) string { return messages.textOr("state."+name, name) },
		"text":           deref,
		"figure":         figure,
		"byteCount":      func(n *int64) string { return grouped(strconv.FormatInt(*n, 10)) },
		"receivedLabel":  messages.receivedLabel,
		"fieldID":        fieldID,
		"fieldAddress":   fieldAddress,
		"fieldLabel":     messages.fieldLabel,
		"unit":           unitName,
		"rule":           ruleName,
		"itemDetails":    itemDetails,
		"inc":            func(n int) int { return n + 1 },
	}
}

// instantView is a time in UTC, as the templates "when" and "tick" show it.
type instantView struct {
	// Machine is for programs, Precise has microseconds, and Text has seconds.
	Machine, Precise, Text string
	// Day and Clock are the short forms on the axis of a time line.
	Day, Clock string
}

// instant returns the view of a time.Time or *time.Time, and nil for a nil pointer or a zero time.
func instant(at any) *instantView {
	var given time.Time
	switch at := at.(type) {
	case time.Time:
		given = at
	case *time.Time:
		if at != nil {
			given = *at
		}
	}
	if given.IsZero() {
		return nil
	}
	utc := given.UTC()
	return &instantView{Machine: utc.Format(time.RFC3339Nano), Precise: utc.Format("2006-01-02 15:04:05.000000 UTC"), Text: utc.Format("2006-01-02 15:04:05 UTC"),
		Day: utc.Format("2 Jan"), Clock: utc.Format("15:04:05")}
}

// breakableParts splits an identifier after each character at which a line may break.
func breakableParts(text string) []string {
	var parts []string
	for {
		end := strings.IndexAny(text, "_.-") + 1
		if end == 0 || end == len(text) {
			return append(parts, text)
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
}

// grouped returns a decimal number with thousands separators and unchanged digits.
func grouped(number string) string {
	sign, rest := "", number
	if strings.HasPrefix(rest, "-") {
		sign, rest = "−", rest[1:]
	}
	whole, fraction, point := strings.Cut(rest, ".")
	var out strings.Builder
	for n, digit := range whole {
		if n > 0 && (len(whole)-n)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	if point {
		return sign + out.String() + "." + fraction
	}
	return sign + out.String()
}

// fieldID returns the element identifier of a field by its JSON path: the field items[2].vat_rate has f-items-2-vat_rate.
func fieldID(path string) string {
	if !strings.ContainsAny(path, ".[]") {
		return "f-" + path
	}
	id := append(make([]byte, 0, len(path)+2), "f-"...)
	for _, c := range []byte(path) {
		switch c {
		case ']': // followed by a dot or nothing
		case '[', '.':
			id = append(id, '-')
		default:
			id = append(id, c)
		}
	}
	return string(id)
}

// fieldLabel returns the label of a field by its JSON path: items[2].vat_rate is the tax rate of line 3, and seller.city is a
// field of the company's profile.
func (c catalogue) fieldLabel(path string) (string, error) {
	item, name, nested := strings.Cut(path, "].")
	if line, err := strconv.Atoi(strings.TrimPrefix(item, "items[")); nested && err == nil {
		return c.text("field.line", strconv.Itoa(line+1), c.textOr("field."+name, name))
	}
	if line, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(item, "items["), "]")); !nested && err == nil {
		return c.text("field.item", strconv.Itoa(line+1))
	}
	if name, ok := strings.CutPrefix(path, sellerPath); ok {
		return c.text("field.seller", c.textOr("account.profile."+name, name))
	}
	return c.textOr("field."+path, path), nil
}

// sellerPath is the prefix of the JSON paths of the company's profile, which the account page shows.
const sellerPath = "seller."

// fieldAddress returns the address at which a field of an invoice or of its seller can be found.
func fieldAddress(invoiceID, path string) string {
	if strings.HasPrefix(path, sellerPath) {
		return "/account#" + fieldID(path)
	}
	return "/invoices/" + invoiceID + "/edit#" + fieldID(path)
}
