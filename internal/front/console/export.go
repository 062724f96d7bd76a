package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"quittance/internal/document/tabular"
	"quittance/internal/front/export"
)

// The parameters of an export in its address, beside those of the list.
const (
	formatParameter = "format"
	RowsParameter   = "rows"
	RowsOfItems     = "items"
)

// ExportMenu is the control above a list that offers it as a file.
type ExportMenu struct {
	path   string
	values map[string]string
	// Items reports that the file can also have a row for each item.
	Items bool
}

// NewExportMenu returns the control of a list with the address path and the filters values.
func NewExportMenu(path string, values map[string]string) *ExportMenu {
	return &ExportMenu{path: path + "/export", values: values}
}

// Link returns the address of the file in a format. rows is "items" for a row for each item, or "".
func (m ExportMenu) Link(format, rows string) string {
	query := url.Values{}
	for name, value := range m.values {
		if value != "" {
			query.Set(name, value)
		}
	}
	query.Set(formatParameter, format)
	if rows != "" {
		query.Set(RowsParameter, rows)
	}
	return m.path + "?" + query.Encode()
}

// SendExport responds with a list as a file. A file must not have other rows than its reader asked for, so parameters
// that are not valid are an error here. If the file cannot be finished, the connection ends.
func (req *Request) SendExport(list export.List, ignored []string) error {
	format := tabular.Format(req.R.URL.Query().Get(formatParameter))
	ignored = slices.DeleteFunc(ignored,
		func(parameter string) bool { return parameter == formatParameter+"="+string(format) })
	if !slices.Contains(tabular.Formats[:], format) || len(ignored) > 0 {
		return errExport
	}
	file, err := req.Exporter.Open(req.R.Context(), req.Session.Account.ID, list, format)
	if err != nil {
		return err
	}
	header := req.W.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", file.Disposition())
	header.Set("Content-Type", file.MediaType)
	req.W.WriteHeader(http.StatusOK)
	_, err = file.WriteTo(req.W)
	if err = errors.Join(err, file.Close()); err != nil {
		req.Logged, req.broken = errors.Join(req.Logged, err), true
	}
	return nil
}

// Unfiltered returns the parameters of a list that has no filters.
func (req *Request) Unfiltered() (ignored []string) {
	_, ignored = req.ReadFilters(func(string, string) bool { return false })
	return ignored
}
