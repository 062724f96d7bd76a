package storecove

import (
	"strings"

	"quittance/internal/provider"
)

// schemeOf returns the provider's name of the scheme of a participant: that of the options of a connection, or
// the built-in one. It is "" if there is none, or no identifier.
func schemeOf(p provider.Participant, options map[string]string) string {
	if p.ID == "" {
		return ""
	}
	for pair := range strings.SplitSeq(options[optionSchemes], ",") {
		if code, name, _ := strings.Cut(pair, "="); code == p.Scheme {
			return name
		}
	}
	return schemeNames[p.Scheme]
}

// schemeNames are the provider's names of the schemes of recipients, by EAS code. The provider publishes its list on
// its documentation page ("receiver identifiers list"). This is the part of it that the open-source client Invoice
// Ninja repeats (invoiceninja/invoiceninja, the routing rules of app/Services/EDocument/Standards/Peppol.php), without
// what it deletes or makes dependent on more than the identifier. Each name is that of the Peppol code list of
// participant identifier schemes, which gives the number. Names for other schemes come from the operator: a document
// that is sent under a wrong one would not arrive.
var schemeNames = map[string]string{ //nolint:gochecknoglobals // constant
	"0002": "FR:SIRENE", "0007": "SE:ORGNR", "0009": "FR:SIRET", "0060": "DUNS", "0088": "GLN", "0106": "NL:KVK",
	"0151": "AU:ABN", "0183": "CH:UIDB", "0184": "DK:DIGST", "0188": "JP:SST", "0190": "NL:OINO", "0191": "EE:CC",
	"0192": "NO:ORG", "0195": "SG:UEN", "0196": "IS:KTNR", "0199": "LEI", "0200": "LT:LEC", "0201": "IT:CUUO",
	"0204": "DE:LWID", "0208": "BE:EN", "0230": "MY:EIF", "9910": "HU:VAT", "9914": "AT:VAT", "9920": "ES:VAT",
	"9922": "AD:VAT", "9923": "AL:VAT", "9924": "BA:VAT", "9926": "BG:VAT", "9928": "CY:VAT", "9929": "CZ:VAT",
	"9930": "DE:VAT", "9932": "GB:VAT", "9933": "GR:VAT", "9934": "HR:VAT", "9935": "IE:VAT", "9936": "LI:VAT",
	"9938": "LU:VAT", "9939": "LV:VAT", "9940": "MC:VAT", "9941": "ME:VAT", "9942": "MK:VAT", "9943": "MT:VAT",
	"9944": "NL:VAT", "9945": "PL:VAT", "9946": "PT:VAT", "9947": "RO:VAT", "9948": "RS:VAT", "9949": "SI:VAT",
	"9950": "SK:VAT",
	"9951": "SM:VAT",
	"9952": "TR:VAT",
	"9953": "VA:VAT",
}
