package console

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"quittance/api"
)

// The fields of a form stand sixteen to a line, so that Go writes them: a label, a control, and what is said of it.

// markup writes HTML: what is given to raw is a constant of ours, or was escaped.
type markup struct{ out strings.Builder }

func (m *markup) raw(parts ...string) {
	for _, part := range parts {
		m.out.WriteString(part)
	}
}

// text writes a text, escaped.
func (m *markup) text(text string) { m.out.WriteString(escaped(text)) }

// escaped is a text as HTML, in an element or in an attribute between quotation marks. Most texts are that already.
func escaped(text string) string {
	for n := range len(text) {
		switch text[n] {
		case '"', '\'', '&', '<', '>', 0:
			return template.HTMLEscapeString(text)
		}
	}
	return text
}

// add writes an attribute.
func (m *markup) add(name, value string) {
	m.raw(" ", name, `="`)
	m.text(value)
	m.raw(`"`)
}

// html is what was written.
func (m *markup) html() template.HTML { return template.HTML(m.out.String()) } //nolint:gosec // every part was escaped, or is a constant

// controls shows fields of a form, one behind the other.
func (c catalogue) controls(fields map[string]formField, names ...string) (template.HTML, error) {
	var m markup
	m.out.Grow(len(names) << 9)
	for _, name := range names {
		field, known := fields[name]
		if !known {
			return "", fmt.Errorf("console: no field %q", name)
		}
		c.writeControl(&m, &field)
	}
	return m.html(), nil
}

// writeControl writes a field of a form.
func (c catalogue) writeControl(m *markup, f *formField) {
	id := f.ID()
	m.raw(`<div class="field in-`, f.Key, `"><label for="`, id, `">`)
	m.text(c.either("field."+f.Key, f.Key))
	if f.Optional {
		m.raw(` <span class="quiet">`)
		m.text(c.either("draft.optional", ""))
		m.raw(`</span>`)
	}
	m.raw("</label>\n<", f.element())
	m.add("id", id)
	m.add("name", f.Name)
	m.add("aria-describedby", f.NoteID())
	f.attributes(m)
	m.raw(">")
	if f.Type == multiline {
		m.raw("\n") // the parser takes the first one away
		m.text(f.Value)
		m.raw("</textarea>")
	}
	m.raw("\n")
	c.writeNotes(m, &f.fieldNotes)
	m.raw("</div>")
}

// moves shows the buttons that move and remove a line of a draft.
func (c catalogue) moves(l formLine) (template.HTML, error) {
	var m markup
	number := strconv.Itoa(l.Number)
	up, errUp := c.say("draft.up", number)
	down, errDown := c.say("draft.down", number)
	remove, errRemove := c.say("draft.remove", number)
	for _, button := range [...]struct {
		do, name string
		off      bool
	}{{doUp, up, l.First}, {doDown, down, l.Last}, {doRemove, remove, false}} {
		m.raw(`<button class="tool" name="do"`)
		m.add("value", button.do+":"+strconv.Itoa(l.Index()))
		m.add("hx-post", l.Action)
		m.raw(` hx-target="#draft" hx-swap="outerHTML"`)
		m.add("aria-label", button.name)
		m.add("title", button.name)
		if button.off {
			m.raw(" disabled")
		}
		if l.Focus == button.do {
			m.raw(" autofocus")
		}
		m.raw(">", string(icon(button.do)), "</button>")
	}
	return m.html(), errors.Join(errUp, errDown, errRemove)
}

// element is the name of the control's element.
func (f *formField) element() string {
	if f.Type == multiline {
		return "textarea"
	}
	return "input"
}

// attributes adds what depends on the kind of the field.
func (f *formField) attributes(out *markup) {
	if f.Type == multiline {
		out.add("rows", "2")
	} else {
		out.add("type", f.Type)
		out.add("value", f.Value)
	}
	switch {
	case f.Decimal:
		out.raw(` inputmode="decimal" class="number"`)
	case f.Type == "text" || f.Type == multiline:
		out.raw(` dir="auto"`)
	}
	if f.Required {
		out.raw(` aria-required="true"`)
	}
	if f.List != "" {
		out.add("list", "codes-"+f.List)
	}
	if f.Search {
		out.add("hx-get", "/codes/"+f.List)
		out.raw(` hx-trigger="input changed delay:150ms"`)
		out.add("hx-target", "#codes-"+f.List)
	}
	if len(f.Faults) > 0 {
		out.raw(` aria-invalid="true"`)
	}
	if f.Focus {
		out.raw(" autofocus")
	}
}

// notes shows what is said at a field.
func (c catalogue) notes(n fieldNotes) template.HTML {
	var m markup
	c.writeNotes(&m, &n)
	return m.html()
}

// ruleName is what people can look a rule up by: its official identifier, or the API's own word.
func ruleName(f api.Fault) string { return cmp.Or(f.RuleID, f.Rule) }

// writeNotes writes what is said at a field.
func (c catalogue) writeNotes(m *markup, n *fieldNotes) {
	m.raw(`<div class="notes" id="`, n.NoteID(), `"`)
	if n.Apart {
		m.raw(` hx-swap-oob="true"`)
	}
	m.raw(">")
	for _, fault := range n.Faults {
		m.raw(`<p class="fault">`, string(icon("bad")), `<span>`)
		m.text(fault.Message)
		if n.Comma {
			m.raw(". ")
			m.text(c.either("draft.comma", ""))
		}
		m.raw(`</span></p>`)
	}
	for _, advice := range n.Advice {
		m.raw(`<p class="warned">`, string(icon("warn")), `<span>`)
		m.text(advice.Message)
		m.raw(` <span class="quiet">`)
		m.text(ruleName(advice))
		m.raw(`</span></span></p>`)
	}
	if n.Missing {
		needed := c.either("draft.needed", "")
		if n.Short() {
			needed = c.either("draft.needed.short", "")
		}
		m.raw(`<p class="hint">`, string(icon("none")), " ")
		m.text(needed)
		m.raw(`</p>`)
	}
	if n.Meaning != "" {
		m.raw(`<p class="hint meaning"`)
		m.add("title", n.Meaning)
		m.raw(">")
		m.text(n.Meaning)
		m.raw(`</p>`)
	}
	m.raw("</div>")
}
