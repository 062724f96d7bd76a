package console

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strings"

	"quittance/internal/problem"
	"quittance/internal/secret"
)

// Design renders the pages of another package with the layout, the components, the texts and the assets of the console.
// The data of each page has the fields of the layout. It is safe for concurrent use.
type Design struct {
	assets *assetFiles
	pages  *templates
}

// NewDesign reads the templates in templates/*.html of files, each of which defines "content", and the texts in
// messages/en.json, whose keys differ from those of the console.
func NewDesign(files fs.FS) (*Design, error) {
	assets, err := newAssets()
	if err != nil {
		return nil, err
	}
	messages, err := readCatalogue(tongues[0])
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(files, "messages/en.json")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	more := map[string]string{}
	if err := json.Unmarshal(text, &more); err != nil {
		return nil, fmt.Errorf("console: messages of another package: %w", err)
	}
	for key := range more {
		if _, known := messages.lookup(key); known {
			return nil, fmt.Errorf("console: the message %q exists twice", key)
		}
	}
	maps.Copy(messages.texts, more)
	pages, err := newTemplates(messages, assets, files)
	return &Design{assets: assets, pages: pages}, err
}

// Text returns a text with its placeholders filled. It fails if there is no such text.
func (d *Design) Text(key string, values ...any) (string, error) {
	return d.pages.messages.text(key, values...)
}

// TextOr returns a text, or otherwise if there is none.
func (d *Design) TextOr(key, otherwise string) string {
	return d.pages.messages.textOr(key, otherwise)
}

// ProblemTexts returns the title and the advice of the page about a problem.
func (d *Design) ProblemTexts(p *problem.Problem) (title, text string) {
	return d.pages.messages.problemTexts(p)
}

// Notice returns the text of a notice by its key below "flash.", and whether it is good news. It returns "" for an
// unknown key, because the key comes from an address.
func (d *Design) Notice(key string) (text string, good bool) {
	return d.TextOr("flash."+key, ""), strings.HasPrefix(key, "good.")
}

// Execute renders a page in the layout. error is the page of the console for errors.
func (d *Design) Execute(w io.Writer, page string, data any) error {
	return d.pages.execute(w, page, "layout", data)
}

// ServeAsset responds to a request for an asset, and reports whether it is one.
func (d *Design) ServeAsset(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasPrefix(r.URL.EscapedPath(), assetsPath) {
		return false
	}
	d.assets.serve(w, r)
	return true
}

// QRCode returns the QR code of a text as a data URL.
func QRCode(text secret.Text) (template.URL, error) { return qrCode(text) }

// SecureHeaders sets the security headers of every page.
func SecureHeaders(header http.Header) { secureHeaders(header) }
