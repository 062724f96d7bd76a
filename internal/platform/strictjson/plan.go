package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
)

// Decoder reads values into T. It is immutable and safe for concurrent use.
type Decoder[T any] struct{ plan *plan }

// For returns the decoder of a struct type; call it once, at start-up. It panics if T is not supported: if it has a
// field of an unsupported type, an invalid tag, a rule that would be published but not enforced, or a list without
// maxItems, which would not bound the work.
//
// Fields are strings, [api.Decimal], bool, int, structs, pointers to these, and lists of them without pointers.
// Embedded structs are flattened; unexported fields and those with json:"-" are ignored. These tags are rules:
//
//	required:"true"              required: present, not null, not blank (empty or white space only)
//	minLength, maxLength         min_length, max_length: in code points
//	pattern, patternDescription  pattern: the whole text matches
//	enum:"a,b"                   enum: of a string, or of each string of a list
//	format:"date"                date: a real calendar date YYYY-MM-DD, years 0001 to 9999
//	text                         control_characters: none, but "multi" allows TAB, LF and CR, and "any" all but NUL
//	minimum, maximum             minimum, maximum: of a number, inclusive
//	exclusiveMinimum             exclusive_minimum: of a number
//	minItems, maxItems           min_items, max_items: of a list
//
// Without any tag the rules are type, unknown_field, decimal (the bounds of [api.Decimal]) and control_characters.
func For[T any]() *Decoder[T] {
	t := reflect.TypeFor[T]()
	p, err := compile(t, nil)
	if err != nil {
		panic(fmt.Sprintf("strictjson: %v: %v", t, err))
	}
	return &Decoder[T]{plan: p}
}

// plan describes how an object is decoded into a struct type.
type plan struct {
	fields []field
	byName map[string]int
}

// field describes how one member is decoded.
type field struct {
	name     string
	index    []int
	required bool
	read     reader
	object   *plan // of a member that is an object
}

// reader decodes a value into a settable reflect.Value of its type, and reports faults at the path of the decoding. If
// it returns false, it has not changed the destination. It may return with a longer path than it was called with.
type reader func(d *decoding, v Value, into reflect.Value) bool

// maxFields is the largest number of fields of an object.
const maxFields = 128

// compile returns the plan of a struct type. enclosing holds the types that contain it, because recursive types are not
// supported.
func compile(t reflect.Type, enclosing []reflect.Type) (*plan, error) {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil, errors.New("is not a plain struct")
	}
	if slices.Contains(enclosing, t) {
		return nil, errors.New("contains itself")
	}
	p := &plan{byName: map[string]int{}}
	if err := p.add(t, nil, append(enclosing, t)); err != nil {
		return nil, err
	}
	if len(p.fields) > maxFields {
		return nil, fmt.Errorf("has more than %d fields", maxFields)
	}
	return p, nil
}

// add adds the fields of t, which is reached through the indices before.
func (p *plan) add(t reflect.Type, before []int, enclosing []reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(before), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.Anonymous && !f.IsExported():
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			if err := p.add(f.Type, index, enclosing); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			continue
		case name == "":
			return fmt.Errorf("field %s has no json name", f.Name)
		}
		if _, taken := p.byName[name]; taken {
			return fmt.Errorf("two fields are named %s", name)
		}
		compiled, err := compileField(f, enclosing)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		compiled.name, compiled.index = name, index
		p.byName[name] = len(p.fields)
		p.fields = append(p.fields, compiled)
	}
	return nil
}

// compileField returns the reader of a struct field for its type and tags.
func compileField(f reflect.StructField, enclosing []reflect.Type) (field, error) {
	tags := tagReader{tag: f.Tag}
	out := field{required: tags.flag("required")}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var err error
	if t.Kind() == reflect.Slice {
		out.read, err = compileList(t, &tags, enclosing)
	} else {
		out.read, out.object, err = compileSingle(t, &tags, out.required, enclosing)
	}
	if err = errors.Join(err, tags.finish()); err != nil {
		return field{}, err
	}
	if f.Type.Kind() == reflect.Pointer {
		out.read = pointerReader(t, out.read)
	}
	return out, nil
}

// compileSingle makes the reader of everything that is no list.
func compileSingle(t reflect.Type, tags *tagReader, required bool, enclosing []reflect.Type) (reader, *plan, error) {
	switch {
	case t == reflect.TypeFor[api.Decimal]():
		return decimalRule{bounds: tags.bounds()}.read, nil, nil
	case t.Kind() == reflect.String:
		rule := newTextRule(tags)
		rule.required = required
		return rule.read, nil, nil
	case t.Kind() == reflect.Bool:
		return readBool, nil, nil
	case t.Kind() == reflect.Int:
		return intRule{bounds: tags.bounds()}.read, nil, nil
	case t.Kind() == reflect.Struct:
		p, err := compile(t, enclosing)
		if err != nil {
			return nil, nil, fmt.Errorf("%v %w", t, err)
		}
		return p.read, p, nil
	}
	return nil, nil, fmt.Errorf("type %v has no form here", t)
}

// compileList makes the reader of a list.
func compileList(t reflect.Type, tags *tagReader, enclosing []reflect.Type) (reader, error) {
	rule := newListRule(t, tags)
	if rule.max < 0 {
		return nil, errors.New("a list needs maxItems")
	}
	// Of the rules of the elements only enum can stand on the list, as in the published schema.
	inner := tagReader{}
	if t.Elem().Kind() == reflect.String {
		inner.tag = tags.take("enum")
	}
	element, object, err := compileSingle(t.Elem(), &inner, false, enclosing)
	rule.element, rule.keepInvalid = element, object != nil
	return rule.read, errors.Join(err, inner.err)
}

// tagReader reads the rule tags of a field and notes which it was asked for, so that none is left unenforced.
type tagReader struct {
	tag  reflect.StructTag
	used []string
	err  error
}

// finish returns what was wrong with the tags. Of all tags that put a rule into the published schema, those that no
// reader has asked for are wrong too.
func (r *tagReader) finish() error {
	for _, name := range [...]string{
		"required", "minLength", "maxLength", "pattern", "patternDescription", "enum", "format", "text", "minimum", "maximum",
		"minItems", "maxItems", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "minProperties",
		"maxProperties", "dependentRequired", "default", "timeFormat", "encoding", "readOnly", "writeOnly",
	} {
		if _, present := r.tag.Lookup(name); present && !slices.Contains(r.used, name) {
			r.fail(name, errors.New("is not a rule for this type"))
		}
	}
	return r.err
}

// fail notes what is wrong with a tag.
func (r *tagReader) fail(name string, err error) {
	r.err = errors.Join(r.err, fmt.Errorf("tag %s: %w", name, err))
}

// text returns a tag, and "" when it is absent.
func (r *tagReader) text(name string) string {
	r.used = append(r.used, name)
	return r.tag.Get(name)
}

// take returns one tag alone.
func (r *tagReader) take(name string) reflect.StructTag {
	value, present := r.tag.Lookup(name)
	r.used = append(r.used, name)
	if !present {
		return ""
	}
	return reflect.StructTag(name + ":" + strconv.Quote(value))
}

// flag returns a boolean tag, and false when it is absent.
func (r *tagReader) flag(name string) bool {
	switch r.text(name) {
	case "true":
		return true
	case "false", "":
		return false
	}
	r.fail(name, errors.New("is neither true nor false"))
	return false
}

// count returns a tag that is a number from 0, and -1 when it is absent.
func (r *tagReader) count(name string) int {
	text := r.text(name)
	if text == "" {
		return -1
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		r.fail(name, err)
	}
	return int(n)
}

// bounds returns minimum, exclusiveMinimum and maximum.
func (r *tagReader) bounds() bounds {
	one := func(name string) api.Decimal {
		text := r.text(name)
		if text == "" {
			return api.Decimal{}
		}
		d, err := api.ParseDecimal(text)
		if err != nil {
			r.fail(name, err)
		}
		return d
	}
	return bounds{min: one("minimum"), above: one("exclusiveMinimum"), max: one("maximum")}
}
