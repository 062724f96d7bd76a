package client_test

import (
	"context"
	"fmt"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// New validates the configuration and sends nothing.
func ExampleNew() {
	_, err := client.New(client.Config{BaseURL: "https://quittance.example.com", Email: "owner@example.com"})
	fmt.Println(err)
	// Output: client: either an API key, or e-mail address and password are required
}

// A key is shown when it is created, and never again.
func ExampleClient_CreateAPIKey() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/api-keys": `{"data":{"id":"key-1","name":"ERP","key":"qk_sandbox_00sD5BYEnD81lGzjWMwm3DFC4HBUGvYJxBFK6T8uFh3pa0xQ4"}}`,
	})
	defer stop()
	created, err := quittance.CreateAPIKey(context.Background(),
		api.APIKeyRequest{Name: new("ERP"), Scopes: []string{"read", "write", "submit"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(created.Name, created.Key[:11])
	// Output: ERP qk_sandbox_
}

// The keys that were never used.
func ExampleClient_APIKeys() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/api-keys": `{"data":[{"name":"ERP","last_used_at":"2026-03-01T09:00:00Z"},{"name":"old import"}],"pagination":{}}`,
	})
	defer stop()
	keys, err := quittance.APIKeys(context.Background(), client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range keys.Data {
		if key.LastUsedAt == nil {
			fmt.Println(key.Name)
		}
	}
	// Output: old import
}

// Every key that is still accepted, whatever the number of pages.
func ExampleClient_AllAPIKeys() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/api-keys": `{"data":[{"id":"key-1","name":"ERP","state":"active"},{"id":"key-2","name":"old import","state":"revoked"}],"pagination":{"has_more":false}}`,
	})
	defer stop()
	for key, err := range quittance.AllAPIKeys(context.Background(), 100) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if key.State == api.APIKeyActive {
			fmt.Println(key.Name)
		}
	}
	// Output: ERP
}

// A revoked key is refused from now on.
func ExampleClient_RevokeAPIKey() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/api-keys/key-1/revoke": `{"data":{"id":"key-1","state":"revoked"}}`,
	})
	defer stop()
	key, err := quittance.RevokeAPIKey(context.Background(), "key-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(key.State)
	// Output: revoked
}

// The company of the user.
func ExampleClient_Account() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/account": `{"data":{"company_name":"Palm Trading LLC","status":"active"}}`,
	})
	defer stop()
	account, err := quittance.Account(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(account.CompanyName, account.Status)
	// Output: Palm Trading LLC active
}

// Who submitted invoices on a day.
func ExampleClient_AuditLog() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/audit": `{"data":[{"act":"invoice.submit","actor":{"kind":"user","name":"ann@palm.example"},"details":{"invoice_number":"INV-1"}}],"pagination":{}}`,
	})
	defer stop()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	page, err := quittance.AuditLog(context.Background(),
		client.AuditQuery{Act: "invoice.submit", From: day, To: day.AddDate(0, 0, 1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	entry := page.Data[0]
	fmt.Println(*entry.Actor.Name, entry.Details["invoice_number"])
	// Output: ann@palm.example INV-1
}

// The whole history of an invoice.
func ExampleClient_AllAuditEntries() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/audit": `{"data":[{"id":"a-2","act":"invoice.submit","actor":{"kind":"user","name":"ann@palm.example"}},{"id":"a-1","act":"draft.create","actor":{"kind":"key","name":"key-1"}}],"pagination":{"has_more":false}}`,
	})
	defer stop()
	for entry, err := range quittance.AllAuditEntries(context.Background(), client.AuditQuery{SubjectID: "inv-1"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(entry.Act, entry.Actor.Kind, *entry.Actor.Name)
	}
	// Output:
	// invoice.submit user ann@palm.example
	// draft.create key key-1
}

// The owners of the company.
func ExampleClient_AllUsers() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/users": `{"data":[{"id":"u-1","email":"olivia@palm.example","role":"owner"},{"id":"u-2","email":"ann@palm.example","role":"accountant"}],"pagination":{"has_more":false}}`,
	})
	defer stop()
	for user, err := range quittance.AllUsers(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if user.Role == api.RoleOwner {
			fmt.Println(user.Email)
		}
	}
	// Output: olivia@palm.example
}

// Login checks the credentials at the start of a program. Other calls log in by themselves.
func ExampleClient_Login() {
	quittance, stop := connect(nil)
	defer stop()
	login, err := quittance.Login(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(login.User.Name)
	// Output: Olivia
}

// Logout revokes the token of the client.
func ExampleClient_Logout() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/auth/logout": `{"data":{"logged_out":true}}`,
	})
	defer stop()
	if _, err := quittance.Login(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(quittance.Logout(context.Background()))
	// Output: <nil>
}

// The password is changed, and the client uses the new one.
func ExampleClient_ChangePassword() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/auth/password": `{"data":{"password_changed":true}}`,
	})
	defer stop()
	fmt.Println(quittance.ChangePassword(context.Background(), "a new password from your secret store"))
	// Output: <nil>
}

// A call with a key of your own has its effect once, even if the program stops and makes the call again.
func ExampleIdempotencyKey() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/credit-notes/cn-1/void": `{"data":{"id":"cn-1"}}`,
	})
	defer stop()
	note, err := quittance.VoidCreditNote(context.Background(), "cn-1", client.IdempotencyKey("return-815"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(note.ID)
	// Output: cn-1
}
