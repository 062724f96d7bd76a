package einvoicebe

import (
	"context"
	"encoding/hex"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// searchedLists are the lists in which a document of ours can be: GET /api/drafts/ ("By default return all states
// (DRAFT, TRANSIT, FAILED)") and GET /api/outbox/ ("sent documents"). They are read in this order, because a document
// moves from the first to the second.
var searchedLists = [...]string{"/api/drafts/", "/api/outbox/"} //nolint:gochecknoglobals // a constant table

// find searches the provider's lists for a document. It gets the document if exactly one has our number and agrees with
// ours in everything else. If none has our number, the provider has no such document. All else is
// [provider.Inconclusive].
func (e *Adapter) find(ctx context.Context, sent *sentUBL) provider.Response {
	var lists []provider.Response
	found, telling := map[string]agreement{}, 0 // telling is the list that says most
	for n, path := range searchedLists {
		before := len(found)
		list := e.Do(ctx, searchCall(path, *sent.Number))
		if list.Kind == provider.Complete && !collectListed(list.Body, sent, found) {
			list.Kind, list.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		}
		if list.Kind != provider.Complete {
			return list.After(lists...)
		}
		lists = append(lists, list)
		if len(found) > before {
			telling = n
		}
	}
	id, unique := "", true
	for candidate, agrees := range found {
		switch agrees {
		case agreed:
			unique = unique && id == ""
			id = candidate
		case undecided:
			unique = false
		case contradicted:
		}
	}
	response := lists[telling]
	switch {
	case id != "" && unique:
		response = e.get(ctx, id)
	case len(found) == 0:
		response.Kind, lists = provider.UnknownReference, slices.Delete(lists, telling, telling+1)
	default:
		response.Kind, lists = provider.Inconclusive, slices.Delete(lists, telling, telling+1)
	}
	return response.After(lists...)
}

// searchLimit is the largest page_size. A search with more results is inconclusive, because pages move while they are
// read.
const searchLimit = "100"

// searchCall searches a list by its filter "Search in invoice number, seller/buyer names".
func searchCall(path, number string) httpcall.Spec {
	call := httpcall.Get(path)
	call.Query = url.Values{"search": {number}, "page": {"1"}, "page_size": {searchLimit}}.Encode()
	return call
}

// agreement says whether a listed document is ours.
type agreement int

const (
	undecided    agreement = iota // it lacks something that would say so
	agreed                        // all that is compared is equal
	contradicted                  // something is different
)

// listed is what the schema DocumentResponse says about a document in a list.
type listed struct {
	ID               string  `json:"id"`
	Direction        string  `json:"direction"`
	Type             string  `json:"document_type"`
	Number           *string `json:"invoice_id"`
	IssueDate        *string `json:"invoice_date"`
	Currency         string  `json:"currency"`
	Total            *string `json:"invoice_total"`
	CustomerPeppolID *string `json:"customer_peppol_id"`
	CustomerName     *string `json:"customer_name"`
	CreatedAt        string  `json:"created_at"`
}

// collectListed adds the documents with our number on a page of the schema PaginatedResponse. It returns false if the
// body is not one. An incomplete page adds an undecided document, because ours may be on another one.
func collectListed(body []byte, sent *sentUBL, found map[string]agreement) bool {
	var page struct {
		Items       *[]listed `json:"items"`
		HasNextPage *bool     `json:"has_next_page"`
	}
	if err := json.Unmarshal(body, &page); err != nil || page.Items == nil || page.HasNextPage == nil {
		return false
	}
	if *page.HasNextPage {
		found[""] = undecided
	}
	for _, item := range *page.Items {
		if provider.TextOf(item.Number) != *sent.Number || item.Direction == "INBOUND" {
			continue
		}
		if item.ID == "" {
			return false
		}
		found[item.ID] = item.compare(sent)
	}
	return true
}

// compare compares a listed document with ours. The receiver is compared by its participant identifier, or by its name
// if the provider shows none.
func (l listed) compare(sent *sentUBL) agreement {
	receiver := same(l.CustomerPeppolID, new(sent.receiver.Scheme+":"+sent.receiver.ID), strings.EqualFold)
	if provider.TextOf(l.CustomerPeppolID) == "" {
		receiver = same(l.CustomerName, sent.Buyer.Name, equalText)
	}
	result := agreed
	for _, compared := range []agreement{
		same(&l.Direction, new("OUTBOUND"), equalText),
		same(&l.Type, new(strings.ToUpper(sent.Type)), equalText),
		same(l.IssueDate, sent.IssueDate, equalText),
		same(&l.Currency, sent.Currency, equalText),
		same(l.Total, (*string)(sent.Totals.Total), equalAmount),
		receiver,
		l.createdAfter(sent.reference),
	} {
		if compared == contradicted || result == agreed {
			result = compared
		}
		if result == contradicted {
			break
		}
	}
	return result
}

// same compares two texts, of which either may be absent.
func same(theirs, ours *string, equal func(a, b string) bool) agreement {
	switch {
	case provider.TextOf(theirs) == "" || provider.TextOf(ours) == "":
		return undecided
	case equal(*theirs, *ours):
		return agreed
	}
	return contradicted
}

func equalText(a, b string) bool { return a == b }

// equalAmount compares two decimals by their value.
func equalAmount(a, b string) bool {
	left, ok := parseAmount(a)
	right, also := parseAmount(b)
	return ok && also && left.Cmp(right) == 0
}

// parseAmount reads a decimal without an exponent.
func parseAmount(text string) (*big.Rat, bool) {
	if len(text) > 64 || strings.Trim(text, "-.0123456789") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// clockSkew is the largest difference between the provider's clock and ours that a comparison of their times allows.
const clockSkew = time.Hour

// createdAfter contradicts if a document was created before our invoice was. The time stamp of a submission's
// reference, a UUIDv7 (RFC 9562, section 5.7), is that of its invoice, and stays the same when a database is restored.
func (l listed) createdAfter(reference string) agreement {
	created, err := time.Parse(time.RFC3339, l.CreatedAt)
	if err != nil {
		created, err = time.Parse("2006-01-02T15:04:05", l.CreatedAt) // without a time zone
	}
	stamp, bad := hex.DecodeString(strings.ReplaceAll(reference[:min(len(reference), 13)], "-", ""))
	switch {
	case err != nil:
		return undecided
	case bad != nil || len(stamp) != 6:
		return agreed // the reference has no time stamp to compare with
	}
	if created.Before(time.UnixMilli(new(big.Int).SetBytes(stamp).Int64()).Add(-clockSkew)) {
		return contradicted
	}
	return agreed
}
