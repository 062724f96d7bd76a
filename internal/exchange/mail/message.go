package mail

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	netmail "net/mail"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	gomail "github.com/wneessen/go-mail"

	"quittance/internal/account"
	"quittance/internal/ledger/identity"
)

//go:embed messages/*.json
var messages embed.FS

// catalogue has the texts of one language.
type catalogue struct {
	// Language is its tag (BCP 47), Direction the value of the attribute dir of HTML.
	Language  string `json:"language"`
	Direction string `json:"direction"`
	// SomeCompany stands for a name that is not shown.
	SomeCompany string                        `json:"some_company"`
	Footer      string                        `json:"footer"`
	Kinds       map[identity.MailKind]wording `json:"kinds"`
}

// wording has the texts of one kind of mail. {company} and {count} in them are replaced.
type wording struct {
	Subject string   `json:"subject"`
	Text    []string `json:"text"`
	Button  string   `json:"button"`
}

// defaultLanguage is the language of mails to recipients who have chosen none.
const defaultLanguage = "en"

// readCatalogue reads the texts of a language, or of the default one if there are none.
func readCatalogue(language string) (c catalogue, err error) {
	if language != "ar" {
		language = defaultLanguage
	}
	text, err := fs.ReadFile(messages, "messages/"+language+".json")
	if err != nil {
		return c, fmt.Errorf("texts: %w", err)
	}
	if err := jsonv2.Unmarshal(text, &c, jsonv2.RejectUnknownMembers(true)); err != nil {
		return c, fmt.Errorf("texts of %s: %w", language, err)
	}
	return c, nil
}

// written is a mail as people read it.
type written struct {
	Language, Direction string
	Subject             string
	Paragraphs          []string
	// Button is the text of Link; both are "" for a mail without a link.
	Button string
	Link   template.URL
	Footer string
}

// testText is the mail of [Relay.Test].
var testText = written{Language: defaultLanguage, Direction: "ltr", Subject: "Test of the e-mail settings of Quittance", //nolint:gochecknoglobals // a constant
	Paragraphs: []string{"If you can read this, Quittance can send e-mails with these settings."},
	Footer:     "Somebody who operates Quittance has sent this e-mail."}

// write writes a mail in the language of its recipient.
func (m *Mailer) write(mail identity.Mail) (written, error) {
	texts, err := readCatalogue(mail.Language)
	if err != nil {
		return written{}, err
	}
	words, known := texts.Kinds[mail.Kind]
	if !known {
		return written{}, fmt.Errorf("%w: no text for %q", errMessage, mail.Kind)
	}
	company := displayName(mail.Company)
	if company == "" {
		company = texts.SomeCompany
	} else if texts.Direction == "rtl" {
		// isolated, so that a name in another script does not turn the sentence around
		company = "\u2068" + company + "\u2069"
	}
	fill := strings.NewReplacer("{company}", company, "{count}", strconv.FormatInt(mail.Count, 10)).Replace
	out := written{Language: texts.Language, Direction: texts.Direction, Subject: fill(words.Subject),
		Button: words.Button, Link: m.link(mail), Footer: texts.Footer}
	for _, text := range words.Text {
		out.Paragraphs = append(out.Paragraphs, fill(text))
	}
	return out, nil
}

// link returns the address that a mail leads to. Secrets are in the fragment, which browsers do not send.
func (m *Mailer) link(mail identity.Mail) template.URL {
	path := map[identity.MailKind]string{identity.MailInvitation: account.JoinPath,
		identity.MailPasswordReset:   account.ResetPath,
		identity.MailPasswordChanged: "/account", identity.MailWrongCodes: "/account",
		identity.MailFactorAdded:  "/second-factor",
		identity.MailAddressProof: account.ProvePath, identity.MailAddressChanged: "/login",
		identity.NoticeRejection: "/invoices?tab=attention", identity.NoticeDeactivated: "/webhooks",
		identity.NoticeFailing: "/webhooks"}[mail.Kind]
	address := m.PublicURL + path
	if !mail.Secret.IsZero() {
		address += "#" + mail.Secret.Reveal()
	}
	return template.URL(address) //nolint:gosec // the operator's own address, a constant path and a secret of the base64url alphabet
}

// maxName is how many characters of a name a mail shows.
const maxName = 100

// linkLike finds what mail programs turn into links: the name of a company must not lead anybody anywhere.
var linkLike = regexp.MustCompile(`(?i)[:/]/|@|www[.。．｡]|[^\s.。．｡][.。．｡]\p{L}[\p{L}\p{M}]|\d[.。．｡]\d+[.。．｡]\d`)

// displayName returns a name as a mail shows it: one line without invisible characters, or "" if it looks like a link.
func displayName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp),
			r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName]) + "…"
	}
	if linkLike.MatchString(name) {
		return ""
	}
	return name
}

// page is the HTML part. It loads nothing, so that nobody learns that it was read.
//
//nolint:gochecknoglobals // a parsed constant
var page = template.Must(template.New("mail").Parse(`<!doctype html>
<html lang="{{.Language}}" dir="{{.Direction}}"><head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="margin:0;padding:24px;background:#f4f4f2;color:#1d1d1b;font:16px/1.5 system-ui,sans-serif">
<div dir="{{.Direction}}" style="max-width:560px;margin:0 auto;padding:24px;background:#fff;border-radius:8px">
{{range .Paragraphs}}<p>{{.}}</p>
{{end}}{{if .Button}}<p><a href="{{.Link}}" style="display:inline-block;padding:10px 18px;background:#1a4d3a;color:#fff;border-radius:6px;text-decoration:none">{{.Button}}</a></p>
{{end}}<p style="color:#5f5f5a;font-size:13px">{{.Footer}}</p>
</div></body></html>
`))

// message returns the mail as a message to an address, with a text and an HTML part.
func (w *written) message(r *Relay, to string) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	from := r.From
	message.FromMailAddress(&from)
	// The library would take a name, a comment or quotes in an address. The mail would then go to another address than the
	// one that the limits of mails are counted for.
	if parsed, err := netmail.ParseAddress(to); err != nil || parsed.Name != "" || parsed.Address != to {
		return nil, errMessage // err quotes the address
	}
	if err := message.To(to); err != nil {
		return nil, errMessage
	}
	message.Subject(w.Subject)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office answers
	message.SetGenHeader("Content-Language", w.Language)
	var text, html strings.Builder
	for _, paragraph := range w.Paragraphs {
		text.WriteString(paragraph + "\n\n")
	}
	if w.Button != "" {
		text.WriteString(w.Button + ":\n" + string(w.Link) + "\n\n")
	}
	text.WriteString("-- \n" + w.Footer + "\n")
	if err := page.Execute(&html, w); err != nil {
		return nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	message.SetBodyString(gomail.TypeTextPlain, text.String())
	message.AddAlternativeString(gomail.TypeTextHTML, html.String())
	return message, nil
}
