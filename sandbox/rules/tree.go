package rules

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"quittance/internal/document/ubl"
)

// element is one element of a document.
type element struct {
	name       string // with the usual prefix: cbc:ID; without one for the root; after "?:" for other namespaces
	attributes []xml.Attr
	text       string
	children   []*element
	parent     *element
}

const namespaceUBL = "urn:oasis:names:specification:ubl:schema:xsd:"

// prefixed returns the name of an element with the usual prefix of its namespace.
func prefixed(name xml.Name, root bool) string {
	switch {
	case root && name.Space == namespaceUBL+name.Local+"-2":
		return name.Local
	case name.Space == namespaceUBL+"CommonAggregateComponents-2":
		return "cac:" + name.Local
	case name.Space == namespaceUBL+"CommonBasicComponents-2":
		return "cbc:" + name.Local
	case name.Space == namespaceUBL+"CommonExtensionComponents-2":
		return "ext:" + name.Local
	}
	return "?:" + name.Local
}

var (
	errSize     = fmt.Errorf("The document has more than %d bytes.", MaxSize)           //nolint:staticcheck // the text of a finding
	errElements = fmt.Errorf("The document has more than %d elements.", maxElements)    //nolint:staticcheck // the text of a finding
	errRoots    = errors.New("The document does not have one root.")                    //nolint:staticcheck // the text of a finding
	errRoot     = errors.New("The document is not a UBL 2.1 invoice or a credit note.") //nolint:staticcheck // the text of a finding
)

// read reads a document. Its errors are texts of findings.
func read(document []byte) (*element, error) {
	if len(document) > MaxSize {
		return nil, errSize
	}
	top := &element{}
	at, count := top, 0
	for token, err := range ubl.Tokens(document) {
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if count++; count > maxElements {
				return nil, errElements
			}
			e := &element{name: prefixed(token.Name, at == top), attributes: token.Attr, parent: at}
			at.children = append(at.children, e)
			at = e
		case xml.EndElement:
			at = at.parent
		case xml.CharData:
			if len(at.children) == 0 { // no rule reads text beside elements
				at.text += string(token)
			}
		}
	}
	if at != top || len(top.children) != 1 {
		return nil, errRoots
	}
	root := top.children[0]
	if root.name != "Invoice" && root.name != "CreditNote" {
		return nil, errRoot
	}
	root.parent = nil
	return root, nil
}

// location is the path of an element, with positions where siblings have the same name.
func (e *element) location() string {
	path := ""
	for ; e.parent != nil; e = e.parent {
		position, same := 0, 0
		for _, sibling := range e.parent.children {
			if sibling.name == e.name {
				same++
			}
			if sibling == e {
				position = same
			}
		}
		if same > 1 {
			path = fmt.Sprintf("[%d]", position) + path
		}
		path = "/" + e.name + path
	}
	path = "/" + e.name + path
	if len(path) > maxLocation {
		path = strings.ToValidUTF8(path[:maxLocation], "") + "…"
	}
	return path
}

// all returns the elements at a path of names below e, such as cac:Item/cbc:Name. e may be nil.
func (e *element) all(path string) []*element {
	if e == nil {
		return nil
	}
	name, rest, deeper := strings.Cut(path, "/")
	var found []*element
	for _, child := range e.children {
		switch {
		case child.name != name:
		case deeper:
			found = append(found, child.all(rest)...)
		default:
			found = append(found, child)
		}
	}
	return found
}

// first returns the first element at a path, nil if there is none.
func (e *element) first(path string) *element {
	if found := e.all(path); len(found) > 0 {
		return found[0]
	}
	return nil
}

// or returns e, and the other element if e is nil.
func (e *element) or(other *element) *element {
	if e == nil {
		return other
	}
	return e
}

// lines returns the lines of an invoice or credit note.
func (e *element) lines() []*element {
	return e.all("cac:" + e.name + "Line")
}

// value is the text of an element without surrounding white space.
func (e *element) value() string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(e.text)
}

// get returns the text of the first element at a path, "" if there is none.
func (e *element) get(path string) string { return e.first(path).value() }

// attribute returns an attribute, "" if there is none.
func (e *element) attribute(name string) string {
	if e != nil {
		for _, a := range e.attributes {
			if a.Name.Space == "" && a.Name.Local == name {
				return a.Value
			}
		}
	}
	return ""
}

// each calls f with e and every element below it.
func (e *element) each(f func(*element)) {
	f(e)
	for _, child := range e.children {
		child.each(f)
	}
}

// decimal reads a number in the form of xs:decimal. ok is false if the text is none, or has too many digits.
func decimal(text string) (n *big.Rat, ok bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole+fraction == "" || len(whole)+len(fraction) > maxDigits || strings.Trim(whole+fraction, "0123456789") != "" ||
		len(text)-len(digits) > 1 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// number returns the number at a path, and 0 if there is none: the schema finds the text that is no number.
func (e *element) number(path string) *big.Rat {
	if n, ok := decimal(e.get(path)); ok {
		return n
	}
	return new(big.Rat)
}

func sum(elements []*element, path string) *big.Rat {
	total := new(big.Rat)
	for _, e := range elements {
		total.Add(total, e.number(path))
	}
	return total
}

// within reports whether two numbers are at most a tolerance in hundredths apart.
func within(a, b *big.Rat, hundredths int64) bool {
	distance := new(big.Rat).Sub(a, b)
	return distance.Abs(distance).Cmp(big.NewRat(hundredths, 100)) <= 0
}
