// Package strictjson is the JSON border of the API: it reads one request body into a type of package api.
//
// Everything wrong with a payload is reported at once, each fault under its JSON path and with the name of the broken
// rule; what is not JSON is one error, [ErrMalformed]. The rules are the struct tags of the api types, the same ones
// that the OpenAPI document is made from, so what is published and what is enforced cannot disagree. A rule tag that
// this package does not enforce is refused when the [Decoder] is made.
//
// The work is bounded: time grows with the length of the body only, lists longer than their maxItems are not decoded, and
// at most [MaxUnknown] unknown fields are listed. What is left of the payload is safe to look at, because a field with a
// fault stays at its zero value.
//
// Start reading at [Parse], then [For] and [Decoder.Decode]; [Merge] applies a JSON merge patch before that.
package strictjson
