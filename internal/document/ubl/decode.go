package ubl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The limits of a document. Real documents use a small part of each.
const (
	// maxDepth is the deepest nesting of elements. UBL itself needs about 10, signatures in extensions about 20.
	maxDepth = 64
	// maxElements is the number of elements of a document.
	maxElements = 300_000
	// maxTree is the number of elements that are in memory at a time: those of one line, and of everything that is not a
	// line.
	maxTree = 20_000
	// maxTag, maxToken and maxText are in bytes: of a tag with its attributes; of a text, comment or other token; and of
	// all texts that are kept. An embedded file is none of these, because it stays where it is in the document.
	maxTag, maxToken, maxText = 64 << 10, 1 << 20, 3 << 20
)

// The rules that an [Error] names.
const (
	// RuleMalformed: the document is not well-formed XML, or in an encoding that is not supported.
	RuleMalformed = "malformed"
	// RuleUnsupported: it is not a UBL invoice or credit note.
	RuleUnsupported = "unsupported"
	// RuleUnsafe: it has a document type declaration.
	RuleUnsafe = "unsafe"
	// RuleLimit: it exceeds a limit.
	RuleLimit = "limit"
)

// Error says why a document cannot be read.
type Error struct {
	// Rule is one of the Rule constants.
	Rule string
	// Message is an English sentence without any text of the document.
	Message string
}

func (e *Error) Error() string { return "ubl: " + e.Rule + ": " + e.Message }

// source feeds a document to the XML decoder byte by byte, and bounds the length of each token while it is read.
type source struct {
	data  []byte
	at    int // the next byte
	token int // the first byte of the current token
}

// errTooLong means that a token is too long.
var errTooLong = errors.New("ubl: a tag or a text is too long")

// ReadByte implements [io.ByteReader], so that the decoder reads no further than it must.
func (s *source) ReadByte() (byte, error) {
	if s.at == len(s.data) {
		return 0, io.EOF
	}
	if length := s.at - s.token; length > maxToken || length > maxTag && s.isTag() {
		return 0, errTooLong
	}
	s.at++
	return s.data[s.at-1], nil
}

// Read implements [io.Reader], which the decoder requires and does not use.
func (s *source) Read(into []byte) (int, error) {
	n := copy(into, s.data[s.at:])
	s.at += n
	if n == 0 && len(into) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// isTag reports whether the current token is a start tag or an end tag.
func (s *source) isTag() bool {
	return s.token+1 < len(s.data) && s.data[s.token] == '<' && s.data[s.token+1] != '!' && s.data[s.token+1] != '?'
}

// The namespaces of UBL.
const (
	namespaceUBL   = "urn:oasis:names:specification:ubl:schema:xsd:"
	namespaceBasic = namespaceUBL + "CommonBasicComponents-2"
	namespaceGroup = namespaceUBL + "CommonAggregateComponents-2"
)

// decoder reads a document as a stream of elements within the limits.
type decoder struct {
	source
	xml     *xml.Decoder
	skipped int // bytes of embedded files, which the XML decoder does not see
	depth   int // open elements
	// elements, tree and text are counted against the limits.
	elements, tree, text int
}

func newDecoder(document []byte) (*decoder, error) {
	wide := byteOrder(document) != nil
	document, declared, err := inUTF8(document)
	if err != nil {
		return nil, err
	}
	if start := bytes.TrimLeft(document, " \t\r\n"); len(start) == 0 || start[0] != '<' {
		return nil, &Error{RuleUnsupported, "The document is not XML."}
	}
	d := &decoder{source: source{data: document}}
	d.xml = xml.NewDecoder(&d.source)
	d.xml.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		name := strings.ToLower(charset)
		if name == "us-ascii" || wide && strings.HasPrefix(name, "utf-16") || name == declared && charmaps[name] != nil {
			return input, nil // which is in UTF-8 by now
		}
		return nil, &Error{RuleMalformed, "The document declares an encoding that it is not in, or that is not supported."}
	}
	return d, nil
}

// fail returns an error with the present position.
func (d *decoder) fail(rule, message string) error {
	before := d.data[:d.at]
	line := 1 + bytes.Count(before, []byte("\n"))
	return &Error{rule, fmt.Sprintf("%s (line %d)", message, line)}
}

// next returns the next start tag, end tag or text. It passes over comments and processing instructions, which have no
// meaning here.
func (d *decoder) next() (xml.Token, error) {
	for {
		d.token = int(d.xml.InputOffset()) + d.skipped
		token, err := d.xml.Token()
		if err != nil {
			return nil, d.explain(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			return token, d.open(&token)
		case xml.EndElement:
			d.depth--
			return token, nil
		case xml.CharData:
			return token, nil
		case xml.Directive:
			return nil, d.fail(RuleUnsafe, "The document has a document type declaration, which is not allowed.")
		}
	}
}

// explain turns an error of the XML decoder into one of this package, except for [io.EOF].
func (d *decoder) explain(err error) error {
	var own *Error
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errTooLong):
		return d.fail(RuleLimit, "A tag or a text is too long.")
	case errors.As(err, &own):
		return own
	}
	return d.fail(RuleMalformed, "The document is not well-formed XML.")
}

// open checks a start tag. The XML decoder leaves undeclared prefixes and repeated attributes to its caller.
func (d *decoder) open(tag *xml.StartElement) error {
	d.depth++
	d.elements++
	switch {
	case d.depth > maxDepth:
		return d.fail(RuleLimit, fmt.Sprintf("The elements are nested more than %d levels deep.", maxDepth))
	case d.elements > maxElements:
		return d.fail(RuleLimit, fmt.Sprintf("The document has more than %d elements.", maxElements))
	case tag.Name.Space != "" && bytes.HasPrefix(d.data[d.token:], []byte("<"+tag.Name.Space+":")):
		return d.fail(RuleMalformed, "A namespace prefix is not declared.")
	}
	names := make(map[xml.Name]bool, len(tag.Attr))
	for _, attribute := range tag.Attr {
		if names[attribute.Name] {
			return d.fail(RuleMalformed, "An element has an attribute twice.")
		}
		names[attribute.Name] = true
	}
	return nil
}

// element is an element of UBL with its content. An element of another namespace has no content and no prefix.
type element struct {
	name       string // with the usual prefix: cbc:ID, cac:Party
	attributes []xml.Attr
	text       string
	children   []*element
	// seen tells whether the text has been read, and taken has a bit for each of the first attributes that has.
	seen  bool
	taken uint64
	// file is the part of the document with the text of an embedded file, which is not in text.
	file []byte
}

// prefixed returns the name of a UBL element with its usual prefix, and "" for an element of another namespace.
func prefixed(name xml.Name) string {
	switch name.Space {
	case namespaceBasic:
		return "cbc:" + name.Local
	case namespaceGroup:
		return "cac:" + name.Local
	}
	return ""
}

// skip passes over the rest of an element whose start tag has been read.
func (d *decoder) skip() error {
	for open := d.depth; d.depth >= open; {
		if _, err := d.next(); err != nil {
			return err
		}
	}
	return nil
}

// read returns the element whose start tag has been read, with its content.
func (d *decoder) read(tag *xml.StartElement) (*element, error) {
	if d.tree++; d.tree > maxTree {
		return nil, d.fail(RuleLimit, fmt.Sprintf("A part of the document has more than %d elements.", maxTree))
	}
	e := &element{name: prefixed(tag.Name), attributes: tag.Attr}
	if e.name == embeddedFile {
		e.file = d.skipFile()
	}
	var text strings.Builder
	for {
		token, err := d.next()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := d.readInto(e, &token); err != nil {
				return nil, err
			}
		case xml.CharData:
			if text.Len() == 0 {
				token = bytes.TrimLeft(token, " \t\r\n")
			}
			if d.text += len(token); d.text > maxText {
				return nil, d.fail(RuleLimit, "The texts of the document are too long.")
			}
			text.Write(token)
		case xml.EndElement:
			e.text = strings.TrimSpace(text.String())
			return e, nil
		}
	}
}

// readInto adds the element whose start tag has been read to its parent. Of elements of other namespaces, one after the
// other, the first is there, with only its name.
func (d *decoder) readInto(parent *element, tag *xml.StartElement) error {
	if prefixed(tag.Name) != "" {
		child, err := d.read(tag)
		parent.children = append(parent.children, child)
		return err
	}
	if n := len(parent.children); n == 0 || parent.children[n-1].prefixed() {
		parent.children = append(parent.children, &element{name: tag.Name.Local})
	}
	return d.skip()
}

// prefixed tells whether an element is one of UBL.
func (e *element) prefixed() bool { return strings.Contains(e.name, ":") }

// embeddedFile is the element whose text is a file in base64.
const embeddedFile = "cbc:EmbeddedDocumentBinaryObject"

// skipFile moves past the text of an embedded file and returns it as it is in the document: CDATA sections, comments,
// processing instructions and references are left to [decodeFile]. The decoder continues after it, so that a file is
// not copied.
func (d *decoder) skipFile() []byte {
	if bytes.HasSuffix(d.data[:d.at], []byte("/>")) {
		return nil
	}
	rest := d.data[d.at:]
	length := 0
	for {
		next := bytes.IndexByte(rest[length:], '<')
		if next < 0 {
			return nil // the end tag is missing: the decoder says so
		}
		length += next
		markup := markupLength(rest[length:])
		if markup == 0 {
			break
		}
		length += markup
	}
	d.at += length
	d.skipped += length
	return rest[:length]
}

// markupLength returns the length of the CDATA section, comment or processing instruction at the start of a text, 0 if
// there is none that ends.
func markupLength(text []byte) int {
	for _, kind := range [][2]string{{"<![CDATA[", "]]>"}, {"<!--", "-->"}, {"<?", "?>"}} {
		if inside, ok := bytes.CutPrefix(text, []byte(kind[0])); ok {
			if end := bytes.Index(inside, []byte(kind[1])); end >= 0 {
				return len(kind[0]) + end + len(kind[1])
			}
			return 0
		}
	}
	return 0
}

// child returns the first element at a path of names, such as cac:Party/cbc:Name, and nil if there is none.
func (e *element) child(path string) *element {
	for name := range strings.SplitSeq(path, "/") {
		e, _ = e.first(name)
	}
	return e
}

// first returns the first child of a name, nil if there is none, and how many there are.
func (e *element) first(name string) (first *element, count int) {
	if e == nil {
		return nil, 0
	}
	for _, child := range e.children {
		if child.name == name {
			if count++; first == nil {
				first = child
			}
		}
	}
	return first, count
}

// all returns the children of a name.
func (e *element) all(name string) []*element {
	if e == nil {
		return nil
	}
	var out []*element
	for _, child := range e.children {
		if child.name == name {
			out = append(out, child)
		}
	}
	return out
}

// peek returns an attribute without a namespace, and "" if there is none.
func (e *element) peek(name string) string {
	value, _ := e.find(name)
	return value
}

// attribute is peek for an attribute that is thereby read.
func (e *element) attribute(name string) string {
	value, at := e.find(name)
	if at >= 0 {
		e.taken |= 1 << at // none beyond the 64th is one that counts
	}
	return value
}

// find returns an attribute without a namespace and its position, -1 if there is none.
func (e *element) find(name string) (value string, at int) {
	if e != nil {
		for n, a := range e.attributes {
			if a.Name.Space == "" && a.Name.Local == name {
				return strings.TrimSpace(a.Value), n
			}
		}
	}
	return "", -1
}
