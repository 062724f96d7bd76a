package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/strictjson"
)

const apiKeysPath = "/api-keys"

func apiKeyRoutes() []route {
	return []route{
		{method: http.MethodGet, path: apiKeysPath, needs: access.ManageKeys, serve: (*request).listAPIKeys},
		{method: http.MethodGet, path: apiKeysPath + "/new", needs: access.ManageKeys, serve: (*request).showAPIKeyForm},
		{method: http.MethodPost, path: apiKeysPath + "/new", needs: access.ManageKeys, serve: (*request).createAPIKey},
		{method: http.MethodPost, path: apiKeysPath + "/{key}/revoke", needs: access.ManageKeys,
			serve: (*request).revokeAPIKey},
	}
}

// apiKeyRows is a page of the list of API keys.
type apiKeyRows struct {
	Rows   []api.APIKey
	Paging page.Paging
}

func (req *request) listAPIKeys() error {
	keys, err := identity.APIKeys(req.R.Context(), req.session.Tenant)
	if err != nil {
		return err
	}
	rows := apiKeyRows{Paging: req.Paging()}
	rows.Paging.Total = len(keys)
	first, through := max(0, rows.Paging.First()-1), rows.Paging.Through()
	for _, key := range keys[min(first, through):through] {
		rows.Rows = append(rows.Rows, view.APIKey(key, req.Now()))
	}
	return req.Show(http.StatusOK, "api_keys", "keys.title", page.Layout{Section: "keys", Body: rows,
		Export: newExportMenu(apiKeysPath, nil)})
}

// apiKeyForm is the form of a new API key.
type apiKeyForm struct {
	Name string
	// Networks has a network on each line, Expires is a date or "".
	Networks, Expires string
	// Chosen holds the selected scopes, of those that the user may give.
	Chosen map[access.Scope]bool
	Scopes []access.Scope
	// Key identifies one use of the form, so that sending it twice creates one API key.
	Key string
	// Faults holds the error messages by field.
	Faults map[string][]string
}

func (req *request) showAPIKeyForm() error {
	return req.respondAPIKeyForm(http.StatusOK, apiKeyForm{Chosen: map[access.Scope]bool{access.ScopeRead: true}})
}

// respondAPIKeyForm responds with the form, which gets a new key each time.
func (req *request) respondAPIKeyForm(status int, form apiKeyForm) error {
	var err error
	if form.Key, err = req.newKey(); err != nil {
		return err
	}
	form.Scopes = req.session.Permissions.Scopes()
	return req.Show(status, "api_key_form", "keys.new", page.Layout{Section: "keys", Body: form})
}

// newAPIKeyPage is the view model of the page of a new API key. It is the only page that ever contains a key.
type newAPIKeyPage struct {
	api.APIKey
	Secret string
}

// apiKeyRequests is the API's decoder of new API keys.
var apiKeyRequests = strictjson.For[api.APIKeyRequest]() //nolint:gochecknoglobals // a plan of a type, read only

// readAPIKeyForm reads the form and validates it like the API. The request is for recognizing the same form.
func (req *request) readAPIKeyForm() (form apiKeyForm, add identity.NewAPIKey, request api.APIKeyRequest, err error) {
	form = apiKeyForm{Name: strings.TrimSpace(req.Form.Get("name")),
		Networks: strings.ReplaceAll(req.Form.Get("networks"), "\r\n", "\n"), Expires: req.Form.Get("expires"),
		Chosen: map[access.Scope]bool{}, Faults: map[string][]string{}}
	networks := strings.FieldsFunc(form.Networks,
		func(r rune) bool { return r == '\n' || r == ',' || r == ' ' || r == '\t' })
	given := map[string]any{"name": form.Name, "scopes": append([]string{}, req.Form["scopes"]...), "networks": networks}
	if form.Expires != "" {
		given["expires_at"] = form.Expires + "T00:00:00Z"
	}
	for _, scope := range req.Form["scopes"] {
		form.Chosen[access.Scope(scope)] = true
	}
	text, err := json.Marshal(given)
	if err != nil {
		return form, add, request, fmt.Errorf("console: form of an API key: %w", err)
	}
	value, err := strictjson.Parse(text)
	if err != nil {
		return form, add, request, fmt.Errorf("console: form of an API key: %w", err)
	}
	request, faults := apiKeyRequests.Decode(value)
	add, more := account.ReadAPIKeyRequest(request, req.Now())
	for path, of := range faults.With(more) {
		for _, fault := range of {
			field, message := path, fault.Message
			if at, found := strings.CutPrefix(path, "networks["); found {
				field = "networks"
				if n, err := strconv.Atoi(strings.TrimSuffix(at, "]")); err == nil && n < len(networks) {
					message = networks[n] + ": " + message
				}
			}
			field, _, _ = strings.Cut(field, "[")
			form.Faults[field] = append(form.Faults[field], message)
		}
	}
	for _, messages := range form.Faults {
		slices.Sort(messages) // in the same order each time
	}
	return form, add, request, nil
}

// createAPIKey creates an API key and shows it in the response itself. No other address shows it. Sending the form
// again leads to the list.
func (req *request) createAPIKey() error {
	form, add, request, err := req.readAPIKeyForm()
	if err != nil {
		return err
	}
	if len(form.Faults) > 0 {
		return req.respondAPIKeyForm(http.StatusUnprocessableEntity, form)
	}
	var made newAPIKeyPage
	again, err := req.once(request, func(ctx context.Context, tenant *base.Tenant) (string, error) {
		created, key, err := req.Accounts.CreateAPIKey(ctx, tenant, req.session, add)
		made = newAPIKeyPage{APIKey: view.APIKey(created, req.Now()), Secret: key.Reveal()}
		return created.ID.String(), err
	})
	_, wide := errors.AsType[*identity.ScopeError](err)
	switch {
	case wide:
		form.Faults["scopes"] = []string{req.TextOr("keys.new.scopes.role", "")}
		return req.respondAPIKeyForm(http.StatusUnprocessableEntity, form)
	case errors.Is(err, base.ErrLimit):
		form.Faults["limit"] = []string{req.TextOr("keys.limit", "")}
		return req.respondAPIKeyForm(http.StatusConflict, form)
	case err != nil:
		return err
	case again != "":
		return req.Redirect(page.WithNotice(apiKeysPath, "good.key_made_before"))
	}
	return req.Show(http.StatusCreated, "new_api_key", "keys.made", page.Layout{Section: "keys", Body: made})
}

func (req *request) revokeAPIKey() error {
	id, err := req.ID("key")
	if err != nil {
		return err
	}
	if _, err := identity.RevokeAPIKey(req.R.Context(), req.session.Tenant, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(apiKeysPath, "good.key_revoked"))
}
