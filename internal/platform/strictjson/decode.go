package strictjson

import (
	"reflect"
	"strconv"

	"quittance/client/api"
)

// MaxUnknown is the maximum number of unknown fields that are listed; the rest are reported as one fault of the body.
// The type bounds the number of all other faults, because every list has maxItems.
const MaxUnknown = 500

// Decode decodes a value into a T and reports all its faults by path. A fault of the body as a whole has the path
// "body". A field that is absent, null or invalid has its zero value. The faults are never nil, and empty if the value
// is valid.
func (dec *Decoder[T]) Decode(v Value) (T, api.Faults) {
	d := &decoding{faults: api.Faults{}}
	out := decodeInto[T](d, dec.plan, v)
	return out, d.faults
}

// Patch applies a JSON merge patch (RFC 7396) to the JSON text of a T and decodes the result, as [Decoder.Decode] does.
// It also reports unknown members that the patch sets to null, which do not appear in the result of [Merge]. The error
// is [ErrMalformed] if the target is not JSON, which is not a fault of the patch.
func (dec *Decoder[T]) Patch(target []byte, patch Value) (T, api.Faults, error) {
	merged, err := Merge(target, patch)
	if err != nil {
		var zero T
		return zero, nil, err
	}
	d := &decoding{faults: api.Faults{}}
	d.unknownNulls(dec.plan, patch)
	out := decodeInto[T](d, dec.plan, Value{text: merged})
	return out, d.faults, nil
}

// decodeInto decodes the body.
func decodeInto[T any](d *decoding, p *plan, v Value) T {
	var out T
	if v.Kind() != '{' {
		d.add(bodyPath, ruleType, "must be an object")
		return out
	}
	p.read(d, v, reflect.ValueOf(&out).Elem())
	return out
}

// decoding is the state of decoding one body.
type decoding struct {
	path    []byte // of the current value
	faults  api.Faults
	count   int // of the faults
	unknown int // of the unknown fields
}

// add reports a fault at a path.
func (d *decoding) add(path, rule, message string) {
	d.count++
	d.faults.Add(path, rule, message)
}

// fault reports a fault of the current value.
func (d *decoding) fault(rule, message string) { d.add(string(d.path), rule, message) }

// unknownField reports a member that matches no field.
func (d *decoding) unknownField(name []byte) {
	switch d.unknown++; {
	case d.unknown <= MaxUnknown:
		d.add(string(appendMember(d.path, name)), ruleUnknown, "is not a field of this object")
	case d.unknown == MaxUnknown+1:
		d.add(bodyPath, ruleUnknown, "has more than "+strconv.Itoa(MaxUnknown)+" unknown fields; only these are listed")
	}
}

// read is the reader of objects. It keeps an object with invalid fields, which then have their zero values.
func (p *plan) read(d *decoding, v Value, into reflect.Value) bool {
	if v.Kind() != '{' {
		d.fault(ruleType, "must be an object")
		return false
	}
	base := len(d.path)
	var present [maxFields]bool
	for name, member := range v.Members() {
		i, known := p.byName[string(name)]
		if !known {
			d.unknownField(name)
			continue
		}
		if member.Kind() == 'n' {
			continue // absent
		}
		present[i] = true
		d.path = appendMember(d.path, name)
		p.fields[i].read(d, member, into.FieldByIndex(p.fields[i].index))
		d.path = d.path[:base]
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.required && !present[i] {
			d.path = appendMember(d.path, []byte(f.name))
			d.fault(ruleRequired, "is required")
			d.path = d.path[:base]
		}
	}
	return true
}

// pointerReader returns the reader of a pointer to t.
func pointerReader(t reflect.Type, read reader) reader {
	return func(d *decoding, v Value, into reflect.Value) bool {
		p := reflect.New(t)
		if !read(d, v, p.Elem()) {
			return false
		}
		into.Set(p)
		return true
	}
}

// unknownNulls reports the unknown members of a patch that are null.
func (d *decoding) unknownNulls(p *plan, patch Value) {
	base := len(d.path)
	for name, member := range patch.Members() {
		i, known := p.byName[string(name)]
		switch {
		case !known && member.Kind() == 'n':
			d.unknownField(name)
		case known && p.fields[i].object != nil:
			d.path = appendMember(d.path, name)
			d.unknownNulls(p.fields[i].object, member)
			d.path = d.path[:base]
		}
	}
}
