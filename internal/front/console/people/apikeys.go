package people

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
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/strictjson"
)

// APIKeysPath is the list of API keys.
const APIKeysPath = "/api-keys"

func apiKeyRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: APIKeysPath, Needs: access.ManageKeys, Serve: listAPIKeys},
		{Method: http.MethodGet, Path: APIKeysPath + "/new", Needs: access.ManageKeys, Serve: showAPIKeyForm},
		{Method: http.MethodPost, Path: APIKeysPath + "/new", Needs: access.ManageKeys, Serve: createAPIKey},
		{Method: http.MethodPost, Path: APIKeysPath + "/{key}/revoke", Needs: access.ManageKeys,
			Serve: revokeAPIKey},
	}
}

// apiKeyRows is a page of the list of API keys.
type apiKeyRows struct {
	Rows   []api.APIKey
	Paging page.Paging
}

func listAPIKeys(req *console.Request) error {
	keys, err := identity.APIKeys(req.R.Context(), req.Session.Tenant)
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
		Export: console.NewExportMenu(APIKeysPath, nil)})
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

func showAPIKeyForm(req *console.Request) error {
	return respondAPIKeyForm(req, http.StatusOK, apiKeyForm{Chosen: map[access.Scope]bool{access.ScopeRead: true}})
}

// respondAPIKeyForm responds with the form, which gets a new key each time.
func respondAPIKeyForm(req *console.Request, status int, form apiKeyForm) error {
	var err error
	if form.Key, err = req.NewKey(); err != nil {
		return err
	}
	form.Scopes = req.Session.Permissions.Scopes()
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
func readAPIKeyForm(req *console.Request) (form apiKeyForm, add identity.NewAPIKey, request api.APIKeyRequest,
	err error) {
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
func createAPIKey(req *console.Request) error {
	form, add, request, err := readAPIKeyForm(req)
	if err != nil {
		return err
	}
	if len(form.Faults) > 0 {
		return respondAPIKeyForm(req, http.StatusUnprocessableEntity, form)
	}
	var made newAPIKeyPage
	again, err := req.Once(request, func(ctx context.Context, tenant *base.Tenant) (string, error) {
		created, key, err := req.Accounts.CreateAPIKey(ctx, tenant, req.Session, add)
		made = newAPIKeyPage{APIKey: view.APIKey(created, req.Now()), Secret: key.Reveal()}
		return created.ID.String(), err
	})
	_, wide := errors.AsType[*identity.ScopeError](err)
	switch {
	case wide:
		form.Faults["scopes"] = []string{req.TextOr("keys.new.scopes.role", "")}
		return respondAPIKeyForm(req, http.StatusUnprocessableEntity, form)
	case errors.Is(err, base.ErrLimit):
		form.Faults["limit"] = []string{req.TextOr("keys.limit", "")}
		return respondAPIKeyForm(req, http.StatusConflict, form)
	case err != nil:
		return err
	case again != "":
		return req.Redirect(page.WithNotice(APIKeysPath, "good.key_made_before"))
	}
	return req.Show(http.StatusCreated, "new_api_key", "keys.made", page.Layout{Section: "keys", Body: made})
}

func revokeAPIKey(req *console.Request) error {
	id, err := req.ID("key")
	if err != nil {
		return err
	}
	if _, err := identity.RevokeAPIKey(req.R.Context(), req.Session.Tenant, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(APIKeysPath, "good.key_revoked"))
}
