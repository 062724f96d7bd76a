package console

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
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
		"cells":     words.cells,
		"told":      words.told,
		"outcome":   words.outcome,
		"delivery":  words.delivery,
		"controls":  words.controls,
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
		"unit":         unitName,
		"moves":        words.moves,
		"rule":         ruleName,
		"itemFacts":    itemFacts,
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
	text := make([]byte, 0, 128)
	text = utc.AppendFormat(append(text, `<time datetime="`...), time.RFC3339Nano)
	text = utc.AppendFormat(append(text, `" title="`...), "2006-01-02 15:04:05.000000 UTC")
	text = utc.AppendFormat(append(text, `">`...), "2006-01-02 15:04:05 UTC")
	return template.HTML(append(text, "</time>"...)) //nolint:gosec // digits and letters of a time
}

// tick is when in two short lines, for a time line: the day and the time.
func tick(at time.Time) template.HTML {
	utc := at.UTC()
	return template.HTML(fmt.Sprintf(`<time class="tick" datetime="%s" title="%s">%s<br>%s</time>`, //nolint:gosec // digits and letters of a time
		utc.Format(time.RFC3339Nano), utc.Format("2006-01-02 15:04:05.000000 UTC"), utc.Format("2 Jan"), utc.Format("15:04:05")))
}

// breakable is a word of the provider with places where a line may break: words are often names of constants.
func breakable(word string) template.HTML {
	word = escaped(word)
	if strings.ContainsAny(word, "_.-") {
		word = breaks.Replace(word)
	}
	return template.HTML(word) //nolint:gosec // escaped
}

// breaks puts an opportunity for a break behind what joins the parts of a name.
var breaks = strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>", "-", "-<wbr>") //nolint:gochecknoglobals // it never changes

// icon is a shape of the layout's sprite. It is never alone: a word stands beside it, or names its place.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" aria-hidden="true" focusable="false"><use href="#i-` + escaped(name) + `"/></svg>`) //nolint:gosec // escaped
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
	id := append(make([]byte, 0, len(path)+2), "f-"...)
	for _, c := range []byte(path) {
		switch c {
		case ']': // a dot follows it, or nothing
		case '[', '.':
			id = append(id, '-')
		default:
			id = append(id, c)
		}
	}
	return string(id)
}

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
	// Meaning is what they say the word means, "" when they do not say it.
	Meaning api.Meaning
}

// Reported tells whether the provider has said anything.
func (s stateView) Reported() bool { return s.Word != "" }

// Shape names the icon. It says how final a word is and never whether it is good: that is for the published meaning to say,
// in a colour.
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
		word := states.Word(dimension)
		out = append(out, stateView{Dimension: string(dimension), Word: word.Value, Final: word.Terminal, Meaning: word.Meaning})
	}
	return out
}

// The marks of a state stand in every row of a list, so that Go writes them: a shape, a word, and only then a colour.

// Class is what colours it: what the word was said to mean, and nothing for a word of which that was not said.
func (s stateView) Class() string {
	if s.Meaning == "" {
		return ""
	}
	return " means-" + string(s.Meaning)
}

// state shows one dimension: a shape for how final the word is, and the provider's word.
func (c catalogue) state(s stateView) template.HTML {
	var m markup
	c.writeState(&m, s)
	return m.html()
}

func (c catalogue) writeState(m *markup, s stateView) {
	if !s.Reported() {
		m.shaped("state none", "none", c.either("state.none", ""))
		return
	}
	m.raw(`<span class="state `, s.Shape(), s.Class(), `"`)
	m.add("title", s.Word)
	m.raw(">", string(icon(s.Shape())), "<bdi>", string(breakable(s.Word)), `</bdi><span class="unseen"> (`)
	m.text(c.either("state."+s.Shape(), ""))
	if s.Meaning != "" {
		m.text(", " + c.either("state.means."+string(s.Meaning), ""))
	}
	m.raw(")</span></span>")
}

// cells are those of an invoice's row in the list which say where it stands: the stage, the four dimensions, and whether
// the company's systems were told.
func (c catalogue) cells(r invoiceRow) (template.HTML, error) {
	var m markup
	m.out.Grow(2 << 10)
	m.raw(`<td role="cell" class="c-stage">`, string(c.outcome(r.Outcome)))
	if r.Draft() {
		ready := c.either("invoices.ready", "")
		if r.Missing > 0 {
			var err error
			if ready, err = c.count("invoices.missing", r.Missing); err != nil {
				return "", err
			}
		}
		m.raw(`<span class="under">`)
		m.text(ready)
		m.raw(`</span></td><td role="cell" class="c-draft" colspan="5"></td>`)
		return m.html(), nil
	}
	m.raw("</td>")
	for _, s := range r.States {
		m.raw(`<td role="cell" class="c-state"`)
		m.add("data-label", c.either("state."+s.Dimension, s.Dimension))
		m.raw(">")
		c.writeState(&m, s)
		m.raw("</td>")
	}
	m.raw(`<td role="cell" class="c-told"`)
	m.add("data-label", c.either("invoices.told", ""))
	told, err := c.told(r.Told)
	m.raw(">", string(told), "</td>")
	return m.html(), err
}

// told shows how a company's systems were told of something.
func (c catalogue) told(t store.Told) (template.HTML, error) {
	lost := t.Failed + t.Blocked
	deliveries := t.Delivered + t.Pending + lost
	var m markup
	switch {
	case lost > 0:
		words, err := c.count("told.failed", lost)
		if err != nil {
			return "", err
		}
		m.shaped("delivery failed", "bad", words)
	case t.Pending > 0:
		m.shaped("delivery pending", "wait", c.either("told.pending", ""))
	case deliveries > 0:
		words, err := c.say("told.delivered.text", grouped(strconv.Itoa(t.Delivered)), grouped(strconv.Itoa(deliveries)))
		if err != nil {
			return "", err
		}
		m.raw(`<span class="delivery delivered"`)
		m.add("title", words)
		m.raw(">", string(icon("good")), "<span>")
		m.text(c.either("told.delivered", ""))
		m.raw("</span></span>")
	case t.Events > 0:
		m.shaped("state none", "none", c.either("told.nobody", ""))
	default:
		m.shaped("state none", "none", c.either("told.none", ""))
	}
	return m.html(), nil
}

// outcome shows what we know of our own call: draft, in_progress, acknowledged, rejected, resolved_rejected or unknown.
func (c catalogue) outcome(name string) template.HTML {
	shape := "unknown"
	switch name {
	case "draft", string(api.OutcomeUnknown):
		shape = name
	case string(api.OutcomeInProgress):
		shape = "wait"
	case string(api.OutcomeAcknowledged):
		shape = "good"
	case string(api.OutcomeRejected), string(api.OutcomeResolvedRejected):
		shape = "bad"
	}
	return shaped("outcome "+name, shape, c.either("outcome."+name, name))
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
	return shaped("delivery "+string(state), shape, c.either("delivery."+string(state), string(state)))
}

// shaped is a shape with a word.
func shaped(class, shape, word string) template.HTML {
	var m markup
	m.shaped(class, shape, word)
	return m.html()
}

// shaped writes a shape with a word.
func (m *markup) shaped(class, shape, word string) {
	m.raw("<span")
	m.add("class", class)
	m.raw(">", string(icon(shape)), "<span>")
	m.text(word)
	m.raw("</span></span>")
}
