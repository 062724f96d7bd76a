package api

// ExportFormat is the format of a file with a list.
type ExportFormat string

// The formats of a file with a list.
const (
	ExportCSV  ExportFormat = "csv"  // RFC 4180, UTF-8 with a byte order mark
	ExportXLSX ExportFormat = "xlsx" // Office Open XML
)
