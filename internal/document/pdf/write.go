package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// file is a PDF file while it is written: a body of objects with the table of their offsets (ISO 32000-1, 7.5).
type file struct {
	out     bytes.Buffer
	offsets []int // of each object, from number 1; 0 while it is only reserved
}

func newFile() *file {
	w := &file{}
	w.out.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	return w
}

// reserve returns a reference to an object that is written later.
func (w *file) reserve() types.IndirectRef {
	w.offsets = append(w.offsets, 0)
	return *types.NewIndirectRef(len(w.offsets), 0)
}

// put writes a reserved object.
func (w *file) put(ref types.IndirectRef, object types.Object) {
	w.begin(ref)
	w.out.WriteString(object.PDFString())
	w.out.WriteString("\nendobj\n")
}

func (w *file) begin(ref types.IndirectRef) {
	w.offsets[ref.ObjectNumber-1] = w.out.Len()
	fmt.Fprintf(&w.out, "%d 0 obj\n", ref.ObjectNumber)
}

// add writes an object.
func (w *file) add(object types.Object) types.IndirectRef {
	ref := w.reserve()
	w.put(ref, object)
	return ref
}

// stream writes a compressed stream with these entries.
func (w *file) stream(d types.Dict, content []byte) (types.IndirectRef, error) {
	d["Filter"] = types.Name("FlateDecode")
	s := types.NewStreamDict(d, 0, nil, nil, []types.PDFFilter{{Name: "FlateDecode"}})
	s.Content = content
	return w.encoded(&s)
}

// plainStream writes a stream that can be read without decompression, as programs expect of metadata.
func (w *file) plainStream(d types.Dict, content []byte) (types.IndirectRef, error) {
	s := types.NewStreamDict(d, 0, nil, nil, nil)
	s.Content = content
	return w.encoded(&s)
}

func (w *file) encoded(s *types.StreamDict) (types.IndirectRef, error) {
	if err := s.Encode(); err != nil {
		return types.IndirectRef{}, fmt.Errorf("pdf: stream: %w", err)
	}
	ref := w.reserve()
	w.begin(ref)
	w.out.WriteString(s.Dict.PDFString())
	w.out.WriteString("\nstream\n")
	w.out.Write(s.Raw)
	w.out.WriteString("\nendstream\nendobj\n")
	return ref, nil
}

// close writes the table of objects and the trailer. The identifier is the digest of the objects.
func (w *file) close(root, info types.IndirectRef) []byte {
	digest := sha256.Sum256(w.out.Bytes())
	id := types.NewHexLiteral(digest[:16])
	start := w.out.Len()
	fmt.Fprintf(&w.out, "xref\n0 %d\n0000000000 65535 f \n", len(w.offsets)+1)
	for _, offset := range w.offsets {
		fmt.Fprintf(&w.out, "%010d 00000 n \n", offset)
	}
	trailer := types.Dict{"Size": types.Integer(len(w.offsets) + 1), "Root": root, "Info": info, "ID": types.Array{id, id}}
	fmt.Fprintf(&w.out, "trailer\n%s\nstartxref\n%d\n%%%%EOF\n", trailer.PDFString(), start)
	return w.out.Bytes()
}

// textString is a text string (ISO 32000-1, 7.9.2.2) in UTF-16.
func textString(s string) types.HexLiteral {
	return types.NewHexLiteral([]byte(types.EncodeUTF16String(s)))
}

// producer is the program, as the metadata name it.
const producer = "Quittance"

// metadata describes a file.
type metadata struct {
	title   string
	created time.Time // zero if unknown
}

// info writes the document information dictionary, which says the same as the XMP metadata.
func (m metadata) info(w *file) types.IndirectRef {
	d := types.Dict{"Title": textString(m.title), "Producer": textString(producer)}
	if !m.created.IsZero() {
		d["CreationDate"] = types.StringLiteral(types.DateString(m.created))
	}
	return w.add(d)
}

// xmp writes the metadata that say that the file is PDF/A-3b (ISO 19005-3, 6.6).
func (m metadata) xmp(w *file) (types.IndirectRef, error) {
	var title, created strings.Builder
	if err := xml.EscapeText(&title, []byte(m.title)); err != nil {
		return types.IndirectRef{}, fmt.Errorf("pdf: title: %w", err)
	}
	if !m.created.IsZero() {
		fmt.Fprintf(&created, "<xmp:CreateDate>%s</xmp:CreateDate>", m.created.Format(time.RFC3339))
	}
	return w.plainStream(types.Dict{"Type": types.Name("Metadata"), "Subtype": types.Name("XML")},
		fmt.Appendf(nil, `<?xpacket begin="%s" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"><pdfaid:part>3</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance></rdf:Description>
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:title></rdf:Description>
<rdf:Description rdf:about="" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"><pdf:Producer>%s</pdf:Producer></rdf:Description>
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/">%s</rdf:Description>
</rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>
`, "\uFEFF", title.String(), producer, created.String()))
}

// outputIntent says that colours are sRGB (ISO 19005-3, 6.2.3).
func outputIntent(w *file) (types.Dict, error) {
	profile, err := assets.ReadFile("assets/sRGB.icc")
	if err != nil {
		return nil, fmt.Errorf("pdf: colour profile: %w", err)
	}
	ref, err := w.stream(types.Dict{"N": types.Integer(3)}, profile)
	return types.Dict{
		"Type": types.Name("OutputIntent"), "S": types.Name("GTS_PDFA1"),
		"OutputConditionIdentifier": types.StringLiteral("sRGB"), "Info": types.StringLiteral("sRGB IEC61966-2.1"),
		"DestOutputProfile": ref,
	}, err
}

// attach writes an associated file (ISO 32000-2, 14.13) and returns the reference of its specification.
func (f *File) attach(w *file, created time.Time) (types.IndirectRef, error) {
	parameters := types.Dict{"Size": types.Integer(len(f.Content))}
	if !created.IsZero() {
		parameters["ModDate"] = types.StringLiteral(types.DateString(created))
	}
	content, err := w.stream(types.Dict{"Type": types.Name("EmbeddedFile"), "Subtype": types.Name(f.MediaType),
		"Params": parameters}, f.Content)
	if err != nil {
		return content, err
	}
	return w.add(types.Dict{
		"Type": types.Name("Filespec"), "F": textString(f.Name), "UF": textString(f.Name), "Desc": textString(f.Description),
		"AFRelationship": types.Name(f.Relationship), "EF": types.Dict{"F": content, "UF": content},
	}), nil
}

// write assembles the file.
func write(pages []*page, fonts *embeddedFonts, logo *logo, attached *File, m metadata) ([]byte, error) {
	w := newFile()
	resources := types.Dict{}
	used := types.Dict{}
	for n, font := range fonts.used {
		if font == nil {
			continue
		}
		ref, err := font.write(w)
		if err != nil {
			return nil, err
		}
		used[fmt.Sprintf("F%d", n)] = ref
	}
	resources["Font"] = used
	if logo != nil {
		ref, err := logo.write(w)
		if err != nil {
			return nil, err
		}
		resources["XObject"] = types.Dict{"Logo": ref}
	}
	shared, tree := w.add(resources), w.reserve()
	kids := make(types.Array, 0, len(pages))
	for _, p := range pages {
		content, err := w.stream(types.Dict{}, p.content.Bytes())
		if err != nil {
			return nil, err
		}
		kids = append(kids, w.add(types.Dict{"Type": types.Name("Page"), "Parent": tree, "Contents": content}))
	}
	w.put(tree, types.Dict{
		"Type": types.Name("Pages"), "Kids": kids, "Count": types.Integer(len(kids)), "Resources": shared,
		"MediaBox": types.Array{types.Integer(0), types.Integer(0), types.Float(pageWidth), types.Float(pageHeight)},
	})
	intent, err := outputIntent(w)
	if err != nil {
		return nil, err
	}
	xmp, err := m.xmp(w)
	if err != nil {
		return nil, err
	}
	catalog := types.Dict{
		"Type": types.Name("Catalog"), "Pages": tree, "Metadata": xmp, "OutputIntents": types.Array{intent},
		"Lang":              types.StringLiteral("en"),
		"ViewerPreferences": types.Dict{"DisplayDocTitle": types.Boolean(true)},
	}
	if attached != nil {
		ref, err := attached.attach(w, m.created)
		if err != nil {
			return nil, err
		}
		catalog["AF"] = types.Array{ref}
		catalog["Names"] = types.Dict{"EmbeddedFiles": types.Dict{"Names": types.Array{textString(attached.Name), ref}}}
	}
	info := m.info(w)
	return w.close(w.add(catalog), info), nil
}
