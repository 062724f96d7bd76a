package ubl

import (
	"fmt"
	"slices"
	"strings"

	"quittance/client/api"
)

// maxOthers is how many values without a place in parsed are listed. All are counted.
const maxOthers = 500

// others are the values of a document that have no place in parsed, in the order of the document.
type others struct {
	list  []api.ParsedOther
	count int
}

// see marks the text of an element as read.
func (e *element) see() {
	if e != nil {
		e.seen = true
	}
}

// expect marks an attribute as read if it says what is known.
func (e *element) expect(name, known string) {
	if e.peek(name) == known {
		e.attribute(name)
	}
}

// place is where an element stands: below another, and at which position among those of its name, from 1; 0 if there is
// no other.
type place struct {
	above *place
	name  string
	at    int
}

// maxPath is the longest path that is listed, in bytes. Those of UBL have about 100.
const maxPath = 500

// path returns the path of an element, or the end of a long one. It is made only for what is listed, because a hostile
// document has long names and many elements.
func (p *place) path() string {
	out := ""
	for ; p != nil && len(out) < maxPath; p = p.above {
		name := p.name
		if p.at > 0 {
			name = fmt.Sprintf("%s[%d]", name, p.at)
		}
		out = name + "/" + out
	}
	out = strings.TrimSuffix(out, "/")
	return strings.ToValidUTF8(out[max(0, len(out)-maxPath):], "")
}

// add adds what has not been read of an element and of its content.
func (o *others) add(at *place, e *element) {
	if e.text != "" && !e.seen {
		o.append(at, "", &e.text)
	}
	for n, a := range e.attributes {
		if e.taken&(1<<n) == 0 && a.Name.Space != "xmlns" && !descriptive(e, a.Name.Local) {
			value := strings.TrimSpace(a.Value)
			o.append(at, a.Name.Local, &value)
		}
	}
	o.addContent(at, e)
}

// addContent adds what has not been read of the content of an element. at is nil for the document.
func (o *others) addContent(at *place, e *element) {
	if len(e.children) == 0 { // most elements, which need no table
		return
	}
	names, count := map[string]int{}, map[string]int{}
	for _, child := range e.children {
		names[child.name]++
	}
	for _, child := range e.children {
		below := place{above: at, name: child.name}
		if names[child.name] > 1 {
			count[child.name]++
			below.at = count[child.name]
		}
		if !child.prefixed() {
			o.append(&below, "", nil)
		}
		o.add(&below, child)
	}
}

// descriptive tells whether an attribute adds nothing to what is read: the currency of an amount, which has a warning
// if it is not that of the document, and the code list of a code, which EN 16931 fixes except for that of an item's
// classification. Declarations of namespaces are no attributes.
func descriptive(e *element, attribute string) bool {
	switch {
	case attribute == "xmlns":
		return true
	case !e.seen:
		return false
	case attribute == "currencyID":
		return true
	}
	return strings.HasPrefix(attribute, "list") && e.name != "cbc:ItemClassificationCode"
}

// append adds a value, of an attribute if one is named.
func (o *others) append(at *place, attribute string, value *string) {
	if o.count++; len(o.list) == maxOthers {
		return
	}
	path := at.path()
	if attribute != "" {
		path += "/@" + attribute[:min(len(attribute), maxPath)]
	}
	if value != nil {
		if text := []rune(*value); len(text) > maxValue {
			value = new(string(text[:maxValue-1]) + "…")
		}
	}
	o.list = append(o.list, api.ParsedOther{Path: strings.ToValidUTF8(path, ""), Value: value})
}

// with returns the values, then those of more, as many as are listed, and how many there are.
func (o *others) with(more others) ([]api.ParsedOther, int) {
	all := slices.Concat(o.list, more.list)
	if all == nil {
		all = []api.ParsedOther{}
	}
	return all[:min(len(all), maxOthers)], o.count + more.count
}
