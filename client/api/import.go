package api

// Import is what a file with drafts says, and which drafts were created from it.
type Import struct {
	Valid       bool              `json:"valid" doc:"True if the file has no faults. Otherwise nothing is stored."`
	Rows        int               `json:"rows" doc:"Number of rows below the header that are not empty." example:"420"`
	Drafts      int               `json:"drafts" doc:"Number of different invoice numbers." example:"200"`
	Incomplete  int               `json:"incomplete" doc:"Number of drafts that lack fields which submission needs. They can be imported." example:"3"`
	UsedNumbers int               `json:"used_numbers" doc:"Number of drafts whose invoice number another invoice of the company has already, drafts included. They can be imported." example:"0"`
	Totals      []ImportTotal     `json:"totals" nullable:"false" doc:"Totals of the drafts by currency, in the order of their first draft."`
	Faults      []ImportFault     `json:"faults" nullable:"false" doc:"The first 1,000 faults, in the order of the rows."`
	MoreFaults  int               `json:"more_faults" doc:"Number of the faults that are not listed." example:"0"`
	Invoices    []ImportedInvoice `json:"invoices" nullable:"false" doc:"The created drafts in the order of the file; empty after a dry run."`
}

// ImportTotal is the sum of the drafts of a file in one currency.
type ImportTotal struct {
	Currency    string `json:"currency" doc:"Currency (ISO 4217)." example:"AED"`
	Drafts      int    `json:"drafts" doc:"Number of drafts." example:"200"`
	TotalAmount Amount `json:"total_amount" doc:"Sum of total_amount." example:"21000.00"`
}

// ImportFault is one thing that is wrong with a file.
type ImportFault struct {
	Fault
	Row    int    `json:"row" doc:"Number of the row, as spreadsheets count: the header is row 1. 0 for the file as a whole." example:"17"`
	Column string `json:"column" doc:"Name of the column, which is that of the field; empty for the row as a whole." example:"issue_date"`
	Value  string `json:"value" doc:"Beginning of the text in the cell." example:"2026-02-30"`
}

// ImportedInvoice is a draft that was created from a file.
type ImportedInvoice struct {
	ID            string `json:"id" format:"uuid" doc:"Identifier."`
	InvoiceNumber string `json:"invoice_number" doc:"Invoice number." example:"INV-2026-0001"`
}
