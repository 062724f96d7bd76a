package ubl

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxForeign is the size of the largest document in another encoding than UTF-8, in bytes: reading it takes a copy.
const maxForeign = 4 << 20

// charmaps are the encodings of one byte for each character that are read, by their names in the declaration of a
// document (IANA), in lower case.
var charmaps = map[string]*charmap.Charmap{ //nolint:gochecknoglobals // a constant table
	"iso-8859-1": charmap.ISO8859_1, "iso-8859-2": charmap.ISO8859_2, "iso-8859-3": charmap.ISO8859_3,
	"iso-8859-4": charmap.ISO8859_4, "iso-8859-5": charmap.ISO8859_5, "iso-8859-6": charmap.ISO8859_6,
	"iso-8859-7": charmap.ISO8859_7, "iso-8859-8": charmap.ISO8859_8, "iso-8859-9": charmap.ISO8859_9,
	"iso-8859-10": charmap.ISO8859_10, "iso-8859-13": charmap.ISO8859_13, "iso-8859-14": charmap.ISO8859_14,
	"iso-8859-15": charmap.ISO8859_15, "iso-8859-16": charmap.ISO8859_16, "latin1": charmap.ISO8859_1,
	"windows-1250": charmap.Windows1250, "windows-1251": charmap.Windows1251, "windows-1252": charmap.Windows1252,
	"windows-1253": charmap.Windows1253, "windows-1254": charmap.Windows1254, "windows-1255": charmap.Windows1255,
	"windows-1256": charmap.Windows1256, "windows-1257": charmap.Windows1257, "windows-1258": charmap.Windows1258,
}

// declaration is the XML declaration of a document (XML 1.0, section 2.8): the digits of its version after 1 and a dot,
// and its encoding.
var declaration = regexp.MustCompile(`\A<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*["']1\.([0-9])["']` +
	`(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._-]*)["'])?`)

// inUTF8 returns a document in UTF-8 and with version 1.0 in its declaration, which is all that the XML decoder reads.
// It is the document itself if that is so already. declared is the encoding that the declaration names, in lower case.
func inUTF8(document []byte) (out []byte, declared string, err error) {
	order := byteOrder(document)
	if out = bytes.TrimPrefix(document, []byte("\ufeff")); order != nil {
		if out, err = fromUTF16(document, order); err != nil {
			return nil, "", err
		}
	}
	// Every encoding that is read has the characters of a declaration where ASCII has them.
	head := declaration.FindSubmatchIndex(out[:min(len(out), 256)])
	if head == nil {
		return valid(out, "")
	}
	if version := head[2]; out[version] != '0' { // what XML 1.1 has beyond 1.0, no invoice needs
		out = bytes.Clone(out)
		out[version] = '0'
	}
	if head[4] >= 0 {
		declared = strings.ToLower(string(out[head[4]:head[5]]))
	}
	table, known := charmaps[declared]
	if order != nil || !known {
		return valid(out, declared)
	}
	if len(out) > maxForeign {
		return nil, "", errForeignSize
	}
	out, _ = table.NewDecoder().Bytes(out) // a decoder of a table knows no errors
	if bytes.ContainsRune(out, utf8.RuneError) {
		return nil, "", &Error{RuleMalformed, "The document has a byte that its encoding does not have."}
	}
	return out, declared, nil
}

var errForeignSize = &Error{RuleLimit, "The document is not in UTF-8 and larger than 4 MiB."}

// valid returns a document if it is in UTF-8.
func valid(document []byte, declared string) ([]byte, string, error) {
	if !utf8.Valid(document) {
		return nil, "", &Error{RuleMalformed, "The document is not in the encoding that it declares, or in UTF-8."}
	}
	return document, declared, nil
}

// byteOrder returns the order of the bytes of a document in UTF-16, which a byte order mark or its first character
// shows (XML 1.0, appendix F), and nil for any other.
func byteOrder(document []byte) binary.ByteOrder {
	for _, mark := range []string{"\xff\xfe", "<\x00"} {
		if bytes.HasPrefix(document, []byte(mark)) {
			return binary.LittleEndian
		}
	}
	for _, mark := range []string{"\xfe\xff", "\x00<"} {
		if bytes.HasPrefix(document, []byte(mark)) {
			return binary.BigEndian
		}
	}
	return nil
}

// fromUTF16 returns a document in UTF-16 in UTF-8, without its byte order mark.
func fromUTF16(document []byte, order binary.ByteOrder) ([]byte, error) {
	if len(document) > maxForeign {
		return nil, errForeignSize
	}
	broken := &Error{RuleMalformed, "The document is not valid UTF-16."}
	if len(document)%2 != 0 {
		return nil, broken
	}
	out := make([]byte, 0, len(document))
	for len(document) > 0 {
		r := rune(order.Uint16(document))
		document = document[2:]
		if utf16.IsSurrogate(r) {
			if len(document) == 0 {
				return nil, broken
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(document))); r == utf8.RuneError {
				return nil, broken
			}
			document = document[2:]
		}
		out = utf8.AppendRune(out, r)
	}
	return bytes.TrimPrefix(out, []byte("\ufeff")), nil
}
