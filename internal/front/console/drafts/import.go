package drafts

import (
	"bytes"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// A file with drafts is imported in two steps: a form that sends it, and a page that says what is in it, with a button
// that imports its drafts. Between the two the file is in the database, and each step reads it anew.

const importPath = "/import"

func importRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: importPath, Needs: access.Write, Serve: showImport},
		{Method: http.MethodPost, Path: importPath, Needs: access.Write, Serve: upload, TakesFile: true},
		{Method: http.MethodGet, Path: importPath + "/template.csv", Needs: access.Write,
			Serve: func(req *console.Request) error { return sendTemplate(req, tabular.CSV) }},
		{Method: http.MethodGet, Path: importPath + "/template.xlsx", Needs: access.Write,
			Serve: func(req *console.Request) error { return sendTemplate(req, tabular.XLSX) }},
		{Method: http.MethodGet, Path: importPath + "/{upload}", Needs: access.Write, Serve: previewImport},
		{Method: http.MethodPost, Path: importPath + "/{upload}", Needs: access.Write, Serve: confirmImport},
		{Method: http.MethodGet, Path: importPath + "/{upload}/faults.csv", Needs: access.Write,
			Serve: downloadImportFaults},
	}
}

const (
	// uploadTTL is how long a file waits for the decision of its user.
	uploadTTL = time.Hour
	// shownDrafts and shownFaults are how many drafts and faults the preview shows.
	shownDrafts = 10
	shownFaults = 100
)

// importForm is the view model of the page that takes a file.
type importForm struct {
	// Empty reports that the form was sent without a file.
	Empty   bool
	Columns []tabular.Column
}

func showImport(req *console.Request) error { return respondImportForm(req, http.StatusOK, false) }

func respondImportForm(req *console.Request, status int, empty bool) error {
	return req.Show(status, "import", "import.title", page.Layout{Section: "invoices",
		Body: importForm{Empty: empty, Columns: tabular.Columns()}})
}

// upload stores a file and shows what is in it.
func upload(req *console.Request) error {
	switch {
	case len(req.File.Body) == 0:
		return respondImportForm(req, http.StatusUnprocessableEntity, true)
	case len(req.File.Body) > tabular.MaxBytes:
		return console.ErrUpload
	}
	key, err := invoices.StoreUpload(req.R.Context(), req.Session.Tenant, req.File, req.Session.User, uploadTTL)
	if err != nil {
		return err
	}
	return req.Redirect(importPath + "/" + key.ID.String())
}

// uploaded is a stored file that was read.
type uploaded struct {
	*view.ImportFile
	key  invoices.UploadKey
	name string
}

// readUploaded reads the file of the path within a turn of the company. The caller calls end.
func readUploaded(req *console.Request) (file uploaded, end func(), err error) {
	id, err := req.ID("upload")
	if err != nil {
		return uploaded{}, nil, uploadProblem(err)
	}
	if end, err = req.Importer.Turn(req.R.Context(), req.Session.Account.ID); err != nil {
		return uploaded{}, nil, err
	}
	file.key = invoices.UploadKey{User: req.Session.User, ID: id}
	stored, err := invoices.FindUpload(req.R.Context(), req.Session.Tenant, file.key)
	if err == nil {
		file.name = stored.Name
		file.ImportFile, err = req.Importer.Read(req.R.Context(), stored.Body, "",
			func(c *tabular.Column, text string, given tabular.Given) (string, *api.Fault, error) {
				return readCell(req.Words, c, text, given)
			})
	}
	if err != nil {
		end()
		return uploaded{}, nil, uploadProblem(err)
	}
	return file, end, nil
}

// uploadProblem maps the error about a file that is gone to a page that says what to do.
func uploadProblem(err error) error {
	if errors.Is(err, base.ErrNotFound) {
		return console.ErrUploadGone.Because(err)
	}
	return err
}

// readCell reads the text of a cell as the form of a draft reads what people type.
func readCell(w *console.Words, c *tabular.Column, text string, given tabular.Given) (string, *api.Fault, error) {
	currency, _ := w.Codes["currencies"].Resolve(given.Currency)
	spec := specOf(c)
	var countries map[string]string
	if spec.isRegional() {
		countries = countriesOf(w, given.Countries)
	}
	value, fault, err := readField(w, spec, text, currency, countries)
	if fault != nil || err != nil || spec.Kind != NumberField || given.Point && !strings.Contains(text, ",") {
		return value, fault, err
	}
	// Nobody looks at each number of a file, so one that is another number in another country is not guessed.
	other, broken := console.Numerals{Decimal: ',', Group: '.'}.Read(text, spec.counts, currency)
	if broken == "" && other != value {
		text, err := w.Messages.Text("typed.separator")
		return "", &api.Fault{Rule: console.TypedRule + "separator", Message: text}, err
	}
	return value, nil, nil
}

// specOf returns the description of the field of a column.
func specOf(c *tabular.Column) FieldSpec {
	specs, lists := Fields, draftLists
	if c.Item {
		specs, lists = ItemFields, lineLists
	}
	if list := listNamed(lists, c.List); list != nil {
		specs = list.Fields
	}
	return SpecNamed(specs, strings.TrimPrefix(c.Member, c.List+"."))
}

// importPage is the view model of the preview.
type importPage struct {
	api.Import
	// Upload is the identifier of the file, and Name its name.
	Upload, Name string
	Sums         []*page.Money
	// First are the first drafts, if the file has no faults.
	First []importedDraft
	// Shown are the first faults, and All is the number of all of them.
	Shown []importFault
	All   int
}

// importedDraft is a draft of the preview.
type importedDraft struct {
	Row, Items        int
	Number, Recipient string
	IssueDate         string
	Total             *page.Money
}

// importFault is a fault of the preview.
type importFault struct {
	// Row is empty for a fault of the file as a whole.
	Row, Column, Value, Text string
}

// previewImport shows what is in a file.
func previewImport(req *console.Request) error {
	file, end, err := readUploaded(req)
	if err != nil {
		return err
	}
	defer end()
	p := importPage{Upload: file.key.ID.String(), Name: file.name}
	if p.Import, err = file.Describe(req.R.Context(), req.Session.Tenant, req.Seller()); err != nil {
		return err
	}
	faults := importFaults(req.Words.Messages, p.Faults)
	p.Shown, p.All = faults[:min(len(faults), shownFaults)], len(faults)+p.MoreFaults
	if p.Valid {
		p.First = importedDrafts(file.Drafts)
	}
	for _, total := range p.Totals {
		p.Sums = append(p.Sums, page.MoneyOf(total.TotalAmount, total.Currency))
	}
	return req.Show(http.StatusOK, "import_preview", "import.preview.title", page.Layout{Section: "invoices", Body: p})
}

// importedDrafts returns the first drafts of a valid file.
func importedDrafts(drafts []tabular.Draft) []importedDraft {
	var out []importedDraft
	for n := range drafts[:min(len(drafts), shownDrafts)] {
		d := &drafts[n]
		out = append(out, importedDraft{Row: d.Row, Items: len(d.Items), Number: console.Deref(d.InvoiceNumber),
			Recipient: console.Deref(d.RecipientName), IssueDate: console.Deref(d.IssueDate),
			Total: page.MoneyOf(d.TotalAmount, d.Currency)})
	}
	return out
}

// importFaults returns faults with texts for people.
func importFaults(c console.Catalogue, faults []api.ImportFault) []importFault {
	out := make([]importFault, len(faults))
	codes := map[string]string{}
	for _, column := range tabular.Columns() {
		codes[column.Name] = specOf(&column).codes
	}
	for n, f := range faults {
		said := say(c, codes[f.Column], []api.Fault{f.Fault})
		out[n] = importFault{Column: f.Column, Value: f.Value, Text: said[0].Message}
		if f.Row > 0 {
			out[n].Row = strconv.Itoa(f.Row)
		}
	}
	return out
}

// confirmImport imports the drafts of a file. A file that was imported is gone, so that a second confirmation imports
// nothing.
func confirmImport(req *console.Request) error {
	file, end, err := readUploaded(req)
	if err != nil {
		return err
	}
	defer end()
	if len(file.Faults) > 0 {
		return req.Redirect(importPath + "/" + file.key.ID.String())
	}
	if _, err := invoices.Import(req.R.Context(), req.Session.Tenant, file.Payloads(), file.Source(file.key)); err != nil {
		return uploadProblem(err)
	}
	return req.Redirect(page.WithNotice("/invoices", "good.imported"))
}

// downloadImportFaults responds with the faults of a file as a CSV file.
func downloadImportFaults(req *console.Request) error {
	file, end, err := readUploaded(req)
	if err != nil {
		return err
	}
	defer end()
	described, err := file.Describe(req.R.Context(), req.Session.Tenant, req.Seller())
	if err != nil {
		return err
	}
	columns := []tabular.Column{{Name: "row"}, {Name: "column"}, {Name: "value"}, {Name: "fault"}}
	rows := func(yield func([]string, error) bool) {
		for _, f := range importFaults(req.Words.Messages, described.Faults) {
			if !yield([]string{f.Row, f.Column, f.Value, f.Text}, nil) {
				return
			}
		}
	}
	return sendTable(req, tabular.CSV, "faults", columns, rows)
}

// sendTemplate responds with a file that has all columns and an example, which can be imported.
func sendTemplate(req *console.Request, format tabular.Format) error {
	columns := tabular.Columns()
	row := make([]string, len(columns))
	for n, c := range columns {
		switch {
		case c.Name == "tax_currency", c.Name == "tax_exchange_rate", strings.HasSuffix(c.Name, "tax_exemption_code"),
			strings.HasSuffix(c.Name, "tax_exemption_reason"): // they contradict the other examples
		default:
			row[n] = c.Example
		}
	}
	return sendTable(req, format, "drafts", columns, func(yield func([]string, error) bool) { yield(row, nil) })
}

// sendTable responds with a small file.
func sendTable(req *console.Request, format tabular.Format, name string, columns []tabular.Column,
	rows iter.Seq2[[]string, error]) error {
	out := &bytes.Buffer{}
	write := func() error { return tabular.WriteCSV(out, columns, rows) }
	if format == tabular.XLSX {
		write = func() error {
			book, err := tabular.NewWorkbook(name, columns, rows)
			if err != nil {
				return err
			}
			_, err = book.WriteTo(out)
			return errors.Join(err, book.Close())
		}
	}
	if err := write(); err != nil {
		return err
	}
	header := req.W.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", `attachment; filename="`+name+"."+string(format)+`"`)
	return req.Send(http.StatusOK, format.MediaType(), out)
}
