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
	if e != nil {
		if before := e.taken; e.attribute(name) != known {
			e.taken = before
		}
	}
}

// add adds what has not been read of the content of an element. Its path is that of the element, "" for the document.
func (o *others) add(path string, e *element) {
	names := map[string]int{}
	for _, child := range e.children {
		names[child.name]++
	}
	at := map[string]int{}
	for _, child := range e.children {
		below := strings.TrimPrefix(path+"/"+child.name, "/")
		if at[child.name]++; names[child.name] > 1 {
			below = fmt.Sprintf("%s[%d]", below, at[child.name])
		}
		if child.text != "" && !child.seen {
			o.append(below, &child.text)
		}
		if !child.prefixed() {
			o.append(below, nil)
		}
		for n, a := range child.attributes {
			if child.taken&(1<<n) == 0 && a.Name.Space == "" && !descriptive(child, a.Name.Local) {
				value := strings.TrimSpace(a.Value)
				o.append(below+"/@"+a.Name.Local, &value)
			}
		}
		o.add(below, child)
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

func (o *others) append(path string, value *string) {
	if o.count++; len(o.list) == maxOthers {
		return
	}
	if value != nil {
		if text := []rune(*value); len(text) > maxValue {
			value = new(string(text[:maxValue-1]) + "…")
		}
	}
	o.list = append(o.list, api.ParsedOther{Path: path, Value: value})
}

// with returns the values, then those of more, as many as are listed, and how many there are.
func (o *others) with(more others) ([]api.ParsedOther, int) {
	all := slices.Concat(o.list, more.list)
	if all == nil {
		all = []api.ParsedOther{}
	}
	return all[:min(len(all), maxOthers)], o.count + more.count
}
