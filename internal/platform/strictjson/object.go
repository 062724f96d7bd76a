package strictjson

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Object makes the text of a JSON object, member by member. The path a.b is that of the member b in the object a; each
// path is added once. The zero value is an empty object.
type Object struct {
	out    []byte // members, each with a comma after it
	groups []group
}

// group is an object inside.
type group struct {
	name string
	out  []byte
}

// Add adds a member whose value is JSON.
func (o *Object) Add(path string, value []byte) {
	out := o.of(path)
	*out = append(append(*out, value...), ',')
}

// AddText adds a text, unless it is empty. Readers of foreign bytes have made sure that it is valid UTF-8.
func (o *Object) AddText(path, text string) {
	if text == "" {
		return
	}
	out := o.of(path)
	quoted, err := jsontext.AppendQuote(*out, text)
	if err != nil {
		quoted = append(*out, `""`...)
	}
	*out = append(quoted, ',')
}

// of returns the members to which the path belongs, after its name has been added.
func (o *Object) of(path string) *[]byte {
	out := &o.out
	above, name, nested := strings.Cut(path, ".")
	if nested {
		out = o.group(above)
	} else {
		name = path
	}
	*out = append(append(append(*out, '"'), name...), `":`...)
	return out
}

// group returns the members of an object inside.
func (o *Object) group(name string) *[]byte {
	for n := range o.groups {
		if o.groups[n].name == name {
			return &o.groups[n].out
		}
	}
	o.groups = append(o.groups, group{name: name})
	return &o.groups[len(o.groups)-1].out
}

// AddNumber adds a number digit for digit, unless it is empty. A text that is not a number stays a text, so that the
// decoder reports what is wrong with it.
func (o *Object) AddNumber(path, text string) {
	trimmed := strings.TrimSpace(text)
	switch value := jsontext.Value(trimmed); {
	case trimmed == "":
	case value.Kind() == '0' && value.IsValid():
		o.Add(path, value)
	default:
		o.AddText(path, text)
	}
}

// Append appends the text of the object.
func (o *Object) Append(text []byte) []byte {
	text = append(append(text, '{'), o.out...)
	for _, g := range o.groups {
		text = append(append(append(text, '"'), g.name...), `":{`...)
		text = append(append(text, bytes.TrimSuffix(g.out, []byte{','})...), "},"...)
	}
	return append(bytes.TrimSuffix(text, []byte{','}), '}')
}

// Array returns the text of an array of objects.
func Array(objects []Object) []byte {
	out := []byte{'['}
	for n := range objects {
		if n > 0 {
			out = append(out, ',')
		}
		out = objects[n].Append(out)
	}
	return append(out, ']')
}
