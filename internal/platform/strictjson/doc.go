// Package strictjson decodes the JSON body of a request into a type of package api.
//
// It reports all faults of a payload at once, each with its JSON path and the name of the broken rule. A body that is
// not JSON is a single error, [ErrMalformed]. The rules are the struct tags of the api types, the same ones that the
// OpenAPI document is made from, so the published and the enforced rules cannot differ. Making a [Decoder] fails for a
// rule tag that this package does not enforce.
//
// The work is bounded: time grows with the length of the body only, lists longer than their maxItems are not decoded,
// and at most [MaxUnknown] unknown fields are listed. The decoded value is safe to use, because a field with a fault
// has its zero value.
//
// Start reading at [Parse], then [For] and [Decoder.Decode]; [Merge] applies a JSON merge patch before that.
package strictjson
