package ubl

import (
	"bytes"
	"encoding/xml"
	"strings"

	"quittance/client/api"
)

// Write returns an invoice or a credit note as XML in UTF-8. It writes the terms that are given, and computes nothing:
// whoever calls it makes sure that the rules of a document format are kept. Of what [Read] reads, it does not write the
// files of attachments.
func Write(d *api.ParsedDocument) []byte {
	root := "Invoice"
	if d.Type == api.ReceivedCreditNote {
		root = "CreditNote"
	}
	w := &writer{}
	w.out.WriteString(xml.Header)
	w.group(root, func() {
		n := node{out: w, currency: value(d.Currency), credit: root == "CreditNote"}
		n.document(d)
		for i := range d.Lines {
			n.group("cac:"+root+"Line", func(n node) { n.line(&d.Lines[i]) })
		}
	}, xmlns("", root), xmlns(":cac", "CommonAggregateComponents"), xmlns(":cbc", "CommonBasicComponents"))
	return w.out.Bytes()
}

// xmlns is the declaration of a namespace of UBL.
func xmlns(prefix, name string) pair { return pair{"xmlns" + prefix, namespaceUBL + name + "-2"} }

// writer writes elements with the usual prefixes of UBL. It leaves out elements without content, so that no document
// has an empty one (PEPPOL-EN16931-R008, ibr-079).
type writer struct {
	out   bytes.Buffer
	depth int
}

// pair is an attribute. One with an empty value is left out.
type pair struct{ name, value string }

// leaf writes an element with text, without the white space around it.
func (w *writer) leaf(name, content string, attributes ...pair) {
	if content = strings.TrimSpace(content); content == "" {
		return
	}
	w.text(name, content, attributes...)
}

// text writes an element with text as it is.
func (w *writer) text(name, content string, attributes ...pair) {
	w.start(name, attributes...)
	w.escape(content)
	w.out.WriteString("</" + name + ">\n")
}

// group writes an element around the elements that content writes.
func (w *writer) group(name string, content func(), attributes ...pair) {
	before := w.out.Len()
	w.start(name, attributes...)
	w.out.WriteByte('\n')
	opened := w.out.Len()
	w.depth++
	content()
	w.depth--
	if w.out.Len() == opened {
		w.out.Truncate(before)
		return
	}
	w.indent()
	w.out.WriteString("</" + name + ">\n")
}

func (w *writer) start(name string, attributes ...pair) {
	w.indent()
	w.out.WriteString("<" + name)
	for _, a := range attributes {
		if a.value = strings.TrimSpace(a.value); a.value == "" {
			continue
		}
		w.out.WriteString(" " + a.name + `="`)
		w.escape(a.value)
		w.out.WriteByte('"')
	}
	w.out.WriteByte('>')
}

func (w *writer) indent() {
	for range w.depth {
		w.out.WriteString("  ")
	}
}

// escape writes text; a buffer does not return errors.
func (w *writer) escape(s string) { _ = xml.EscapeText(&w.out, []byte(s)) }

// value returns an optional text, and "" for an absent one.
func value[T ~string](v *T) string {
	if v == nil {
		return ""
	}
	return string(*v)
}
