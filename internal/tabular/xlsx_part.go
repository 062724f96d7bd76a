package tabular

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The limits of the XML of a part. The decoder holds one token, and the elements around it.
const (
	// maxElements is how many elements the parts that are read may have together: three for each cell of the largest
	// table, and as many again.
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

// elements calls visit with the beginning of each element of a part. What visit reads itself is not visited.
func (b *book) elements(name string, visit func(p *part, e xml.StartElement) error) error {
	file := b.parts[name]
	if file == nil {
		return unreadable()
	}
	content, err := file.Open()
	if err != nil {
		return unreadable()
	}
	p := &part{budget: b.budget, content: content, buffer: make([]byte, 32<<10)}
	p.tokens = xml.NewDecoder(p)
	err = p.each(func(e xml.StartElement) error { return visit(p, e) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, content.Close())
}

// each calls visit with the beginning of each element below the one that was begun last, until that one ends. For a
// part it ends with [io.EOF].
func (p *part) each(visit func(e xml.StartElement) error) error {
	for outside := p.depth - 1; ; {
		token, err := p.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := visit(token); err != nil {
				return err
			}
		case xml.EndElement:
			if p.depth == outside {
				return nil
			}
		}
	}
}

// skip reads to the end of the element that was begun last.
func (p *part) skip() error { return p.each(func(xml.StartElement) error { return nil }) }

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
	return unreadable()
}

// attribute returns an attribute of an element, "" if it has none of the name.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space != "xmlns" {
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
	err := p.each(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "rPh":
			err = p.skip()
		case "t":
			p.text, err = p.appendText(p.text)
		}
		return err
	})
	return unescaped(string(p.text)), err
}

// unescaped returns a text in which XML cannot have every character: _x0009_ is a tab, and _x005F_ the underscore
// that otherwise begins such a sequence (ECMA-376, part 1, 22.9.2.19).
func unescaped(text string) string {
	const before, digits, length = len("_x"), 4, len("_x0000_")
	if !strings.Contains(text, "_x") {
		return text
	}
	var out strings.Builder
	for text != "" {
		at := strings.Index(text, "_x")
		if at < 0 {
			break
		}
		out.WriteString(text[:at])
		if text = text[at:]; len(text) >= length && text[length-1] == '_' {
			if code, err := strconv.ParseUint(text[before:before+digits], 16, 16); err == nil {
				out.WriteRune(rune(code))
				text = text[length:]
				continue
			}
		}
		out.WriteString(text[:before])
		text = text[before:]
	}
	return out.String() + text
}
