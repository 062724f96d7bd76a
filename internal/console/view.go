package console

import (
	"html/template"
	"strconv"
	"strings"

	"quittance/client/api"
)

// viewFuncs returns the functions of the templates. The functions t, tn and tOr return messages.
func viewFuncs(messages catalogue, assets *assetFiles) template.FuncMap {
	return template.FuncMap{
		"t":       messages.text,
		"tn":      messages.plural,
		"tOr":     messages.textOr,
		"asset":   assets.path,
		"instant": messages.instant,
		"amount": func(d *api.Decimal) string {
			if d == nil {
				return ""
			}
			return grouped(d.String())
		},
		"money":           money,
		"moneyText":       moneyText,
		"day":             messages.day,
		"statePill":       messages.pillOf,
		"grouped":         grouped,
		"breakableParts":  breakableParts,
		"pill":            newPill,
		"health":          messages.health,
		"dotsText":        messages.dotsText,
		"outcome":         messages.outcome,
		"delivery":        messages.delivery,
		"controls":        controls,
		"keyLabel":        messages.keyLabel,
		"moveButtons":     messages.moveButtons,
		"dimension":       func(name string) string { return messages.textOr("state."+name, name) },
		"text":            deref,
		"comma":           messages.comma,
		"joined":          func(list []string) string { return strings.Join(list, messages.comma()) },
		"tag":             messages.tag.String,
		"direction":       func() string { return messages.direction },
		"figure":          figure,
		"fileSize":        messages.fileSize,
		"receivedLabel":   messages.receivedLabel,
		"fieldID":         fieldID,
		"formAddress":     formAddress,
		"fieldAddress":    fieldAddress,
		"fieldLabel":      messages.fieldLabel,
		"itemDetails":     itemDetails,
		"inc":             func(n int) int { return n + 1 },
		"newPassword":     newPassword,
		"currentPassword": currentPassword,
	}
}

// fileSize returns the size of a file for people, and "" for an unknown one.
func (c catalogue) fileSize(bytes *int64) (string, error) {
	const kilo, mega = 1000, 1000 * 1000
	switch {
	case bytes == nil:
		return "", nil
	case *bytes < kilo:
		return c.plural("file.bytes", int(*bytes))
	case *bytes < mega:
		return c.text("file.kilobytes", strconv.FormatFloat(float64(*bytes)/kilo, 'f', 1, 64))
	}
	return c.text("file.megabytes", grouped(strconv.FormatFloat(float64(*bytes)/mega, 'f', 1, 64)))
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

// fieldID returns the element identifier of a field by its JSON path: the field items[2].vat_rate has
// f-items-2-vat_rate.
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

// fieldLabel returns the label of a field by its JSON path: items[2].vat_rate is the tax rate of line 3, and
// seller.city is a field of the company's profile.
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

// formAddress returns the address of a field of a form, or of its seller's field.
func formAddress(path string) string {
	if strings.HasPrefix(path, sellerPath) {
		return "/account#" + fieldID(path)
	}
	return "#" + fieldID(path)
}

// fieldAddress returns the address at which a field of an invoice or of its seller can be found.
func fieldAddress(invoiceID, path string) string {
	if strings.HasPrefix(path, sellerPath) {
		return "/account#" + fieldID(path)
	}
	return "/invoices/" + invoiceID + "/edit#" + fieldID(path)
}
