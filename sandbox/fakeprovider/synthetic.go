package fakeprovider

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/template"
	"time"

	"quittance/client/api"
)

// purchaseXML is the template of a synthetic purchase document: a PINT-AE invoice with a time sheet as an embedded
// file.
//
//go:embed purchase.xml
var purchaseXML string

// SyntheticPurchase is an invoice of a synthetic supplier, in one of its revisions. It bills hours at 100.00 dirhams
// with 5 % tax.
type SyntheticPurchase struct {
	// ID is the purchase's identifier and Number the invoice number. Neither may contain characters with a meaning in XML.
	ID, Number string
	// Revision is 1 for the first version, and Hours the quantity, from 1.
	Revision, Hours int
	// Issued is the issue date; payment is due 30 days later.
	Issued time.Time
}

// Render returns the purchase's metadata and document. Equal purchases have equal documents. The time of receipt is
// left to the caller.
func (p SyntheticPurchase) Render() (Purchase, []byte, error) {
	layout, err := template.New("purchase").Option("missingkey=error").Parse(purchaseXML)
	if err != nil {
		return Purchase{}, nil, fmt.Errorf("synthetic purchase: %w", err)
	}
	cents := func(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }
	total := api.MustDecimal(cents(10500 * p.Hours))
	issued, due := p.Issued.Format(time.DateOnly), p.Issued.AddDate(0, 0, 30).Format(time.DateOnly)
	sheet := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "Consultant,Hours\nSynthetic person,%d\n", p.Hours))
	uuid := digest([]byte(p.ID))
	var document bytes.Buffer
	if err := layout.Execute(&document, map[string]any{"Number": p.Number,
		"UUID":   uuid[:8] + "-" + uuid[8:12] + "-8" + uuid[13:16] + "-8" + uuid[17:20] + "-" + uuid[20:32],
		"Issued": issued, "Due": due, "Revision": p.Revision, "Hours": p.Hours, "Net": cents(10000 * p.Hours),
		"Tax": cents(500 * p.Hours), "Total": total, "Attachment": sheet}); err != nil {
		return Purchase{}, nil, fmt.Errorf("synthetic purchase: %w", err)
	}
	return Purchase{ID: p.ID, DocumentType: "380", InvoiceNumber: p.Number, SupplierName: "Synthetic Supplies LLC",
		SupplierNetworkID: "1000000900", IssueDate: issued, DueDate: due, Currency: "AED", TotalAmount: &total,
		SHA256: digest(document.Bytes()), MediaType: "application/xml"}, document.Bytes(), nil
}

// postSyntheticPurchase implements POST /control/purchases/synthetic, which only a sandbox has; see
// [Server.AddSyntheticPurchase].
func (s *Server) postSyntheticPurchase(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		ID string `json:"id"`
	}
	if !readControl(w, r, &wanted) {
		return
	}
	added, err := s.AddSyntheticPurchase(wanted.ID)
	switch {
	case errors.Is(err, ErrPurchaseID):
		writeError(w, http.StatusUnprocessableEntity, "invalid_document", err.Error())
	case err != nil:
		s.failed(w, r, err)
	default:
		writeJSON(w, http.StatusCreated, added)
	}
}

// ErrPurchaseID reports that the identifier of a synthetic purchase has another form.
var ErrPurchaseID = errors.New("id must have 1 to 128 characters of A-Z a-z 0-9 . _ -")

// AddSyntheticPurchase adds a synthetic purchase. If the identifier exists, the supplier revises it: the next revision
// bills five hours more. It returns [ErrPurchaseID].
func (s *Server) AddSyntheticPurchase(id string) (Purchase, error) {
	if !validReference(id) || strings.Contains(id, ":") {
		return Purchase{}, ErrPurchaseID
	}
	p := SyntheticPurchase{ID: id, Number: "SUP-" + id, Revision: 1, Issued: s.options.Clock().UTC()}
	for _, earlier := range s.ledger.PurchaseList() {
		if earlier.ID == p.ID {
			p.Revision++
			// other purchases may have any text there
			if issued, err := time.Parse(time.DateOnly, earlier.IssueDate); err == nil {
				p.Issued = issued
			}
		}
	}
	p.Hours = 5 * p.Revision
	purchase, document, err := p.Render()
	if err != nil {
		return Purchase{}, err
	}
	return s.AddPurchase(purchase, document)
}
