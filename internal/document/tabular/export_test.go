package tabular

// For tests.
var (
	Guard   = guard
	Unguard = unguard
)

// IsNumber reports whether a cell is a number.
func IsNumber(cell string) bool { return Decimal.isValue(cell) }
