package console

import (
	"html/template"
	"strings"
)

// The fields of a form stand eleven to a line, so that Go writes them: a label, a control, and what is said of it.

// attributes writes the attributes of an element.
type attributes struct{ out strings.Builder }

// add writes an attribute.
func (a *attributes) add(name, value string) {
	a.out.WriteString(" " + name + `="`)
	template.HTMLEscape(&a.out, []byte(value))
	a.out.WriteByte('"')
}

// control shows a field of a form.
func (c catalogue) control(f formField) template.HTML {
	id := f.ID()
	var out attributes
	out.out.WriteString(`<div class="field in-` + f.Key + `"><label for="` + id + `">`)
	template.HTMLEscape(&out.out, []byte(c.either("field."+f.Key, f.Key)))
	if f.Optional {
		out.out.WriteString(` <span class="quiet">` + template.HTMLEscapeString(c.either("draft.optional", "")) + `</span>`)
	}
	out.out.WriteString("</label>\n<" + f.element())
	out.add("id", id)
	out.add("name", f.Name)
	out.add("aria-describedby", f.NoteID())
	f.attributes(&out)
	out.out.WriteByte('>')
	if f.Type == multiline {
		out.out.WriteByte('\n') // the parser takes the first one away
		template.HTMLEscape(&out.out, []byte(f.Value))
		out.out.WriteString("</textarea>")
	}
	return template.HTML(out.out.String()+"\n") + c.notes(f.fieldNotes) + "</div>" //nolint:gosec // escaped, or a constant of the tables
}

// element is the name of the control's element.
func (f formField) element() string {
	if f.Type == multiline {
		return "textarea"
	}
	return "input"
}

// attributes adds what depends on the kind of the field.
func (f formField) attributes(out *attributes) {
	if f.Type == multiline {
		out.add("rows", "2")
	} else {
		out.add("type", f.Type)
		out.add("value", f.Value)
	}
	switch {
	case f.Decimal:
		out.add("inputmode", "decimal")
		out.add("class", "number")
	case f.Type == "text" || f.Type == multiline:
		out.add("dir", "auto")
	}
	if f.Required {
		out.add("aria-required", "true")
	}
	if f.List != "" {
		out.add("list", "codes-"+f.List)
	}
	if f.Search {
		out.add("hx-get", "/codes/"+f.List)
		out.add("hx-trigger", "input changed delay:150ms")
		out.add("hx-target", "#codes-"+f.List)
	}
	if len(f.Faults) > 0 {
		out.add("aria-invalid", "true")
	}
	if f.Focus {
		out.out.WriteString(" autofocus")
	}
}

// notes shows what is said at a field.
func (c catalogue) notes(n fieldNotes) template.HTML {
	var out strings.Builder
	out.WriteString(`<div class="notes" id="` + n.NoteID() + `"`)
	if n.Apart {
		out.WriteString(` hx-swap-oob="true"`)
	}
	out.WriteByte('>')
	for _, fault := range n.Faults {
		out.WriteString(`<p class="fault">` + string(icon("bad")) + `<span>` + template.HTMLEscapeString(fault.Message) + `</span></p>`)
	}
	for _, advice := range n.Advice {
		out.WriteString(`<p class="warned">` + string(icon("warn")) + `<span>` + template.HTMLEscapeString(advice.Message) +
			` <span class="quiet">` + template.HTMLEscapeString(advice.Rule) + `</span></span></p>`)
	}
	if n.Missing {
		words := c.either("draft.needed", "")
		if n.Short() {
			words = c.either("draft.needed.short", "")
		}
		out.WriteString(`<p class="hint">` + string(icon("none")) + " " + template.HTMLEscapeString(words) + `</p>`)
	}
	if n.Meaning != "" {
		meaning := template.HTMLEscapeString(n.Meaning)
		out.WriteString(`<p class="hint meaning" title="` + meaning + `">` + meaning + `</p>`)
	}
	return template.HTML(out.String() + "</div>") //nolint:gosec // escaped; a path of the form's own tables
}
