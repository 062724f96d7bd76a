package document_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/document/ubl"
	"quittance/internal/platform/strictjson"
	"quittance/test/drafttest"
)

// returned reads a document and makes a document of what it says. It returns how that is written.
func returned(t *testing.T, p document.Profile, text []byte) (again []byte, left []string) {
	t.Helper()
	read, err := ubl.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := document.DocumentOf(p, &read.ParsedDocument)
	return document.Draw(p, d), document.Left(p, d, &read.ParsedDocument)
}

// goldenFiles are the golden documents of a profile.
func goldenFiles(t testing.TB, p document.Profile) (all [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", string(p), "*.xml"))
	if err != nil || len(names) < 10 {
		t.Fatalf("%d documents: %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

// TestDocumentsReturn: what is read of a golden document makes the same document, byte for byte. A credit note of a
// part becomes one of the whole of a smaller invoice.
func TestDocumentsReturn(t *testing.T) {
	for _, p := range document.Profiles {
		for _, text := range goldenFiles(t, p) {
			if again, left := returned(t, p, text); string(again) != string(text) || len(left) > 0 {
				t.Errorf("%q is left: %s\n%s", left, firstDifference(string(text), string(again)), text)
			}
		}
	}
}

// TestRandomDocumentsReturn: a random document returns, too. Whatever does not is named: amounts of the document format
// have two digits after the point, and a draft in a currency with a larger minor unit has fewer.
func TestRandomDocumentsReturn(t *testing.T) {
	for _, p := range document.Profiles {
		for n := range 500 {
			d := newRandom(p, uint64(n)).document(t, n)
			text, err := document.Write(p, d)
			if err != nil {
				t.Fatal(err)
			}
			again, left := returned(t, p, text)
			whole := *d.Draft.Currency == "JPY" || *d.Draft.Currency == "ISK"
			if (string(again) == string(text)) != (len(left) == 0) || len(left) > 0 && !whole {
				t.Errorf("%s, document %d: %q is left: %s\n%s", p, n, left, firstDifference(string(text), string(again)), text)
			}
		}
	}
}

// leftOf returns what a document of PINT-AE that is made of a statement does not say of it.
func leftOf(said *api.ParsedDocument) []string {
	d, _ := document.DocumentOf(document.PINTAE, said)
	return document.Left(document.PINTAE, d, said)
}

// TestWhatIsLeft: what the API does not accept, and what a draft has no place for, is left. Nothing is cut.
func TestWhatIsLeft(t *testing.T) {
	read, err := ubl.Read(goldenFiles(t, document.PINTAE)[0])
	if err != nil {
		t.Fatal(err)
	}
	said := &read.ParsedDocument
	want := []string{"type", "accounting_reference", "issue_time", "due_date", "notes", "buyer.street",
		"buyer.contact_phone", "lines[0].id", "lines[0].commodity_version", "references.project",
		"payment.means[1]", "attachments[0]", "other[0]"}
	long := strings.Repeat("long ", 500)
	said.Type, said.IssueTime, said.DueDate = api.ReceivedSelfBilledInvoice, new("09:30:15+04:00"), new("soon")
	said.AccountingReference, said.Notes = &long, []string{"a note", long}
	said.Buyer.Street, said.Buyer.ContactPhone, said.References.Project = &long, new("+971\x00"), &long
	said.Lines[0].ID, said.Lines[0].CommodityVersion = new("A-1"), &long
	said.Payment.Means = append(said.Payment.Means, api.ParsedPaymentMeans{Code: new("58")})
	said.Attachments = []api.ParsedFile{{ID: "1"}}
	said.Other, said.OtherCount = []api.ParsedOther{{Path: "cbc:Y", Value: new("1")}}, 1
	if left := leftOf(said); !slices.Equal(left, want) {
		t.Errorf("%q is left instead of %q", left, want)
	}
	said.Lines[0].Quantity = new(api.Amount("1234567890.123456789"))
	if left := leftOf(said); !slices.Contains(left, "lines[0].quantity") {
		t.Errorf("a quantity that no draft has is not left: %q", left)
	}
	said.Lines[0].Quantity, said.Lines[0].VATRate = new(api.Amount("10")), nil
	if left := leftOf(said); !slices.Contains(left, "totals.tax") {
		t.Errorf("a tax that cannot be computed is not left: %q", left)
	}
}

// FuzzDocumentOf: whatever is read makes a draft and a company profile of the form that the API accepts, in every
// document format and in none.
func FuzzDocumentOf(f *testing.F) {
	for _, p := range document.Profiles {
		for _, text := range goldenFiles(f, p) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ubl.Read(text)
		if err != nil {
			return
		}
		for _, p := range append(document.Profiles[:], "") {
			d, _ := document.DocumentOf(p, &read.ParsedDocument)
			mustAccept(t, d.Draft)
			mustAccept(t, d.Seller)
			if faults := invoice.Faults(d.Draft); len(faults) > 0 {
				t.Errorf("%q: %v", p, faults)
			}
		}
	})
}

// mustAccept checks that a value has the form that the API asks for. It may lack what is required.
func mustAccept[T any](t *testing.T, of *T) {
	t.Helper()
	value, err := strictjson.Parse([]byte(asJSON(t, of)))
	if err != nil {
		t.Fatal(err)
	}
	_, faults := strictjson.For[T]().Decode(value)
	for path, found := range faults {
		for _, fault := range found {
			if fault.Rule != "required" {
				t.Errorf("%s: %v", path, fault)
			}
		}
	}
}

// TestEveryFieldReturns fills every field of a draft and names those that are not in the drafts that are made of its
// documents. The list of what they lose only gets shorter.
func TestEveryFieldReturns(t *testing.T) {
	d, values := drafttest.Every(t)
	var drafts []string
	for _, p := range document.Profiles {
		read, err := ubl.Read(document.Draw(p, document.Document{ID: goldenID, Draft: d}))
		if err != nil {
			t.Fatal(err)
		}
		again, _ := document.DocumentOf(p, &read.ParsedDocument)
		if left := document.Left(p, again, &read.ParsedDocument); len(left) > 0 {
			t.Errorf("%s: %q is left", p, left)
		}
		drafts = append(drafts, asJSON(t, again.Draft))
	}
	lost := map[string]string{ // why
		"external_id":  "means something to the customer alone",
		"total_amount": "is another amount here than the lines add up to",

		"allowances.tax_exemption_code":   "is of a category with tax here",
		"allowances.tax_exemption_reason": "is of a category with tax here",
		"charges.tax_exemption_code":      "is of a category with tax here",
		"charges.tax_exemption_reason":    "is of a category with tax here",
	}
	if got, want := lacking(values, drafts...), slices.Sorted(maps.Keys(lost)); !slices.Equal(got, want) {
		t.Errorf("the drafts lack %q, and the list says %q", got, want)
	}
}
