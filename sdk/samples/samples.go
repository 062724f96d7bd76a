// Package samples has a short program for every operation of the API in curl, Go, TypeScript and Python. The API
// document and the reference show them, and a test of package conformance runs each one against the real binary.
//
// Its invariant: what is shown is what the test runs, between a few lines that define the client and the variables.
//
// Start reading at [All]; samples.txt has the programs. $BODY in one of them stands for the body of the request, and a
// text such as "$invoice_id" in the body for a variable.
package samples

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

//go:embed samples.txt
var table string

//go:embed responses.json
var responses []byte

// Sample is the sample of one operation.
type Sample struct {
	// Operation is the operationId, and Query the query of the request.
	Operation, Query string
	// Body is the JSON body of the request, in which "$name" stands for a variable; "" for none.
	Body string
	// File is the body of a request that takes a file, and FileType its media type.
	File, FileType string
	// Response is the response that the program in curl got when the test last recorded it; nil if that is a file.
	Response json.RawMessage

	programs map[string]string // by language, without that in curl
}

// Program is a sample in one language.
type Program struct {
	// Language is shell, go, javascript or python, and Label its name for people.
	Language string `json:"lang"`
	Label    string `json:"label"`
	Source   string `json:"source"`
}

// Call is what a program in curl needs to know about its operation.
type Call struct {
	Method, Path string
	// Public operations need no credential, and those with Login that of a user.
	Public, Login bool
	// Output is the name of the file that the response is; "" for JSON.
	Output string
}

// All returns the samples by operationId.
func All() (map[string]Sample, error) {
	recorded := map[string]json.RawMessage{}
	if err := json.Unmarshal(responses, &recorded); err != nil {
		return nil, fmt.Errorf("samples: responses: %w", err)
	}
	out := map[string]Sample{}
	for entry := range strings.SplitSeq("\n"+table, "\n== ") {
		operation, text, _ := strings.Cut(entry, "\n")
		if operation == "" {
			continue
		}
		s := Sample{Operation: operation, Response: recorded[operation], programs: map[string]string{}}
		for part := range strings.SplitSeq("\n"+text, "\n-- ") {
			head, content, _ := strings.Cut(part, "\n")
			content = strings.TrimRight(content, "\n")
			switch kind, mediaType, _ := strings.Cut(head, " "); kind {
			case "":
			case "query":
				s.Query = content
			case "body":
				s.Body = content
			case "file":
				s.File, s.FileType = content+"\n", mediaType
			case "go", "javascript", "python":
				s.programs[kind] = content
			default:
				return nil, fmt.Errorf("samples: %s has a part %q", operation, head)
			}
		}
		if _, twice := out[operation]; twice || len(s.programs) != 3 {
			return nil, fmt.Errorf("samples: %s does not have one program in each language", operation)
		}
		out[operation] = s
	}
	return out, nil
}

var (
	variable = regexp.MustCompile(`"\$(\w+)"`)
	member   = regexp.MustCompile(`"(\w+)":`)
	constant = regexp.MustCompile(`("(?:[^"\\]|\\.)*")|\b(true|false|null)\b`)
)

// Programs returns the program in each language.
func (s Sample) Programs(call Call) []Program {
	javascript := variable.ReplaceAllStringFunc(member.ReplaceAllString(s.Body, "$1:"), func(found string) string {
		return CamelCase(strings.Trim(found, `"$`), "Id")
	})
	python := constant.ReplaceAllStringFunc(s.Body, func(found string) string {
		if word, ok := map[string]string{"true": "True", "false": "False", "null": "None"}[found]; ok {
			return word
		}
		return variable.ReplaceAllString(found, "$1")
	})
	return []Program{
		{"shell", "curl", s.curl(call)},
		{"go", "Go", s.programs["go"]},
		{"javascript", "TypeScript", strings.ReplaceAll(s.programs["javascript"], "$BODY", javascript)},
		{"python", "Python", strings.ReplaceAll(s.programs["python"], "$BODY", python)},
	}
}

// Example returns the body with examples in place of its variables.
func (s Sample) Example() string {
	return variable.ReplaceAllStringFunc(s.Body, func(found string) string {
		return `"` + Variables()[strings.Trim(found, `"$`)] + `"`
	})
}

// Variables returns an example of each variable of the samples by its name. Those with names of path parameters are the
// same there.
func Variables() map[string]string {
	const id = "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"
	return map[string]string{
		"email": "owner@example.com", "password": "correct horse battery staple",
		"new_password": "another horse battery staple", "new_email": "books@example.com",
		"code": "287082", "url": "https://hooks.example.com/quittance", "attachment": "1", "revision": "1",
		"invoice_id": id, "credit_note_id": id, "incoming_invoice_id": id, "evidence_id": id, "subscription_id": id,
		"delivery_id": id, "customer_id": id, "item_id": id, "api_key_id": id, "user_id": id, "session_id": id,
		"invitation_id": id,
	}
}

// CamelCase returns a name such as invoice_id with capitals, as invoiceID or invoiceId: id is the form of the last part
// "id".
func CamelCase(name, id string) string {
	parts := strings.Split(name, "_")
	for n, part := range parts {
		switch {
		case n == 0:
		case part == "id":
			parts[n] = id
		default:
			parts[n] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// curl returns the program in curl.
func (s Sample) curl(call Call) string {
	url := pathVariable.ReplaceAllStringFunc(call.Path, func(found string) string {
		if found == "{revision}" {
			return "1" // as in the other languages
		}
		return "$" + strings.ToUpper(strings.Trim(found, "{}"))
	})
	if s.Query != "" {
		url += "?" + s.Query
	}
	lines := []string{`curl "$QUITTANCE_URL` + url + `"`}
	if call.Method != http.MethodGet && (call.Method != http.MethodPost || s.Body+s.File == "") {
		lines = append(lines, "-X "+call.Method)
	}
	switch {
	case call.Public:
	case call.Login:
		lines = append(lines, `-H "Authorization: Bearer $QUITTANCE_TOKEN"`)
	default:
		lines = append(lines, `-H "Authorization: Bearer $QUITTANCE_API_KEY"`)
	}
	if s.Body != "" {
		body := variable.ReplaceAllStringFunc(s.Body, func(found string) string {
			return `"'"$` + strings.ToUpper(strings.Trim(found, `"$`)) + `"'"`
		})
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+body+"'")
	}
	if s.File != "" {
		lines = append(lines, `-H "Content-Type: `+s.FileType+`"`, "--data-binary @invoices.csv")
	}
	if call.Output != "" {
		lines = append(lines, "--output "+call.Output)
	}
	return strings.Join(lines, " \\\n  ")
}
