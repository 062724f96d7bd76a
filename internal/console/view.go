package console

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
)

// viewFuncs are the functions of the templates.
func viewFuncs(words catalogue, assets *assetFiles) template.FuncMap {
	return template.FuncMap{
		"t":      words.say,
		"tn":     words.count,
		"either": words.either,
		"asset":  assets.path,
		"when":   when,
		"tick":   tick,
		"icon":   icon,
		"amount": func(d *api.Decimal) string {
			if d == nil {
				return ""
			}
			return grouped(d.String())
		},
		"grouped":   grouped,
		"word":      breakable,
		"state":     words.state,
		"outcome":   words.outcome,
		"delivery":  words.delivery,
		"control":   words.control,
		"notes":     words.notes,
		"datalists": datalists,
		"dimension": func(name string) string { return words.either("state."+name, name) },
		"text": func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		},
		"field":        fieldID,
		"fieldAddress": fieldAddress,
		"label":        words.field,
		"inc":          func(n int) int { return n + 1 },
	}
}

// when shows an instant: the server writes UTC, which stays as the title; the script puts the text into the reader's
// zone. A nil pointer or a zero time is shown as nothing.
func when(at any) template.HTML {
	var instant time.Time
	switch given := at.(type) {
	case time.Time:
		instant = given
	case *time.Time:
		if given != nil {
			instant = *given
		}
	}
	if instant.IsZero() {
		return ""
	}
	utc := instant.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, //nolint:gosec // digits and letters of a time
		utc.Format(time.RFC3339Nano), utc.Format("2006-01-02 15:04:05.000000 UTC"), utc.Format("2006-01-02 15:04:05 UTC")))
}

// tick is when in two short lines, for a time line: the day and the time.
func tick(at time.Time) template.HTML {
	utc := at.UTC()
	return template.HTML(fmt.Sprintf(`<time class="tick" datetime="%s" title="%s">%s<br>%s</time>`, //nolint:gosec // digits and letters of a time
		utc.Format(time.RFC3339Nano), utc.Format("2006-01-02 15:04:05.000000 UTC"), utc.Format("2 Jan"), utc.Format("15:04:05")))
}

// breakable is a word of the provider with places where a line may break: words are often names of constants.
func breakable(word string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(word))) //nolint:gosec // escaped
}

// breaks puts an opportunity for a break behind what joins the parts of a name.
var breaks = strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>", "-", "-<wbr>") //nolint:gochecknoglobals // it never changes

// icon is a shape of the layout's sprite. It is never alone: a word stands beside it, or names its place.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" aria-hidden="true" focusable="false"><use href="#i-` + template.HTMLEscapeString(name) + `"/></svg>`) //nolint:gosec // escaped
}

// grouped writes a decimal number with its thousands apart; the digits stay as they are.
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

// fieldID is the identifier of a form's field by its JSON path: items[2].vat_rate is at f-items-2-vat_rate.
func fieldID(path string) string {
	if !strings.ContainsAny(path, ".[]") {
		return "f-" + path
	}
	return "f-" + joints.Replace(path)
}

// joints are what joins the parts of a JSON path.
var joints = strings.NewReplacer("[", "-", "].", "-", "]", "", ".", "-") //nolint:gochecknoglobals // it never changes

// field is what a person calls a field by its JSON path: items[2].vat_rate is the tax rate of line 3, and seller.city a
// field of the company's profile.
func (c catalogue) field(path string) (string, error) {
	item, name, nested := strings.Cut(path, "].")
	if line, err := strconv.Atoi(strings.TrimPrefix(item, "items[")); nested && err == nil {
		return c.say("field.line", strconv.Itoa(line+1), c.either("field."+name, name))
	}
	if line, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(item, "items["), "]")); !nested && err == nil {
		return c.say("field.item", strconv.Itoa(line+1))
	}
	if name, ok := strings.CutPrefix(path, sellerPath); ok {
		return c.say("field.seller", c.either("account.profile."+name, name))
	}
	return c.either("field."+path, path), nil
}

// sellerPath begins the JSON paths of advice about the company's profile, which stands on the page of the account.
const sellerPath = "seller."

// fieldAddress is where a field of an invoice, or of its seller, can be seen to.
func fieldAddress(invoiceID, path string) string {
	if strings.HasPrefix(path, sellerPath) {
		return "/account#" + fieldID(path)
	}
	return "/invoices/" + invoiceID + "/edit#" + fieldID(path)
}

// stateView is one dimension of one submission as it is shown: the provider's word, or that there is none.
type stateView struct {
	// Dimension is the JSON name.
	Dimension string
	// Word is the provider's own, "" when it has reported nothing.
	Word string
	// Final tells that the provider, or its adapter's published table, calls the word final.
	Final bool
}

// Reported tells whether the provider has said anything.
func (s stateView) Reported() bool { return s.Word != "" }

// Shape names the icon. It says how final a word is and never whether it is good: that is for the word to say.
func (s stateView) Shape() string {
	switch {
	case !s.Reported():
		return "none"
	case s.Final:
		return "final"
	}
	return "open"
}

// stateViews shows the four dimensions in the order of the specification.
func stateViews(states invoice.States) []stateView {
	out := make([]stateView, 0, len(invoice.Dimensions))
	for _, dimension := range invoice.Dimensions {
		word, final, _ := states.Get(dimension)
		out = append(out, stateView{Dimension: string(dimension), Word: word, Final: final})
	}
	return out
}

// The marks of a state stand in every row of a list, so that Go writes them: a shape, a word, and only then a colour.

// state shows one dimension: a shape for how final the word is, and the provider's word.
func (c catalogue) state(s stateView) template.HTML {
	if !s.Reported() {
		return shaped("state none", "none", template.HTMLEscapeString(c.either("state.none", "")))
	}
	word := template.HTMLEscapeString(s.Word)
	final := template.HTMLEscapeString(c.either("state."+s.Shape(), ""))
	return template.HTML(`<span class="state `+s.Shape()+`" title="`+word+`">`) + icon(s.Shape()) + //nolint:gosec // escaped
		`<bdi>` + breakable(s.Word) + template.HTML(`</bdi><span class="unseen"> (`+final+`)</span></span>`) //nolint:gosec // escaped
}

// outcome shows what we know of our own call: draft, in_progress, acknowledged, rejected or unknown.
func (c catalogue) outcome(name string) template.HTML {
	shape := "unknown"
	switch name {
	case "draft", string(api.OutcomeUnknown):
		shape = name
	case string(api.OutcomeInProgress):
		shape = "wait"
	case string(api.OutcomeAcknowledged):
		shape = "good"
	case string(api.OutcomeRejected):
		shape = "bad"
	}
	return shaped("outcome "+name, shape, template.HTMLEscapeString(c.either("outcome."+name, name)))
}

// delivery shows the state of a delivery.
func (c catalogue) delivery(state api.DeliveryState) template.HTML {
	shape := "wait"
	switch state {
	case api.DeliveryDelivered:
		shape = "good"
	case api.DeliveryFailed:
		shape = "bad"
	case api.DeliveryBlocked:
		shape = "blocked"
	case api.DeliveryPending:
	}
	return shaped("delivery "+string(state), shape, template.HTMLEscapeString(c.either("delivery."+string(state), string(state))))
}

// shaped is a shape with a word, which is escaped; class is one of ours.
func shaped(class, shape, word string) template.HTML {
	return template.HTML(`<span class="`+template.HTMLEscapeString(class)+`">`) + icon(shape) + template.HTML(`<span>`+word+`</span></span>`) //nolint:gosec // escaped
}
