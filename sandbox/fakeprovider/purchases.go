package fakeprovider

import (
	"net/http"
	"strconv"
	"time"
)

const (
	defaultPurchasePage = 50
	maxPurchasePage     = 100
	// maxPurchaseBody bounds the body of POST /control/purchases in bytes. It allows documents that are larger than the
	// service retains.
	maxPurchaseBody = 128 << 20
	maxPurchaseID   = 256
)

// purchasePage is the response to GET /v1/purchases.
type purchasePage struct {
	Purchases  []Purchase `json:"purchases"`
	NextCursor string     `json:"next_cursor"`
	HasMore    bool       `json:"has_more"`
}

// getPurchases implements GET /v1/purchases.
func (s *Server) getPurchases(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit := defaultPurchasePage
	if given := query.Get("limit"); given != "" {
		var err error
		if limit, err = strconv.Atoi(given); err != nil || limit < 1 || limit > maxPurchasePage {
			writeError(w, http.StatusBadRequest, "malformed_request", "limit must be a number from 1 to 100.")
			return
		}
	}
	page, next, more, err := s.ledger.Purchases(query.Get("cursor"), limit)
	if err != nil {
		writeError(w, http.StatusBadRequest, "unknown_cursor", "The cursor was not issued by this provider.")
		return
	}
	writeJSON(w, http.StatusOK, purchasePage{Purchases: page, NextCursor: next, HasMore: more})
}

// getPurchaseDocument implements GET /v1/purchases/{id}/document.
func (s *Server) getPurchaseDocument(w http.ResponseWriter, r *http.Request) {
	purchase, document, found, err := s.ledger.PurchaseDocument(r.PathValue("id"))
	switch {
	case !found:
		unknownReference(w)
	case err != nil:
		s.failed(w, r, err)
	default:
		w.Header().Set("Content-Type", purchase.MediaType)
		w.Header().Set("Content-Length", strconv.Itoa(len(document)))
		// The client disconnects when the document is too large for it.
		_, _ = w.Write(document)
	}
}

// newPurchase is the body of POST /control/purchases: the bytes of a purchase and its metadata. The server determines
// the digest and the time of receipt itself.
type newPurchase struct {
	Purchase
	Document []byte `json:"document_base64"`
}

// postPurchase implements POST /control/purchases, which only a sandbox has. It adds a purchase document, or a new
// revision of one.
func (s *Server) postPurchase(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxPurchaseBody)
	if !ok {
		return
	}
	var p newPurchase
	if !decode(w, body, &p) {
		return
	}
	if p.ID == "" || len(p.ID) > maxPurchaseID {
		writeError(w, http.StatusUnprocessableEntity, "invalid_document", "id must have 1 to 256 bytes.")
		return
	}
	added, err := s.AddPurchase(p.Purchase, p.Document)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, added)
}

// AddPurchase adds a purchase document, or a new revision if its id exists with different bytes. If the bytes are the
// same, nothing changes. The server sets the digest and the time of receipt; the media type defaults to
// application/xml. It returns when the result is durable.
func (s *Server) AddPurchase(p Purchase, document []byte) (Purchase, error) {
	if p.MediaType == "" {
		p.MediaType = "application/xml"
	}
	p.ReceivedAt = s.options.Clock().UTC().Truncate(time.Microsecond)
	return s.ledger.AddPurchase(p, document)
}
