package fakeprovider

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"quittance/sandbox/rules"
)

// The bounds of a recipient look-up: its body in bytes, and the identifier in characters.
const (
	maxLookup      = 4 << 10
	maxRecipientID = 256
)

// recipient is the body of POST /v1/recipients/lookup: an electronic address.
type recipient struct {
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
}

// valid reports whether an address has the form of one: a scheme of four digits, and an identifier without control
// characters.
func (r recipient) valid() bool {
	return len(r.Scheme) == 4 && strings.Trim(r.Scheme, "0123456789") == "" && r.ID != "" &&
		utf8.RuneCountInString(r.ID) <= maxRecipientID &&
		!strings.ContainsFunc(r.ID, unicode.IsControl)
}

// lookup is the response to POST /v1/recipients/lookup.
type lookup struct {
	// Found reports whether the recipient can receive documents; nil if that could not be found out.
	Found *bool `json:"found"`
	// Profiles are the document formats that the recipient accepts.
	Profiles []rules.Profile `json:"profiles"`
}

// postLookup implements POST /v1/recipients/lookup. It answers as receiver discovery does for a document to the same
// recipient.
func (s *Server) postLookup(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxLookup)
	if !ok {
		return
	}
	var wanted recipient
	if !decode(w, body, &wanted) {
		return
	}
	if !wanted.valid() {
		writeError(w, http.StatusUnprocessableEntity, "invalid_recipient",
			"A recipient needs a scheme of four digits and an id of 1 to 256 characters.")
		return
	}
	found := lookup{Profiles: []rules.Profile{}}
	switch s.scenarioFor(wanted.ID).course().discovery {
	case discoveryNotFound:
		found.Found = new(false)
	case discoveryTimedOut:
	default:
		found.Found, found.Profiles = new(true), append(found.Profiles, rules.PINTAE, rules.BIS3)
	}
	writeJSON(w, http.StatusOK, found)
}
