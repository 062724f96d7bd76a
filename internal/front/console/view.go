package console

import (
	"html/template"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/front/page"
)

// viewFuncs returns the functions of the templates that need nothing but the texts.
func viewFuncs(messages Catalogue) template.FuncMap {
	return template.FuncMap{
		"amount": func(d *api.Decimal) string {
			if d == nil {
				return ""
			}
			return page.Grouped(d.String())
		},
		"dimension":    func(name string) string { return messages.TextOr("state."+name, name) },
		"fileSize":     messages.fileSize,
		"fieldID":      FieldID,
		"formAddress":  formAddress,
		"fieldAddress": fieldAddress,
		"fieldLabel":   messages.FieldLabel,
	}
}

// fileSize returns the size of a file for people, and "" for an unknown one.
func (c Catalogue) fileSize(bytes *int64) (string, error) {
	const kilo, mega = 1000, 1000 * 1000
	switch {
	case bytes == nil:
		return "", nil
	case *bytes < kilo:
		return c.Plural("file.bytes", int(*bytes))
	case *bytes < mega:
		return c.Text("file.kilobytes", strconv.FormatFloat(float64(*bytes)/kilo, 'f', 1, 64))
	}
	return c.Text("file.megabytes", page.Grouped(strconv.FormatFloat(float64(*bytes)/mega, 'f', 1, 64)))
}

// FieldID returns the element identifier of a field by its JSON path: the field items[2].vat_rate has
// f-items-2-vat_rate.
func FieldID(path string) string {
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

// FieldLabel returns the label of a field by its JSON path: items[2].vat_rate is the tax rate of line 3,
// items[2].charges[0].amount the amount of its first charge, and seller.city a field of the company's profile.
func (c Catalogue) FieldLabel(path string) (string, error) {
	if name, ok := strings.CutPrefix(path, SellerPath); ok {
		return c.Text("field.seller", c.TextOr("account.profile."+name, name))
	}
	list, rest, listed := strings.Cut(path, "[")
	number, rest, _ := strings.Cut(rest, "]")
	n, err := strconv.Atoi(number)
	if entry := entryKeys[list]; listed && err == nil && entry != "" {
		label, err := c.Text("field."+entry, strconv.Itoa(n+1))
		if err != nil || rest == "" {
			return label, err
		}
		within, err := c.FieldLabel(strings.TrimPrefix(rest, "."))
		if err != nil {
			return "", err
		}
		return c.Text("field.within", label, within)
	}
	return c.TextOr("field."+path, path), nil
}

// entryKeys has the keys of the labels of entries by the names of their lists.
var entryKeys = map[string]string{ //nolint:gochecknoglobals // a constant table
	"items": "item", "allowances": "allowance", "charges": "charge",
	"preceding_invoices": "preceding_invoice", "attributes": "attribute"}

// SellerPath is the prefix of the JSON paths of the company's profile, which the account page shows.
const SellerPath = "seller."

// formAddress returns the address of a field of a form, or of its seller's field.
func formAddress(path string) string {
	if strings.HasPrefix(path, SellerPath) {
		return "/account#" + FieldID(path)
	}
	return "#" + FieldID(path)
}

// fieldAddress returns the address at which a field of an invoice or of its seller can be found.
func fieldAddress(invoiceID, path string) string {
	if strings.HasPrefix(path, SellerPath) {
		return "/account#" + FieldID(path)
	}
	return "/invoices/" + invoiceID + "/edit#" + FieldID(path)
}
