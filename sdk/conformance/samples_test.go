package conformance_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"quittance/internal/front/server"
	"quittance/sdk/samples"
)

var update = flag.Bool("update", false, "write the responses that the samples got into sdk/samples/responses.json")

// sampled is an operation of the API document with its samples.
type sampled struct {
	Method, Path string
	ID           string            `json:"operationId"`
	Deprecated   bool              `json:"deprecated"`
	Scopes       []string          `json:"x-scopes"`
	Order        int               `json:"x-order"`
	Samples      []samples.Program `json:"x-codeSamples"`
}

// sampledOperations returns the operations in the order of the API reference. Deprecated ones have no samples.
func sampledOperations(t *testing.T) []sampled {
	t.Helper()
	text, err := server.OpenAPI("test")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]sampled `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var out []sampled
	for path, methods := range document.Paths {
		for method, o := range methods {
			o.Method, o.Path = strings.ToUpper(method), path
			if !o.Deprecated {
				out = append(out, o)
			}
		}
	}
	slices.SortFunc(out, func(a, b sampled) int { return a.Order - b.Order })
	return out
}

// TestEveryOperationHasSamples checks that no operation lacks a sample in a language, and that every sample has an
// operation.
func TestEveryOperationHasSamples(t *testing.T) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range sampledOperations(t) {
		delete(all, o.ID)
		var languages []string
		for _, program := range o.Samples {
			languages = append(languages, program.Language)
			if program.Label == "" || strings.TrimSpace(program.Source) == "" || strings.Contains(program.Source, "$BODY") {
				t.Errorf("%s: %+v", o.ID, program)
			}
		}
		if want := []string{"shell", "go", "javascript", "python"}; !slices.Equal(languages, want) {
			t.Errorf("%s has samples in %v, want %v", o.ID, languages, want)
		}
	}
	for name := range all {
		t.Errorf("there is no operation %s", name)
	}
}

// withoutMail is the operation whose sample is not run: its code is in an e-mail, and the sandbox sends none.
const withoutMail = "proveAddress"

// TestSamples runs every sample against the real binary. Each must end without an error, and make a call of its
// operation that succeeds.
func TestSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	operations := sampledOperations(t)
	b := newSampleBench(t, operations)
	recorded := map[string]json.RawMessage{}
	var mu sync.Mutex // guards recorded
	t.Run("operations", func(t *testing.T) {
		for _, o := range operations {
			if o.ID == withoutMail {
				continue
			}
			t.Run(o.ID, func(t *testing.T) {
				t.Parallel()
				for _, program := range o.Samples {
					body := b.run(t, o, program)
					if program.Language == "shell" && body != nil {
						mu.Lock()
						recorded[o.ID] = b.shown(t, body)
						mu.Unlock()
					}
				}
			})
		}
	})
	if *update && !t.Failed() {
		recorded[withoutMail] = recorded["changeAddress"]
		text, err := json.MarshalIndent(recorded, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(absolute(t, "sdk/samples/responses.json"), append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(absolute(t, "sdk/samples/responses.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]json.RawMessage
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	for _, o := range operations {
		if o.ID == withoutMail {
			continue
		}
		if (kept[o.ID] != nil) != (recorded[o.ID] != nil) {
			t.Errorf("%s: responses.json has a response: %v, the sample got one: %v; run this test with -update",
				o.ID, kept[o.ID] != nil, recorded[o.ID] != nil)
		}
	}
}

// run runs a sample and returns the body of the response to its call of the operation, if that is JSON.
func (b *sampleBench) run(t *testing.T, o sampled, program samples.Program) []byte {
	t.Helper()
	r := newRecorder(t, b.BaseURL)
	defer r.Close()
	command := b.command(t, o, program)
	command.Env = append(command.Env, "QUITTANCE_URL="+r.URL)
	for name, value := range b.prepare(t, o.ID) {
		command.Env = append(command.Env, strings.ToUpper(name)+"="+value)
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", program.Label, err, program.Source, out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.answers, o.answeredBy)
	if at < 0 {
		t.Fatalf("%s: no call of the operation succeeded\n%s\n%s", program.Label, program.Source, out)
	}
	return r.answers[at].body
}

// answeredBy reports whether a successful response is one of the operation.
func (o sampled) answeredBy(a answered) bool {
	pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(o.Path), `[^/]+`)
	return a.method == o.Method && a.status >= 200 && a.status <= 299 &&
		regexp.MustCompile("^"+pattern+"$").MatchString(a.path)
}
