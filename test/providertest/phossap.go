package providertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/document"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/phossap"
)

// PhossAP is an access point that behaves like phoss-ap 0.12.0-SNAPSHOT, commit ba7e36b, as far as an adapter can see.
// It is written from the source of phoss-ap, which publishes no API description: the comments name file and line.
type PhossAP struct {
	*httptest.Server
	// Token is the value of phase4.api.requiredtoken.
	Token string

	mu           sync.Mutex
	disabled     bool
	script       Script
	refuse       int
	dropped      bool
	transactions []*phossTransaction
	received     []string
}

// Script says what happens to the documents that are submitted from now on.
type Script string

// The scripts.
const (
	// Sends sends a document at once.
	Sends Script = ""
	// SendsUnreported sends a document, but fails to store it for the reports of the network: overallSuccess is false
	// although sendingSuccess is true (OutboundOrchestrator.java:1266-1311).
	SendsUnreported Script = "unreported"
	// FailsOnce fails to send a document, and sends it at the next retry.
	FailsOnce Script = "failed"
	// FailsForGood has no receiver for a document (OutboundOrchestrator.java:975-980).
	FailsForGood Script = "permanently_failed"
	// FailsVerification judges a document invalid before it has a transaction (326-342).
	FailsVerification Script = "verification"
	// LosesResponse sends a document, but its response is lost.
	LosesResponse Script = "lost"
	// Stalls has a transaction, but sends the document and responds only when the caller is gone.
	Stalls Script = "stalls"
)

// phossTransaction is a row of outbound_transaction, as OutboundTransactionResponse.java:35-97 shows it.
type phossTransaction struct {
	ID              string  `json:"id"`
	TransactionType string  `json:"transactionType"`
	SenderID        string  `json:"senderID"`
	ReceiverID      string  `json:"receiverID"`
	DocTypeID       string  `json:"docTypeID"`
	ProcessID       string  `json:"processID"`
	SbdhInstanceID  string  `json:"sbdhInstanceID"`
	Status          string  `json:"status"`
	AttemptCount    int     `json:"attemptCount"`
	CreatedDT       string  `json:"createdDT"`
	CompletedDT     *string `json:"completedDT"`
	ReportingStatus string  `json:"reportingStatus"`
	NextRetryDT     *string `json:"nextRetryDT"`
	ErrorDetails    *string `json:"errorDetails"`
	MlsStatus       *string `json:"mlsStatus"`
	Custom1         *string `json:"custom1"`
	Custom2         *string `json:"custom2"`
	Custom3         *string `json:"custom3"`

	sent     int // how often the document went to the receiver's access point
	archived bool
}

// StartPhossAP starts an access point without transactions. It ends with the test.
func StartPhossAP(t testing.TB, token string) *PhossAP {
	t.Helper()
	p := &PhossAP{Token: token}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// Adapter returns an adapter to the access point; edit changes its configuration.
func (p *PhossAP) Adapter(t testing.TB, edit func(*provider.Config)) *phossap.Adapter {
	t.Helper()
	config := provider.Config{BaseURL: p.URL, Credential: secret.New(p.Token), Clock: time.Now}
	if edit != nil {
		edit(&config)
	}
	adapter, err := phossap.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.Close)
	return adapter
}

// Control controls the access point.
func (p *PhossAP) Control(t testing.TB) Control {
	return Control{
		Advance:          p.Advance,
		Refusals:         []int{401},
		Refuse:           func(status int) { p.set(func() { p.refuse = status }) },
		Break:            func() { p.set(func() { p.dropped = true }) },
		Unreach:          p.Close,
		Document:         func(reference string) provider.Document { return Rendered(t, document.BIS3, reference) },
		ChecksReferences: true,
	}
}

func (p *PhossAP) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Repair ends what Refuse and Break of [PhossAP.Control] began.
func (p *PhossAP) Repair() { p.set(func() { p.refuse, p.dropped = 0, false }) }

// Play says what happens to the documents that are submitted from now on.
func (p *PhossAP) Play(script Script) { p.set(func() { p.script = script }) }

// DisableSending sets sending.enabled to false.
func (p *PhossAP) DisableSending() { p.set(func() { p.disabled = true }) }

// SetStatus sets the status and the MLS status of a document.
func (p *PhossAP) SetStatus(reference, status, mls string) {
	p.set(func() {
		for _, tx := range p.transactions {
			if tx.SbdhInstanceID == reference {
				tx.Status, tx.MlsStatus = status, &mls
			}
		}
	})
}

// Advance lets every retry succeed, and every receiver report its delivery (MlsHandler.java:313-321).
func (p *PhossAP) Advance() {
	p.set(func() {
		for _, tx := range p.transactions {
			if tx.Status == "failed" || tx.Status == "sending" {
				tx.send()
			}
			if tx.Status == "sent" {
				tx.MlsStatus = new("received_ap")
			}
		}
	})
}

// Archive moves every completed transaction to the archive (ArchivalScheduler.java).
func (p *PhossAP) Archive() {
	p.set(func() {
		for _, tx := range p.transactions {
			tx.archived = tx.archived || tx.CompletedDT != nil
		}
	})
}

// Sent returns how often the document of a reference went to the receiver's access point.
func (p *PhossAP) Sent(reference string) (times int) {
	p.set(func() {
		for _, tx := range p.transactions {
			if tx.SbdhInstanceID == reference {
				times += tx.sent
			}
		}
	})
	return times
}

// Transactions returns the number of transactions of a reference.
func (p *PhossAP) Transactions(reference string) (count int) {
	p.set(func() {
		for _, tx := range p.transactions {
			if tx.SbdhInstanceID == reference {
				count++
			}
		}
	})
	return count
}

// Received returns the requests that it has read, as METHOD URI.
func (p *PhossAP) Received() (received []string) {
	p.set(func() { received = append(received, p.received...) })
	return received
}

// ServeHTTP implements [http.Handler].
func (p *PhossAP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var refuse int
	var dropped bool
	p.set(func() {
		refuse, dropped = p.refuse, p.dropped
		p.received = append(p.received, r.Method+" "+r.RequestURI)
	})
	segments := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/api/outbound/"), "/")
	switch {
	case dropped:
		panic(http.ErrAbortHandler)
	case refuse != 0:
		w.WriteHeader(refuse)
	case strings.Contains(strings.ToLower(r.RequestURI), "%2f"): // Tomcat refuses an encoded slash
		writeHTML(w, http.StatusBadRequest)
	case strings.HasPrefix(r.URL.Path, "/api/") && r.Header.Get("X-Token") != p.Token: // ApiTokenFilter.java:50-60
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Invalid or missing API token"})
	case r.Method == http.MethodPost && len(segments) == 6 && segments[0] == "submit":
		p.submit(w, r, segments[1:], body)
	case r.Method == http.MethodGet && len(segments) == 2 && segments[0] == "status":
		p.status(w, r)
	default: // Spring's own 404
		writeJSON(w, http.StatusNotFound, map[string]any{"status": 404, "error": "Not Found", "path": r.URL.Path})
	}
}

// phossIdentifiers are the forms of the five path variables, which the strict PeppolIdentifierFactory parses.
var phossIdentifiers = [...]struct { //nolint:gochecknoglobals // a constant table
	name string
	form *regexp.Regexp
}{
	{"sending participant ID", regexp.MustCompile(`^iso6523-actorid-upis::[0-9]{4}:.+$`)},
	{"receiving participant ID", regexp.MustCompile(`^iso6523-actorid-upis::[0-9]{4}:.+$`)},
	{"document type ID",
		regexp.MustCompile(`^(busdox-docid-qns|peppol-doctype-wildcard)::[^:]+(:[^:]+)*::[A-Za-z]+##[^*]+::2\.1$`)},
	{"process ID", regexp.MustCompile(`^cenbii-procid-ubl::.+$`)},
	{"country", regexp.MustCompile(`^[A-Z]{2}$`)},
}

// submit is OutboundController.submitRawDocument (253-419).
func (p *PhossAP) submit(w http.ResponseWriter, r *http.Request, segments []string, body []byte) {
	reference := r.URL.Query().Get("sbdhInstanceID")
	var script Script
	var disabled bool
	p.set(func() { script, disabled = p.script, p.disabled })
	if disabled {
		w.WriteHeader(http.StatusNotFound) // 304-308: notFound ().build ()
		return
	}
	values := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/outbound/submit/"), "/")
	for i := range segments {
		// 321-372: badRequest ().body (JsonValue.create ("Failed to parse …"))
		if !phossIdentifiers[i].form.MatchString(values[i]) {
			writeJSON(w, http.StatusBadRequest, "Failed to parse the "+phossIdentifiers[i].name+" '"+values[i]+"'")
			return
		}
	}
	if script == FailsVerification || len(body) == 0 { // 402-406
		writeJSON(w, http.StatusUnprocessableEntity, "Failed to submit outbound transaction")
		return
	}
	tx := p.create(reference, values)
	switch script {
	case FailsOnce: // OutboundOrchestrator.java:778-792: FAILED, with a time of the next retry
		p.set(func() { tx.fail("failed", new("2026-03-01T09:03:00Z")) })
	case FailsForGood: // 795-805: PERMANENTLY_FAILED
		p.set(func() { tx.fail("permanently_failed", nil) })
	case LosesResponse:
		p.set(tx.send)
		panic(http.ErrAbortHandler)
	case Stalls: // 870: updateStatus (SENDING)
		p.set(func() { tx.Status = "sending" })
		<-r.Context().Done()
		p.set(tx.send)
		panic(http.ErrAbortHandler)
	default:
		p.set(tx.send)
	}
	sent := script == Sends || script == SendsUnreported
	p.report(w, tx, sent, sent && script != SendsUnreported)
}

// report writes the sending report: 422 if it was no overall success (411-417).
func (p *PhossAP) report(w http.ResponseWriter, tx *phossTransaction, sent, overall bool) {
	status := http.StatusOK
	report := map[string]any{ // Phase4PeppolSendingReport.getAsJsonObject
		"currentDateTimeUTC": "2026-03-01T09:00:00.000Z", "phase4Version": "4.5.0",
		"smlDnsZone": "acc.edelivery.tech.ec.europa.eu.", "senderId": tx.SenderID, "receiverId": tx.ReceiverID,
		"docTypeId": tx.DocTypeID, "docTypeIdInCodeList": true, "processId": tx.ProcessID, "processIdInCodeList": true,
		"sbdhInstanceIdentifier": tx.SbdhInstanceID, "overallDurationMillis": 812, "sendingSuccess": sent,
		"overallSuccess": overall,
	}
	if !overall {
		status = http.StatusUnprocessableEntity
	}
	if !sent {
		report["sendingException"] = map[string]string{"class": "java.net.ConnectException", "message": "refused",
			"stackTrace": "…"}
	}
	writeJSON(w, status, report)
}

// create adds a transaction in the status pending. No index makes its SBDH instance identifier unique
// (V1__InitDatabase.sql:48-54).
func (p *PhossAP) create(reference string, values []string) *phossTransaction {
	tx := &phossTransaction{
		TransactionType: "business_document", SenderID: values[0], ReceiverID: values[1], DocTypeID: values[2],
		ProcessID: values[3], SbdhInstanceID: reference, Status: "pending", CreatedDT: "2026-03-01T09:00Z",
		ReportingStatus: "pending",
		MlsStatus:       new("pending"),
	}
	p.set(func() {
		p.transactions = append(p.transactions, tx)
		tx.ID = fmt.Sprintf("tx-%d", len(p.transactions))
	})
	return tx
}

// send sends the document of a transaction (OutboundOrchestrator.java:1266-1300).
func (tx *phossTransaction) send() {
	tx.sent++
	tx.AttemptCount++
	tx.Status, tx.CompletedDT, tx.NextRetryDT, tx.ErrorDetails = "sent", new("2026-03-01T09:00:05Z"), nil, nil
}

// fail records a failed attempt.
func (tx *phossTransaction) fail(status string, nextRetry *string) {
	tx.AttemptCount++
	tx.Status, tx.NextRetryDT, tx.ErrorDetails = status, nextRetry, new("java.net.ConnectException: refused")
}

// status is OutboundController.getStatus (907-939): 404 unless there is exactly one row
// (OutboundTransactionManagerJdbc.java:181-231).
func (p *PhossAP) status(w http.ResponseWriter, r *http.Request) {
	reference := strings.TrimPrefix(r.URL.Path, "/api/outbound/status/")
	var active, archived []phossTransaction
	p.set(func() {
		for _, tx := range p.transactions {
			switch {
			case tx.SbdhInstanceID != reference:
			case tx.archived:
				archived = append(archived, *tx)
			default:
				active = append(active, *tx)
			}
		}
	})
	found := active
	if len(active) != 1 && r.URL.Query().Get("includeArchive") == "true" {
		found = archived
	}
	if len(found) != 1 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	writeJSON(w, http.StatusOK, found[0])
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the caller may have gone
}

func writeHTML(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html;charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><head><title>HTTP Status %d</title></head></html>", status)
}
