package tabular

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The limits of the XML of a part. The decoder holds one token, and the elements around it.
const (
	// maxElements is how many elements the parts that are read may have together: three for each of a million cells, which
	// is half of what rows and columns allow.
	maxElements = 3_000_000
	// maxToken is the largest size in bytes of a tag, and of the text of a cell. A cell of Excel has up to 32,767
	// characters, each of which takes up to seven bytes here.
	maxToken = 256 << 10
	// maxDepth is how deep elements may be nested, and maxAttributes how many attributes one may have.
	maxDepth      = 64
	maxAttributes = 64
)

// budget is what is left of the limits of all parts together. It ends with its context.
type budget struct {
	ctx             context.Context //nolint:containedctx // it is checked deep in a reader that has no parameter for it
	bytes, elements int
}

// part is the XML of a part, read token by token within the budget.
type part struct {
	*budget
	content io.Reader
	tokens  *xml.Decoder
	buffer  []byte
	unread  []byte
	// length is the number of bytes of the token so far, and depth that of the elements that are open.
	length, depth int
	// text is used again for each text.
	text []byte
}

// tooLong is the error for a tag or a text above the limit.
func tooLong() error {
	return &Error{Rule: ruleCell, Message: fmt.Sprintf("must have at most %d KiB in a tag or a text", maxToken>>10)}
}

// namespaces are those of the elements that are read: none, those of worksheets in both forms of the standard, and that
// of relationships. Programs add elements of their own with the same names, which say something else.
var namespaces = []string{ //nolint:gochecknoglobals // a constant list
	"",
	"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
	"http://purl.oclc.org/ooxml/spreadsheetml/main",
	"http://schemas.openxmlformats.org/package/2006/relationships",
}

// elements calls visit with the beginning of each element directly below the root of a part.
func (b *book) elements(name string, visit func(p *part, e xml.StartElement) error) error {
	file := b.parts[name]
	if file == nil {
		return unreadable()
	}
	content, err := file.Open()
	if err != nil {
		return unreadableUnless(b.budget.ctx)
	}
	p := &part{budget: b.budget, content: content, buffer: make([]byte, 32<<10)}
	p.tokens = xml.NewDecoder(p)
	err = p.children(func(xml.StartElement) error {
		return p.children(func(e xml.StartElement) error { return visit(p, e) })
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, content.Close())
}

// children calls visit with the beginning of each element directly in the one that was begun last, until that one ends.
// What visit leaves unread of an element is skipped. For a part it ends with [io.EOF].
func (p *part) children(visit func(e xml.StartElement) error) error {
	for inside := p.depth; ; {
		token, err := p.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if p.depth == inside+1 && slices.Contains(namespaces, token.Name.Space) {
				err = visit(token)
			}
		case xml.EndElement:
			if p.depth < inside {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next token; [io.EOF] at the end. The token is valid until the next one.
func (p *part) next() (xml.Token, error) {
	p.length = 0
	token, err := p.tokens.Token()
	if err != nil {
		if _, broken := errors.AsType[*xml.SyntaxError](err); broken {
			return nil, unreadable()
		}
		if refused, ok := errors.AsType[*Error](err); ok {
			return nil, refused
		}
		if p.ctx.Err() != nil || errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, unreadable() // for example a character set that is not UTF-8
	}
	switch token := token.(type) {
	case xml.StartElement:
		p.depth++
		if p.elements--; p.elements < 0 {
			return nil, tooMany(maxElements, "elements in its parts")
		}
		if p.depth > maxDepth || len(token.Attr) > maxAttributes {
			return nil, unreadable()
		}
	case xml.EndElement:
		p.depth--
	}
	return token, nil
}

// ReadByte is what the decoder reads with.
func (p *part) ReadByte() (byte, error) {
	if len(p.unread) == 0 {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	if p.length++; p.length > maxToken {
		return 0, tooLong()
	}
	next := p.unread[0]
	p.unread = p.unread[1:]
	return next, nil
}

// Read makes a part an [io.Reader], which the decoder asks for; it uses ReadByte.
func (p *part) Read(into []byte) (n int, err error) {
	for ; n < len(into) && err == nil; n++ {
		into[n], err = p.ReadByte()
	}
	return n, err
}

// fill unpacks more of the part.
func (p *part) fill() error {
	if err := p.ctx.Err(); err != nil {
		return fmt.Errorf("read a workbook: %w", err)
	}
	n, err := io.ReadAtLeast(p.content, p.buffer, 1)
	if p.bytes -= n; p.bytes < 0 {
		return &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d MiB when it is unpacked", MaxUnpacked>>20)}
	}
	switch p.unread = p.buffer[:n]; {
	case n > 0:
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return unreadableUnless(p.ctx)
}

// attribute returns an attribute of an element, "" if it has none of the name.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// relationOf returns the identifier of the relationship that an element names, "" if it names none. Its attribute has
// another name space than those of the element.
func relationOf(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "id" {
			return a.Value
		}
	}
	return ""
}

// appendText adds the text of the element that was begun last, to its end.
func (p *part) appendText(text []byte) ([]byte, error) {
	for outside := p.depth - 1; ; {
		token, err := p.next()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.CharData:
			if len(text)+len(token) > maxToken {
				return nil, tooLong()
			}
			text = append(text, token...)
		case xml.EndElement:
			if p.depth == outside {
				return text, nil
			}
		}
	}
}

// richText returns the text of the element that was begun last, whose parts have fonts of their own. What is shown
// above a text to say how it is pronounced is not part of it.
func (p *part) richText() (string, error) {
	p.text = p.text[:0]
	read := func(e xml.StartElement) (err error) {
		if e.Name.Local == "t" {
			p.text, err = p.appendText(p.text)
		}
		return err
	}
	err := p.children(func(e xml.StartElement) error {
		if e.Name.Local == "r" {
			return p.children(read)
		}
		return read(e)
	})
	return unescaped(string(p.text)), err
}

// unescaped returns a text in which XML cannot have every character: _x0009_ is a tab, and _x005F_ the underscore
// that otherwise begins such a sequence (ECMA-376, part 1, 22.9.2.19). Line breaks become LF.
func unescaped(text string) string {
	if !strings.Contains(text, "_x") && !strings.Contains(text, "\r") {
		return text
	}
	var out strings.Builder
	for {
		at := strings.Index(text, "_x")
		if at < 0 {
			break
		}
		out.WriteString(text[:at])
		text = text[at:]
		c, ok := escape(text)
		if !ok {
			out.WriteString(text[:len("_x")])
			text = text[len("_x"):]
			continue
		}
		text = text[escapeLength:]
		if low, ok := escape(text); ok && utf16.DecodeRune(c, low) != utf8.RuneError {
			c, text = utf16.DecodeRune(c, low), text[escapeLength:]
		}
		out.WriteRune(c)
	}
	out.WriteString(text)
	return strings.ReplaceAll(strings.ReplaceAll(out.String(), "\r\n", "\n"), "\r", "\n")
}

// escapeLength is the length in bytes of an escaped character.
const escapeLength = len("_x0000_")

// escape returns the unit of UTF-16 that an escaped character at the beginning of a text stands for; false if there is
// none.
func escape(text string) (rune, bool) {
	const digits = 4
	if len(text) < escapeLength || text[escapeLength-1] != '_' || !strings.HasPrefix(text, "_x") {
		return 0, false
	}
	code, err := strconv.ParseUint(text[len("_x"):len("_x")+digits], 16, 16)
	return rune(code), err == nil
}
