package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// firstState returns the state of a fresh sandbox.
func (s *Sandbox) firstState() (*state, error) {
	credential, err := secret.NewPassword(rand.Reader)
	if err != nil {
		return nil, err
	}
	var tag [4]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return nil, fmt.Errorf("randomness: %w", err)
	}
	made := &state{Database: s.config.Service.Database, ReceiverListen: "127.0.0.1:0",
		ProviderCredential: credential.Reveal(), Company: "Sandbox Trading LLC",
		Email: "owner-" + hex.EncodeToString(tag[:]) + "@sandbox.example"}
	if s.config.Example {
		made.Example, err = firstExample(hex.EncodeToString(tag[:]))
	}
	return made, err
}

// firstExample returns the state of the example company of a fresh sandbox.
func firstExample(tag string) (*exampleState, error) {
	credential, err := secret.NewPassword(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &exampleState{ProviderCredential: credential.Reveal(), Company: "Example Trading LLC",
		Email: "example-" + tag + "@sandbox.example"}, nil
}

// makeAccounts creates the accounts of a fresh sandbox.
func (s *Sandbox) makeAccounts(ctx context.Context, saved *state) (err error) {
	saved.AccountID, s.Info.Password, err = s.makeAccount(ctx, newAccount{company: saved.Company, email: saved.Email,
		provider: s.servers[0].Address().String(), credential: saved.ProviderCredential})
	if err != nil {
		return err
	}
	if saved.Example == nil {
		return nil
	}
	s.Info.Example = &Example{}
	saved.Example.AccountID, s.Info.Example.Password, err = s.makeAccount(ctx,
		newAccount{company: saved.Example.Company, email: saved.Example.Email,
			provider: s.servers[2].Address().String(), credential: saved.Example.ProviderCredential, format: exampleFormat,
			creditNotes: true})
	return err
}

// newAccount is an account that a sandbox makes, with the address of its provider and the credential for it. format
// is the document format of its connection, "" for none. creditNotes says that the connection may submit credit notes.
type newAccount struct {
	company, email, provider, credential, format string
	creditNotes                                  bool
}

// exampleFormat is the document format of the example company's connection.
const exampleFormat = "pint-ae"

// makeAccount creates an account with a profile and an active connection to its provider. It returns the password,
// which is not stored anywhere.
func (s *Sandbox) makeAccount(ctx context.Context, a newAccount) (id, password string, err error) {
	text, err := secret.NewPassword(rand.Reader)
	if err != nil {
		return "", "", err
	}
	hash, err := cmp.Or(s.config.Service.PasswordCost, account.DefaultCost()).Hash(text.Reveal())
	if err != nil {
		return "", "", err
	}
	db := s.service.DB()
	made, err := identity.CreateAccount(ctx, db, a.company, identity.NewUser{Email: a.email, Name: "Sandbox Owner",
		PasswordHash: hash, Proved: true})
	if err != nil {
		return "", "", err
	}
	if err := identity.SetProfile(ctx, db, made.ID, syntheticProfile(a.company)); err != nil {
		return "", "", err
	}
	connection, err := invoices.AddConnection(ctx, db, made.ID, invoices.NewConnection{Kind: "http",
		Environment: service.Sandbox,
		BaseURL:     "http://" + a.provider, Credential: secret.New(a.credential), Format: a.format})
	if err != nil {
		return "", "", err
	}
	if _, err := invoices.ActivateConnection(ctx, db, connection.ID); err != nil {
		return "", "", err
	}
	if a.creditNotes {
		if _, err := invoices.ConfirmCreditNotes(ctx, db, connection.ID, "synthetic contract of the sandbox",
			"provider protocol of the sandbox"); err != nil {
			return "", "", err
		}
	}
	return made.ID.String(), text.Reveal(), nil
}

// syntheticProfile returns a fictitious seller.
func syntheticProfile(company string) api.Profile {
	return api.Profile{LegalName: &company, Street: new("1 Example Street"), City: new("Dubai"), Subdivision: new("DXB"),
		Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1000000000"),
		TaxRegistrationNumber: new("100000000000003"), LegalRegistration: new("EX-000001"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Example Registry"), PayeeAccount: new("AE000000000000000000001"),
		BuyerReference: new("SANDBOX")}
}

func (s *Sandbox) describe(saved *state) error {
	base := "http://" + s.service.Address()
	s.Info.BaseURL, s.Info.ConsoleURL = base, base+"/"
	if at := s.service.OperatorAddress(); at != "" {
		s.Info.OperatorURL = "http://" + at
	}
	if at := s.service.MetricsAddress(); at != "" {
		s.Info.MetricsURL = "http://" + at + "/metrics"
	}
	s.Info.ProviderURL, s.Info.ProviderCredential = "http://"+saved.ProviderListen, saved.ProviderCredential
	s.Info.ReceiverURL = receiverURL(saved.ReceiverListen)
	s.Info.AccountID, s.Info.Company, s.Info.Email = saved.AccountID, saved.Company, saved.Email
	s.Info.DataDir, s.Info.PID = string(s.layout), os.Getpid()
	var err error
	if s.Info.LoginURL, err = s.loginURL(s.Info.Email, s.Info.Password); err != nil || saved.Example == nil {
		return err
	}
	if s.Info.Example == nil {
		s.Info.Example = &Example{}
	}
	e := s.Info.Example
	e.AccountID, e.Company, e.Email = saved.Example.AccountID, saved.Example.Company, saved.Example.Email
	e.LoginURL, err = s.loginURL(e.Email, e.Password)
	return err
}

// loginURL returns an address that logs a user in once, or "" without a password.
func (s *Sandbox) loginURL(email, password string) (string, error) {
	if password == "" {
		return "", nil
	}
	link, err := s.links.Add(rand.Reader, email, secret.New(password))
	return s.Info.ConsoleURL + "login?once=" + link, err
}
