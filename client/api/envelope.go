package api

// Data is the envelope of every successful response.
type Data[T any] struct {
	// Data is the content.
	Data T `json:"data"`
}

// List is the envelope of a list that is read by page number.
type List[T any] struct {
	// Data holds the entries of this page, newest first; an empty list is [].
	Data []T `json:"data" nullable:"false"`
	// Pagination describes the position of this page.
	Pagination Pagination `json:"pagination"`
}

// Pagination describes a page of a list.
type Pagination struct {
	// CurrentPage is the requested page, from 1.
	CurrentPage int `json:"current_page" minimum:"1" doc:"The requested page, from 1."`
	// PerPage is the number of entries a full page holds, from 1 to 100.
	PerPage int `json:"per_page" minimum:"1" maximum:"100" doc:"Entries on a full page, at most 100; a higher request is treated as 100."`
	// LastPage is the number of the last page; an empty list has 1.
	LastPage int `json:"last_page" minimum:"1" doc:"Number of the last page; 1 for an empty list."`
	// HasMore is true while CurrentPage is before LastPage.
	HasMore bool `json:"has_more" doc:"True if there are further pages."`
	// Total is the number of entries in the whole list, or among the examined candidates if the list is Truncated.
	Total int `json:"total" minimum:"0" doc:"Entries in the whole list; for a truncated list, among the examined ones."`
	// Truncated is true if a list has more candidates than the 20,000 that are examined.
	Truncated bool `json:"truncated,omitempty,omitzero" doc:"Present, and true, only if a filtered or sorted list has more than the 20,000 candidates that are examined; narrow the filter."`
}

// Feed is the envelope of a list that is read by cursor.
type Feed[T any] struct {
	// Data holds the next entries, oldest first; an empty list is [].
	Data []T `json:"data" nullable:"false"`
	// Pagination holds the cursor to continue from.
	Pagination Cursor `json:"pagination"`
}

// CursorLatest is the value of the parameter "after" for the end of a feed: the page is empty, and its NextCursor is
// the end.
const CursorLatest = "latest"

// Cursor is the position in a feed.
type Cursor struct {
	// NextCursor is the value of the parameter "after" of the next call. It never skips an entry that commits later.
	NextCursor string `json:"next_cursor" doc:"Cursor for the parameter after of the next request. New entries always come after a returned cursor."`
	// HasMore is true if another entry is available.
	HasMore bool `json:"has_more" doc:"True if there are further entries now."`
}

// ErrorBody is the envelope of every failure.
type ErrorBody struct {
	// Error describes the failure.
	Error Error `json:"error"`
}

// Error describes a failed call. It implements the error interface, so that the Go client can return it unchanged.
type Error struct {
	// Code is one of the Code constants: stable, for programs.
	Code Code `json:"code" doc:"Stable code for programs."`
	// Message is one English sentence for people; it may change.
	Message string `json:"message" doc:"One English sentence for people; may change."`
	// Details holds the faults of a payload by JSON path, or facts such as invoice_id, or the line and the column of a
	// malformed body; {} if there are none.
	Details map[string]any `json:"details" nullable:"false" doc:"For validation failures, lists of faults by JSON field path; otherwise further facts, or {}."`
	// DocURL is the address of the description of the code, with a path alone if the service has no public address.
	DocURL string `json:"doc_url" doc:"Address of the description of the code. It is relative to the address of the service unless that has a public one." example:"/docs/reference/errors#not_found"`
}

// Error returns "code: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Fault is one broken rule of one field of a payload.
type Fault struct {
	// Rule is this API's name of the rule: required, type, max_length, country_unknown, …
	Rule string `json:"rule" doc:"This API's name of the violated rule: required, type, max_length, country_unknown …" example:"base_quantity_not_positive"`
	// RuleID is the official identifier of a business rule, if there is one.
	RuleID string `json:"rule_id,omitempty" doc:"Official identifier of the business rule; absent if there is none." example:"BR-CL-14"`
	// Message says in English what the rule requires.
	Message string `json:"message" doc:"What the rule requires."`
}

// Faults maps a JSON field path such as items[2].vat_rate to its faults.
type Faults map[string][]Fault

// Add appends a fault at path.
func (f Faults) Add(path, rule, message string) {
	f[path] = append(f[path], Fault{Rule: rule, Message: message})
}

// AddOfficial appends a fault at path that has an official identifier.
func (f Faults) AddOfficial(path, rule, ruleID, message string) {
	f[path] = append(f[path], Fault{Rule: rule, RuleID: ruleID, Message: message})
}

// Has reports whether there is a fault at path.
func (f Faults) Has(path string) bool { return len(f[path]) > 0 }

// With adds the faults at paths that have none yet and returns f. A field that already has faults gets no more.
func (f Faults) With(more Faults) Faults {
	for path, list := range more {
		if !f.Has(path) {
			f[path] = list
		}
	}
	return f
}
