package integration_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// crawl makes every GET request of the API that the service itself describes, for everything that its lists have.
func (s *releasedSite) crawl(t *testing.T, token string) map[string]releasedAnswer {
	t.Helper()
	var described struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(s.call(t, http.MethodGet, "/openapi.json", "", "", "").body, &described); err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for pattern, methods := range described.Paths {
		if _, ok := methods["get"]; ok && strings.HasPrefix(pattern, "/api/v1/") {
			patterns = append(patterns, pattern)
		}
	}
	slices.SortFunc(patterns, func(a, b string) int { return len(strings.Split(a, "/")) - len(strings.Split(b, "/")) })
	answers := map[string]releasedAnswer{}
	for _, pattern := range patterns {
		for _, path := range expand(t, pattern, answers) {
			// A list takes one of these parameters, and anything else none.
			for _, query := range []string{"?per_page=100", "?limit=1000", ""} {
				answer := s.answer(t, path+query, token)
				if answer.Status != http.StatusBadRequest || query == "" {
					answers[path+query] = answer
					break
				}
			}
		}
	}
	return answers
}

// expand returns the paths of a pattern, with the identifiers in the lists that are known.
func expand(t *testing.T, pattern string, answers map[string]releasedAnswer) []string {
	t.Helper()
	paths := []string{""}
	for segment := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		var longer []string
		for _, path := range paths {
			name, parameter := strings.CutPrefix(segment, "{")
			if !parameter {
				longer = append(longer, path+"/"+segment)
				continue
			}
			name = strings.TrimSuffix(name, "}")
			for _, id := range listed(t, path, name, answers) {
				longer = append(longer, path+"/"+id)
			}
		}
		paths = longer
	}
	return paths
}

// listed returns the values of a parameter after a path: the identifiers of the list there. Evidence is listed by its
// document.
func listed(t *testing.T, path, name string, answers map[string]releasedAnswer) (ids []string) {
	t.Helper()
	for _, at := range slices.Sorted(maps.Keys(answers)) {
		list, _, _ := strings.Cut(at, "?")
		if list != path && !(name == "evidence_id" && strings.HasSuffix(list, "/evidence")) {
			continue
		}
		var found struct{ Data []map[string]any }
		if json.Unmarshal(answers[at].JSON, &found) != nil {
			continue // one document
		}
		for _, entry := range found.Data {
			value, ok := entry["id"]
			if name == "revision" {
				value, ok = entry["revision"]
			}
			if ok {
				ids = append(ids, fmt.Sprint(value))
			}
		}
	}
	return ids
}

// answer makes a GET request. What is drawn anew for each request, such as a PDF file, is not compared by its bytes.
func (s *releasedSite) answer(t *testing.T, path, token string) releasedAnswer {
	t.Helper()
	got := s.call(t, http.MethodGet, path, token, "", "")
	media := got.header.Get("Content-Type")
	out := releasedAnswer{Status: got.status}
	switch {
	case got.status >= http.StatusBadRequest: // the error has an identifier of its own
	case strings.HasPrefix(media, "application/json"):
		out.JSON = got.body
	case strings.HasPrefix(media, "application/pdf"):
		out.Type = media
	default:
		sum := sha256.Sum256(got.body)
		out.Type, out.SHA256, out.body = media, hex.EncodeToString(sum[:]), got.body
	}
	return out
}

// begins tells whether the first columns of an answer in CSV have a digest: a release may add columns behind those of
// the release before.
func (a releasedAnswer) begins(digest string) bool {
	if !strings.HasPrefix(a.Type, "text/csv") {
		return false
	}
	header, _, _ := strings.Cut(string(a.body), "\n")
	for count := range strings.Count(header, ",") {
		if sum := sha256.Sum256(firstColumns(a.body, count+1)); hex.EncodeToString(sum[:]) == digest {
			return true
		}
	}
	return false
}

// firstColumns returns the first columns of a text in CSV, byte for byte.
func firstColumns(text []byte, count int) (out []byte) {
	quoted, column := false, 0
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && c == ',':
			column++
		case !quoted && (c == '\n' || c == '\r'):
			out, column = append(out, c), 0
			continue
		}
		if column < count {
			out = append(out, c)
		}
	}
	return out
}
