package client_test

import (
	"context"
	"fmt"

	"quittance/sdk/go/client"
)

// New validates the configuration and sends nothing.
func ExampleNew() {
	_, err := client.New(client.Config{BaseURL: "https://quittance.example.com", Email: "owner@example.com"})
	fmt.Println(err)
	// Output: client: e-mail address and password are required
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
