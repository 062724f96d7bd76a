package provider_test

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/provider"
	"quittance/internal/secret"
	"quittance/test/kit"
	"quittance/test/providertest"
)

// The program and the description of scripts/provider-mocks.
var (
	prism   = flag.String("prism", "", "the program prism, which checks calls against an OpenAPI document")
	openAPI = flag.String("openapi", "", "the OpenAPI document of e-invoice.be")
)

// startPrism runs prism until the test ends, and returns its address. The test fails if prism finds a violation of the
// description.
func startPrism(t *testing.T, args ...string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	// t.Context ends before the cleanup
	command := exec.CommandContext(t.Context(), *prism, append(args, "--errors", "--port", port)...)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Wait() // it was killed
		if text := output.String(); t.Failed() || strings.Contains(text, "Violation") {
			t.Errorf("prism says\n%s", text)
		}
	})
	kit.Eventually(t, func() error {
		conn, err := net.Dial("tcp", address.String())
		if err != nil {
			return fmt.Errorf("prism does not start: %w", err)
		}
		_ = conn.Close() // it has served its purpose
		return nil
	})
	return "http://" + address.String()
}

func openEInvoiceBE(t *testing.T, url string) *provider.EInvoiceBE {
	t.Helper()
	adapter, err := provider.NewEInvoiceBE(provider.Config{BaseURL: url, Credential: secret.New(credential),
		Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.Close)
	return adapter
}

// TestEInvoiceBEMock makes every call to servers that another program makes from the provider's whole OpenAPI document:
// to the stand-in through a proxy that refuses requests and responses which violate the document, and to a mock server
// with random responses.
func TestEInvoiceBEMock(t *testing.T) {
	if *prism == "" {
		return // left out on purpose: scripts/provider-mocks runs it
	}
	description, err := filepath.Abs(*openAPI)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("proxy", func(t *testing.T) { throughProxy(t, description) })
	t.Run("mock", func(t *testing.T) { againstMock(t, description) })
}

func throughProxy(t *testing.T, description string) {
	standIn := providertest.NewEInvoiceBE(credential, time.Now())
	server := httptest.NewServer(standIn)
	t.Cleanup(server.Close)
	adapter := openEInvoiceBE(t, startPrism(t, "proxy", description, server.URL))
	doc := providertest.BelgianDocument("ref-1")
	doc.ProviderReference = readReport(t, adapter, adapter.Submit(t.Context(), doc)).ProviderReference
	readReport(t, adapter, adapter.Status(t.Context(), provider.Query{Reference: doc.Reference, Body: doc.Body}))
	if report := readReport(t, adapter, adapter.Submit(t.Context(), doc)); report.Status != invoice.Processing {
		t.Errorf("%+v", report)
	}
	if again := adapter.Submit(t.Context(), doc); again.Kind != provider.Inconclusive {
		t.Errorf("%v: %s", again.Kind, again.Body)
	}
	readReport(t, adapter, adapter.Status(t.Context(),
		provider.Query{Reference: doc.Reference, ProviderReference: doc.ProviderReference}))
	if missing := adapter.Status(t.Context(), provider.Query{Reference: doc.Reference,
		ProviderReference: "missing"}); missing.Kind != provider.UnknownReference {
		t.Errorf("%v: %s", missing.Kind, missing.Body)
	}
	if recipient, response := adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208",
		ID: "0456789034"}); recipient.Found == nil || !*recipient.Found || len(recipient.Profiles) != 1 {
		t.Errorf("%+v: %s", recipient, response.Body)
	}
	if check := adapter.Check(t.Context()); check.Kind != provider.Complete {
		t.Errorf("%v: %s", check.Kind, check.Body)
	}
	if documents := standIn.Documents(); len(documents) != 1 || documents[0].Sent != 1 {
		t.Errorf("%+v", documents)
	}
}

// againstMock makes each call several times. The mock server refuses a request that violates the description, and
// otherwise responds with random values of the described schema.
func againstMock(t *testing.T, description string) {
	adapter := openEInvoiceBE(t, startPrism(t, "mock", "--dynamic", description))
	doc := providertest.BelgianDocument("ref-1")
	prepared := doc
	prepared.ProviderReference = "doc-1"
	for range 10 {
		_, recipient := adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208", ID: "0456789034"})
		for name, response := range map[string]provider.Response{
			"create":    adapter.Submit(t.Context(), doc),
			"send":      adapter.Submit(t.Context(), prepared),
			"get":       adapter.Status(t.Context(), provider.Query{Reference: "ref-1", ProviderReference: "doc-1"}),
			"search":    adapter.Status(t.Context(), provider.Query{Reference: "ref-1", Body: doc.Body}),
			"recipient": recipient,
			"check":     adapter.Check(t.Context()),
		} {
			for _, r := range append(response.Earlier, response) {
				if r.HTTPStatus != 200 && r.HTTPStatus != 201 {
					t.Errorf("%s: %d: %s", name, r.HTTPStatus, r.Body)
				}
			}
			if response.Kind == provider.Ambiguous {
				t.Errorf("%s is %v: %s", name, response.Kind, response.Body)
			}
		}
	}
}
