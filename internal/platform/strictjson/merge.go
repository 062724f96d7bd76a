package strictjson

// Merge applies a JSON merge patch (RFC 7396) to a target and returns the new text. Members that the patch does not
// name keep their text, including the digits of numbers, and their order; new members follow in the order of the patch.
// The result is accepted by [Parse] again. The error is [ErrMalformed] when the target is not accepted by Parse.
//
// A null in the patch for a member that does not exist has no effect on the result; [Decoder.Patch] reports such a
// member if it is unknown.
func Merge(target []byte, patch Value) ([]byte, error) {
	value, err := Parse(target)
	if err != nil {
		return nil, err
	}
	return appendMerged(make([]byte, 0, len(target)+len(patch.text)), value, patch), nil
}

// appendMerged is the function MergePatch of RFC 7396, section 2, on text.
func appendMerged(out []byte, target, patch Value) []byte {
	if patch.Kind() != '{' {
		return append(out, patch.text...)
	}
	changes := map[string]Value{}
	for name, change := range patch.Members() {
		changes[string(name)] = change
	}
	out = append(out, '{')
	known := map[string]bool{}
	for name, value := range target.Members() {
		known[string(name)] = true
		change, changed := changes[string(name)]
		switch {
		case !changed:
			out = append(appendName(out, name), value.text...)
		case change.Kind() != 'n':
			out = appendMerged(appendName(out, name), value, change)
		}
	}
	for name, change := range patch.Members() {
		if !known[string(name)] && change.Kind() != 'n' {
			// With no target, so that the nulls inside are left out.
			out = appendMerged(appendName(out, name), Value{}, change)
		}
	}
	return append(out, '}')
}
