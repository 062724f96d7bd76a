package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/ubl"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
)

// DocumentBytes returns about how much memory it takes to read the document of a revision, and 0 if it cannot be shown.
// It is reserved before [ReadDocument]. It is also enough for the pages of the document with the document attached:
// what printing takes besides is bounded by the number of printers.
func DocumentBytes(r *incoming.Revision) int {
	const factor, most = 16, 4 << 20
	if !r.Retained || r.Withheld || r.Size == nil {
		return 0
	}
	size := int(*r.Size)
	return size + min(factor*size, most)
}

// ReadDocument returns what the document of a revision says, or why it cannot be read. Both are nil if the document is
// not retained or is withheld.
func ReadDocument(ctx context.Context, t *base.Tenant, r *incoming.Revision) (*api.ParsedDocument, *api.Fault, error) {
	if !r.Retained || r.Withheld {
		return nil, nil, nil
	}
	stored, err := incoming.RevisionDocument(ctx, t, r.Incoming, r.Revision)
	if err != nil {
		return nil, nil, err
	}
	document, err := ubl.Read(stored.Body)
	if refused, ok := errors.AsType[*ubl.Error](err); ok {
		return nil, &api.Fault{Rule: refused.Rule, Message: refused.Message}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, more := range []api.Faults{document.Check(), metadataWarnings(&document.ParsedDocument, r)} {
		for at, faults := range more {
			document.Warnings[at] = append(document.Warnings[at], faults...)
		}
	}
	return &document.ParsedDocument, nil, nil
}

// metadataWarnings returns a warning for each value of the document that differs from what the provider says about it.
func metadataWarnings(p *api.ParsedDocument, r *incoming.Revision) api.Faults {
	out := api.Faults{}
	const rule = "metadata"
	differ := func(at string, stated, said *string) {
		if stated != nil && said != nil && *stated != *said {
			out.Add(at, rule, "The provider's metadata state "+*said+" instead.")
		}
	}
	differ("number", p.Number, r.InvoiceNumber)
	differ("currency", p.Currency, r.Currency)
	differ("issue_date", p.IssueDate, r.IssueDate)
	if p.Totals.Total != nil && r.TotalAmount != nil {
		stated, _ := new(big.Rat).SetString(string(*p.Totals.Total)) // both are decimal numbers
		said, _ := new(big.Rat).SetString(r.TotalAmount.String())
		if stated.Cmp(said) != 0 {
			out.Add("totals.total", rule, "The provider's metadata state "+r.TotalAmount.String()+" instead.")
		}
	}
	return out
}

// Attachment is an embedded file of a received document. Name and MediaType are safe to send to a browser, whatever the
// document says.
type Attachment struct {
	Name, MediaType string
	Size            int64
	// Content decodes the file while it is read.
	Content io.Reader
}

// ReadAttachment returns an attachment of a revision. The error is [base.ErrNotFound] if there is none that can be
// downloaded.
func ReadAttachment(ctx context.Context, t *base.Tenant, r *incoming.Revision, id string) (Attachment, error) {
	if !r.Retained || r.Withheld {
		return Attachment{}, base.ErrNotFound
	}
	stored, err := incoming.RevisionDocument(ctx, t, r.Incoming, r.Revision)
	if err != nil {
		return Attachment{}, err
	}
	document, err := ubl.Read(stored.Body)
	if err != nil {
		return Attachment{}, base.ErrNotFound // a document that cannot be read has no attachments
	}
	for n := range document.Attachments {
		file := &document.Attachments[n]
		if content, ok := document.File(id); ok && file.ID == id {
			mediaType, extension := safeMediaType(text(file.MediaType))
			return Attachment{Name: safeFileName(text(file.Name), extension), MediaType: mediaType, Size: *file.Size,
				Content: content}, nil
		}
	}
	return Attachment{}, base.ErrNotFound
}

// XMLFile returns an XML document as a file that is named after a number, such as that of an invoice.
func XMLFile(number string, content []byte) Attachment {
	return Attachment{Name: fileOf(number, ".xml"), MediaType: "application/xml", Size: int64(len(content)),
		Content: bytes.NewReader(content)}
}

// fileOf returns the name of a file that is named after a number.
func fileOf(number, extension string) string {
	return safeFileName(strings.NewReplacer("/", "-", `\`, "-").Replace(number), []string{extension})
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// safeMediaTypes are the media types that EN 16931 allows for attachments (BT-125-1), with their file extensions. None
// of them is run or rendered as a page.
var safeMediaTypes = map[string][]string{ //nolint:gochecknoglobals // a constant table
	"application/pdf": {".pdf"}, "image/png": {".png"}, "image/jpeg": {".jpg", ".jpeg"}, "text/csv": {".csv"},
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": {".xlsx"},
	"application/vnd.oasis.opendocument.spreadsheet":                    {".ods"},
}

// safeMediaType returns the media type if it is safe, and otherwise that of any bytes; and the file extensions of the
// type.
func safeMediaType(stated string) (mediaType string, extensions []string) {
	parsed, _, err := mime.ParseMediaType(stated)
	if extensions = safeMediaTypes[parsed]; err == nil && extensions != nil {
		return parsed, extensions
	}
	return "application/octet-stream", []string{".bin"}
}

// maxFileName is the longest name of a downloaded file, in characters and without its extension.
const maxFileName = 100

// safeFileName returns a name without directories and without characters that a file system or a reader could
// misunderstand. Its extension is one of those given.
func safeFileName(stated string, extensions []string) string {
	name := path.Base(strings.ReplaceAll(stated, `\`, "/"))
	extension := extensions[0]
	for _, other := range extensions {
		if cut := len(name) - len(other); cut > 0 && strings.EqualFold(name[cut:], other) {
			name, extension = name[:cut], other
		}
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune("-_. ()", r) {
			return r
		}
		return '_'
	}, name)
	if utf8.RuneCountInString(name) > maxFileName {
		name = string([]rune(name)[:maxFileName])
	}
	if name = strings.Trim(name, ". "); name == "" || name == "_" {
		name = "attachment"
	}
	return name + extension
}

// Disposition returns the value of Content-Disposition with which a browser saves the file and does not show it (RFC
// 6266).
func (a *Attachment) Disposition() string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": a.Name})
}
