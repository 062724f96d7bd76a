package server_test

import (
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
)

// TestNumbersKeepTheirDigits checks that every way of reading an invoice returns a decimal with the digits and the
// scale that were sent, and that the provider gets it in the same form.
func TestNumbersKeepTheirDigits(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.connected(t)
		for given, want := range map[string]string{
			"10.00": "10.00", "10": "10", "10.0": "10.0", "0": "0", "0.0": "0.0", "0.000000": "0.000000", "0.000001": "0.000001",
			"1.100000": "1.100000", "0.1": "0.1", "123456789012345678": "123456789012345678",
			"123456789012.345678": "123456789012.345678", "999999999999999999": "999999999999999999",
			"9007199254740993": "9007199254740993", "0.3": "0.3", "1e2": "100", "1E2": "100", "1e+2": "100", "1.5e1": "15",
			"1.50e1": "15.0", "150e-1": "15.0", "1e-6": "0.000001", "0e9": "0", "-0": "0", "-0.00": "0.00",
			"1e17": "100000000000000000",
		} {
			// As a number, and as a string with the number.
			created := c.post(t, invoicesPath, edit(edit(complete, "items[0].quantity", given), "items[0].vat_rate",
				`"`+given+`"`))
			created.want(t, http.StatusCreated, "")
			id := created.textAt(t, "/data/id")
			list := c.get(t, invoicesPath+"?per_page=1")
			for _, read := range []response{created, c.get(t, invoicesPath+"/"+id)} {
				wantRaw(t, read, "/data/items/0/quantity", want)
				wantRaw(t, read, "/data/items/0/vat_rate", want)
			}
			wantRaw(t, list, "/data/0/total_amount", "1050.00")
		}
		for given, want := range map[string]string{"-1": "-1", "-1.50": "-1.50",
			"-999999999999999999": "-999999999999999999"} {
			created := c.post(t, invoicesPath, edit(complete, "items[0].discount_amount", given))
			created.want(t, http.StatusCreated, "")
			wantRaw(t, created, "/data/items/0/discount_amount", want)
		}
		for _, given := range []string{"1234567890123456789", "-1234567890123456789", "1.0000001", "0.0000000", "1e18",
			"1e-7", "1e400", "-1e400", "1e-400", "123456789012345678.0", "0.1234567", "1e99999999999"} {
			c.post(t, invoicesPath, edit(complete, "items[0].quantity", given)).wantFaults(t, api.CodeValidationFailed,
				map[string][]string{"items[0].quantity": {"decimal"}})
		}
		for _, given := range []string{`"NaN"`, `"Infinity"`, `""`, `"10,00"`, `{"value":1}`} {
			c.post(t, invoicesPath, edit(complete, "items[0].quantity", given)).wantFaults(t, api.CodeValidationFailed,
				map[string][]string{"items[0].quantity": {"type"}})
		}
		wantSentNumbers(t, c)
	})
}

// wantSentNumbers checks the numbers of a document in the provider's ledger.
func wantSentNumbers(t *testing.T, c *company) {
	t.Helper()
	a := c.post(t, invoicesPath+"/"+c.draft(t, edit(complete, "items[0].quantity", `"10.000000"`))+"/submit", "")
	a.want(t, http.StatusOK, "")
	body, found, err := c.sandbox.Provider.Ledger().Body(a.textAt(t, "/data/submission/id"))
	if !found || err != nil {
		t.Fatalf("the ledger does not have the document: %v", err)
	}
	var sent struct {
		Invoice struct {
			Total jsontext.Value `json:"total_amount"`
			Items []struct {
				Quantity jsontext.Value `json:"quantity"`
				Price    jsontext.Value `json:"net_unit_price"`
			} `json:"items"`
		} `json:"invoice"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if item := sent.Invoice.Items[0]; string(sent.Invoice.Total) != "1050.00" || string(item.Quantity) != "10.000000" ||
		string(item.Price) != "100.00" {
		t.Errorf("sent total %s, quantity %s, price %s", sent.Invoice.Total, item.Quantity, item.Price)
	}
}

// TestMinorUnits checks that total_amount has no more decimals than the minor unit of its currency, apart from trailing
// zeros.
func TestMinorUnits(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		for _, test := range []struct {
			currency, total string
			accepted        bool
		}{
			{"JPY", "100", true}, {"JPY", "100.00", true}, {"JPY", "100.000000", true}, {"JPY", "100.5", false},
			{"JPY", "0.01", false}, {"JPY", "1e2", true}, {"JPY", "-100", true}, {"KWD", "1.234", true}, {"KWD", "1.2340", true},
			{"KWD", "1.2345", false}, {"KWD", "1.000001", false}, {"AED", "1050.00", true}, {"AED", "1050.000", true},
			{"AED", "1050.001", false}, {"AED", "-0.01", true}, {"AED", "-0.001", false}, {"AED", "1e-2", true},
			{"AED", "1e-3", false}, {"CLF", "1.2345", true}, {"CLF", "1.23456", false}, {"XAU", "1.123456", true},
			{"XXX", "0.000001", true},
		} {
			a := c.post(t, invoicesPath, edit(edit(complete, "currency", `"`+test.currency+`"`), "total_amount", test.total))
			if !test.accepted {
				a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"total_amount": {"minor_unit"}})
			} else if a.status != http.StatusCreated {
				t.Errorf("%s %s was refused: %s", test.currency, test.total, a.text)
			}
		}
	})
}
