package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
)

// A file with drafts is imported in two steps: a form that sends it, and a page that says what is in it, with a button
// that imports its drafts. Between the two the file is in the database, and each step reads it anew.

const importPath = "/import"

func importRoutes() []route {
	return []route{
		{method: http.MethodGet, path: importPath, needs: access.Write, serve: (*request).showImport},
		{method: http.MethodPost, path: importPath, needs: access.Write, serve: (*request).upload, takesFile: true},
		{method: http.MethodGet, path: importPath + "/template.csv", needs: access.Write,
			serve: func(req *request) error { return req.sendTemplate(tabular.CSV) }},
		{method: http.MethodGet, path: importPath + "/template.xlsx", needs: access.Write,
			serve: func(req *request) error { return req.sendTemplate(tabular.XLSX) }},
		{method: http.MethodGet, path: importPath + "/{upload}", needs: access.Write, serve: (*request).previewImport},
		{method: http.MethodPost, path: importPath + "/{upload}", needs: access.Write, serve: (*request).confirmImport},
		{method: http.MethodGet, path: importPath + "/{upload}/faults.csv", needs: access.Write,
			serve: (*request).downloadImportFaults},
	}
}

const (
	// uploadTTL is how long a file waits for the decision of its user.
	uploadTTL = time.Hour
	// maxUpload is the size in bytes of the largest form with a file: the file and the headers around it.
	maxUpload = tabular.MaxBytes + 64<<10
	// maxFileName is the number of characters of a file's name that are kept.
	maxFileName = 100
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

func (req *request) showImport() error { return req.respondImportForm(http.StatusOK, false) }

func (req *request) respondImportForm(status int, empty bool) error {
	return req.Show(status, "import", "import.title", page.Layout{Section: "invoices",
		Body: importForm{Empty: empty, Columns: tabular.Columns()}})
}

// readUpload reads the file of a form into req.file.
func (req *request) readUpload() error {
	mediaType, parameters, err := mime.ParseMediaType(req.R.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" {
		return problem.For(api.CodeUnsupportedMediaType).Because(page.ErrForm)
	}
	body, err := req.admission.ReadBody(req.R.Context(), maxUpload)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return errUpload.Because(err)
	}
	if err != nil {
		return page.BodyError(err)
	}
	parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil // there is no file
		}
		if err != nil {
			return problem.For(api.CodeMalformedRequest).Because(fmt.Errorf("%w: %w", page.ErrForm, err))
		}
		if part.FormName() != "file" {
			continue
		}
		if req.file.Body, err = io.ReadAll(part); err != nil {
			return problem.For(api.CodeMalformedRequest).Because(fmt.Errorf("%w: %w", page.ErrForm, err))
		}
		req.file.Name = fileName(part.FileName())
		return nil
	}
}

// fileName returns a name that a browser has sent, as it can be stored and shown.
func fileName(sent string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, sent))
	return string(runes[:min(len(runes), maxFileName)])
}

// upload stores a file and shows what is in it.
func (req *request) upload() error {
	switch {
	case len(req.file.Body) == 0:
		return req.respondImportForm(http.StatusUnprocessableEntity, true)
	case len(req.file.Body) > tabular.MaxBytes:
		return errUpload
	}
	key, err := invoices.StoreUpload(req.R.Context(), req.session.Tenant, req.file, req.session.User, uploadTTL)
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
func (req *request) readUploaded() (file uploaded, end func(), err error) {
	id, err := req.ID("upload")
	if err != nil {
		return uploaded{}, nil, uploadProblem(err)
	}
	if end, err = req.Importer.Turn(req.R.Context(), req.session.Account.ID); err != nil {
		return uploaded{}, nil, err
	}
	file.key = invoices.UploadKey{User: req.session.User, ID: id}
	stored, err := invoices.FindUpload(req.R.Context(), req.session.Tenant, file.key)
	if err == nil {
		file.name = stored.Name
		file.ImportFile, err = req.Importer.Read(req.R.Context(), stored.Body, "", req.words.readCell)
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
		return errUploadGone.Because(err)
	}
	return err
}

// readCell reads the text of a cell as the form of a draft reads what people type.
func (w *words) readCell(c *tabular.Column, text string, given tabular.Given) (string, *api.Fault, error) {
	currency, _ := w.codes["currencies"].resolve(given.Currency)
	country, _ := w.codes["countries"].resolve(given.Country)
	spec := specOf(c.Name)
	value, fault, err := w.readField(spec, text, currency, country)
	if fault != nil || err != nil || spec.kind != numberField || given.Point && !strings.Contains(text, ",") {
		return value, fault, err
	}
	// Nobody looks at each number of a file, so one that is another number in another country is not guessed.
	other, broken := numerals{decimal: ',', group: '.'}.read(text, spec.counts, currency)
	if broken == "" && other != value {
		text, err := w.messages.Text("typed.separator")
		return "", &api.Fault{Rule: typedRule + "separator", Message: text}, err
	}
	return value, nil, nil
}

// specOf returns how the form of a draft reads a field.
func specOf(name string) fieldSpec {
	for _, specs := range [][]fieldSpec{draftFields, itemFields} {
		for _, spec := range specs {
			if spec.name == name {
				return spec
			}
		}
	}
	return fieldSpec{name: name}
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
func (req *request) previewImport() error {
	file, end, err := req.readUploaded()
	if err != nil {
		return err
	}
	defer end()
	p := importPage{Upload: file.key.ID.String(), Name: file.name}
	if p.Import, err = file.Describe(req.R.Context(), req.session.Tenant, req.seller()); err != nil {
		return err
	}
	faults := req.words.messages.importFaults(p.Faults)
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
		out = append(out, importedDraft{Row: d.Row, Items: len(d.Items), Number: deref(d.InvoiceNumber),
			Recipient: deref(d.RecipientName), IssueDate: deref(d.IssueDate), Total: page.MoneyOf(d.TotalAmount, d.Currency)})
	}
	return out
}

// importFaults returns faults with texts for people.
func (c catalogue) importFaults(faults []api.ImportFault) []importFault {
	out := make([]importFault, len(faults))
	for n, f := range faults {
		said := c.say(specOf(f.Column).codes, []api.Fault{f.Fault})
		out[n] = importFault{Column: f.Column, Value: f.Value, Text: said[0].Message}
		if f.Row > 0 {
			out[n].Row = strconv.Itoa(f.Row)
		}
	}
	return out
}

// confirmImport imports the drafts of a file. A file that was imported is gone, so that a second confirmation imports
// nothing.
func (req *request) confirmImport() error {
	file, end, err := req.readUploaded()
	if err != nil {
		return err
	}
	defer end()
	if len(file.Faults) > 0 {
		return req.Redirect(importPath + "/" + file.key.ID.String())
	}
	if _, err := invoices.Import(req.R.Context(), req.session.Tenant, file.Payloads(), file.Source(file.key)); err != nil {
		return uploadProblem(err)
	}
	return req.Redirect(page.WithNotice("/invoices", "good.imported"))
}

// downloadImportFaults responds with the faults of a file as a CSV file.
func (req *request) downloadImportFaults() error {
	file, end, err := req.readUploaded()
	if err != nil {
		return err
	}
	defer end()
	described, err := file.Describe(req.R.Context(), req.session.Tenant, req.seller())
	if err != nil {
		return err
	}
	columns := []tabular.Column{{Name: "row"}, {Name: "column"}, {Name: "value"}, {Name: "fault"}}
	rows := func(yield func([]string, error) bool) {
		for _, f := range req.words.messages.importFaults(described.Faults) {
			if !yield([]string{f.Row, f.Column, f.Value, f.Text}, nil) {
				return
			}
		}
	}
	return req.sendTable(tabular.CSV, "faults", columns, rows)
}

// sendTemplate responds with a file that has all columns and an example, which can be imported.
func (req *request) sendTemplate(format tabular.Format) error {
	columns := tabular.Columns()
	row := make([]string, len(columns))
	for n, c := range columns {
		if row[n] = c.Example; c.Name == "tax_exchange_rate" || c.Name == "tax_exemption_code" ||
			c.Name == "tax_exemption_reason" {
			row[n] = "" // they contradict the other examples
		}
	}
	return req.sendTable(format, "drafts", columns, func(yield func([]string, error) bool) { yield(row, nil) })
}

// sendTable responds with a small file.
func (req *request) sendTable(format tabular.Format, name string, columns []tabular.Column,
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
