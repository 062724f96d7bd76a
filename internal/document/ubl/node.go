package ubl

import (
	"strconv"
	"strings"

	"quittance/client/api"
)

// node is a place in a document that is written or read. Functions that describe the elements of UBL call its methods
// in the order of the schema: while writing, a method writes the value that it is given; while reading, it finds the
// value and sets it. One description for both directions means that a term that is written is read.
//
// An element is named by its path below the node, and field is the path of its value in parsed.
type node struct {
	out *writer // nil while reading
	in  *reader // nil while writing
	// e is the element that is read, nil if the document does not have it; at the path of its values in parsed, "" or with
	// a dot at its end.
	e  *element
	at string
	// currency is that of the amounts that are written, and credit tells a credit note from an invoice.
	currency string
	credit   bool
}

// attribute is an attribute of an element.
type attribute struct {
	name  string
	value **string
}

// pairs returns the attributes as they are written.
func pairs(attributes []attribute) []pair {
	out := make([]pair, len(attributes))
	for i, a := range attributes {
		out[i] = pair{a.name, value(*a.value)}
	}
	return out
}

// text is an element with a text on one line.
func (n node) text(element, field string, v **string, attributes ...attribute) {
	if n.out != nil {
		n.write(element, value(*v), pairs(attributes)...)
		return
	}
	found := n.find(element, field)
	*v = n.in.name(found)
	for _, a := range attributes {
		*a.value = n.in.attribute(found, a.name)
	}
}

// prose is an element with a text of several lines.
func (n node) prose(element, field string, v **string) {
	if n.out != nil {
		n.write(element, value(*v))
		return
	}
	*v = n.in.prose(n.find(element, field))
}

// amount is an amount in the currency of the document.
func (n node) amount(element, field string, v **api.Amount) {
	if n.out != nil {
		n.write(element, value(*v), pair{"currencyID", n.currency})
		return
	}
	*v = n.in.amount(n.find(element, field), n.at+field)
}

// amountIn is an amount in another currency than that of the document. One in any other is not read.
func (n node) amountIn(currency *string, element, field string, v **api.Amount) {
	if n.out != nil || n.e.child(element).peek("currencyID") == value(currency) {
		n.number(element, field, v, attribute{"currencyID", &currency})
	}
}

// number is a number. Its attributes are those of something else, and written with it.
func (n node) number(element, field string, v **api.Amount, attributes ...attribute) {
	if n.out != nil {
		n.write(element, value(*v), pairs(attributes)...)
		return
	}
	found := n.find(element, field)
	*v = n.in.number(found, n.at+field)
	for _, a := range attributes {
		found.expect(a.name, value(*a.value))
	}
}

// date is a date.
func (n node) date(element, field string, v **string) {
	if n.out != nil {
		n.write(element, value(*v))
		return
	}
	*v = n.in.date(n.find(element, field), n.at+field)
}

// clock is a time of day.
func (n node) clock(element, field string, v **string) {
	if n.out != nil {
		n.write(element, value(*v))
		return
	}
	*v = n.in.clock(n.find(element, field), n.at+field)
}

// quantity is a number with its unit.
func (n node) quantity(element, field string, v **api.Amount, unit **string) {
	if n.out != nil {
		n.number(element, field, v, attribute{"unitCode", unit})
		return
	}
	found := n.find(element, field)
	*v, *unit = n.in.number(found, n.at+field), n.in.attribute(found, "unitCode")
}

// flag is true or false.
func (n node) flag(element string, v *bool) {
	if n.out != nil {
		n.write(element, strconv.FormatBool(*v))
		return
	}
	found := n.e.child(element)
	switch textOf(found) {
	case "true", "1":
		*v = true
		found.see()
	case "false", "0":
		found.see()
	}
}

// fixed is an element whose text is known.
func (n node) fixed(element, content string) {
	if n.out != nil {
		n.write(element, content)
	} else if found := n.e.child(element); textOf(found) == content {
		found.see()
	}
}

// write writes an element inside those around it.
func (n node) write(element, content string, attributes ...pair) {
	outer, inner, nested := strings.Cut(element, "/")
	switch {
	case !nested:
		n.out.leaf(element, content, attributes...)
	case strings.TrimSpace(content) != "":
		n.out.group(outer, func() { n.write(inner, content, attributes...) })
	}
}

// find returns the first element at a path. It warns if there is more than one.
func (n node) find(path, field string) *element {
	e, repeated := n.e, false
	for path != "" {
		name, rest, _ := strings.Cut(path, "/")
		first, count := e.first(name)
		if first == nil {
			return nil
		}
		e, path, repeated = first, rest, repeated || count > 1
	}
	if repeated {
		n.in.warn(n.at+field, ruleRepeated, repeatedMessage)
	}
	e.see()
	return e
}

// group is an element around others, the first of its name. describe is called while reading even if the document does
// not have it.
func (n node) group(name string, describe func(node)) {
	if n.out != nil {
		n.out.group(name, func() { describe(n) })
		return
	}
	n.e, _ = n.e.first(name)
	describe(n)
}

// classified is the node of the first classification of an item that has a child, while reading.
func (n node) classified(child string) node {
	all := n.e.all(classification)
	n.e = nil
	for _, e := range all {
		if e.child(child) != nil {
			n.e = e
			break
		}
	}
	return n
}

// only is a group at a path that a document has once.
func (n node) only(path, field string, describe func(node)) {
	if n.out == nil {
		n.e = n.find(path, field)
		describe(n)
		return
	}
	outer, inner, nested := strings.Cut(path, "/")
	n.out.group(outer, func() {
		if nested {
			n.only(inner, field, describe)
		} else {
			describe(n)
		}
	})
}

// under is the node with the path of its values in parsed one name longer.
func (n node) under(field string) node {
	n.at += field + "."
	return n
}

// each is a group that may be repeated. At most [maxEntries] are read.
func each[T any](n node, name, field string, list *[]T, describe func(node, *T)) {
	if n.out != nil {
		for i := range *list {
			n.out.group(name, func() { describe(n, &(*list)[i]) })
		}
		return
	}
	*list = []T{}
	at := n.at + field
	for i, e := range n.in.entries(n.e, name, at) {
		var entry T
		n.e, n.at = e, at+"["+strconv.Itoa(i)+"]."
		describe(n, &entry)
		*list = append(*list, entry)
	}
}

// optional is a group that is nil if the document does not have it.
func optional[T any](n node, name, field string, v **T, describe func(node, *T)) {
	if n.out == nil && n.e.child(name) != nil {
		*v = new(T)
	}
	if *v != nil {
		n.only(name, field, func(n node) { describe(n.under(field), *v) })
	}
}
