package api

import "time"

// LoginRequest is the body of a login.
type LoginRequest struct {
	Email    *string `json:"email" required:"true" minLength:"1" maxLength:"256" doc:"E-mail address of the user." example:"owner@example.com"`
	Password *string `json:"password" required:"true" minLength:"1" maxLength:"1024" text:"any" doc:"Password." example:"correct horse battery staple"`
	// AccountID is needed only if users of several companies have the address and the same password.
	AccountID *string `json:"account_id,omitempty" maxLength:"36" example:"01890a5d-ac96-774b-bcce-b302099a8057" doc:"The account to log in to. It is needed only if users of several companies have the address and the same password; without it, the one who has proved the address is meant, or else the one who was added first."`
	OTP       *string `json:"otp,omitempty" maxLength:"64" doc:"Code of the authenticator app, or a recovery code, which is the only one for a user who has only passkeys. Required if the user has a second factor; otherwise it is ignored." example:"287082"`
}

// Login is the result of a login.
type Login struct {
	Token     string       `json:"token" doc:"Bearer token, for the header Authorization: Bearer <token>."`
	ExpiresAt time.Time    `json:"expires_at" doc:"When the token expires. Log in again before that."`
	User      LoginUser    `json:"user"`
	Account   LoginAccount `json:"account"`
	// PasswordChangeRequired is informational: the API accepts the token, but the console asks for a new password first.
	PasswordChangeRequired bool `json:"password_change_required" doc:"True if an administrator set this password and the user has not changed it yet. The token is valid all the same; change the password with POST /api/v1/client/auth/password." example:"false"`
}

// LoginUser is the user who logged in.
type LoginUser struct {
	Name        string `json:"name" doc:"Name of the user."`
	Email       string `json:"email" doc:"E-mail address of the user."`
	EmailProved bool   `json:"email_proved" doc:"True if the user has proved to have the address, with a link that was mailed to it or by single sign-on." example:"true"`
}

// LoginAccount is the company the user belongs to.
type LoginAccount struct {
	CompanyName string `json:"company_name" doc:"Name of the company."`
	Status      string `json:"status" doc:"active; a suspended account is refused at login." example:"active"`
}

// Profile is the seller data of invoices. Every field is optional.
type Profile struct {
	LegalName                  *string `json:"legal_name" maxLength:"256" doc:"Seller name (BT-27)."`
	TradingName                *string `json:"trading_name" maxLength:"256" doc:"Name under which the seller trades, if it is another one (BT-28)." example:"Gulf Works"`
	Street                     *string `json:"street" maxLength:"256" doc:"Seller address line 1 (BT-35)."`
	StreetAdditional           *string `json:"street_additional" maxLength:"256" doc:"Seller address line 2 (BT-36)." example:"Office 1204"`
	AddressLine                *string `json:"address_line" maxLength:"256" doc:"Seller address line 3 (BT-162)." example:"Business Bay"`
	City                       *string `json:"city" maxLength:"256" doc:"Seller city (BT-37)."`
	PostalCode                 *string `json:"postal_code" maxLength:"64" doc:"Seller postal code (BT-38)." example:"10115"`
	Subdivision                *string `json:"subdivision" maxLength:"64" doc:"Seller country subdivision (BT-39)."`
	Country                    *string `json:"country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" doc:"Seller country (BT-40)."`
	EndpointScheme             *string `json:"endpoint_scheme" maxLength:"64" doc:"Electronic address scheme of the seller (BT-34-1)."`
	EndpointID                 *string `json:"endpoint_id" maxLength:"64" doc:"Electronic address of the seller (BT-34)."`
	TaxRegistrationNumber      *string `json:"tax_registration_number" maxLength:"64" doc:"Seller tax registration (BT-31)."`
	TaxRegistrationID          *string `json:"tax_registration_id" maxLength:"64" doc:"Seller tax registration of another kind, such as a German Steuernummer (BT-32)." example:"133/8150/8159"`
	Identifier                 *string `json:"identifier" maxLength:"64" doc:"Another identifier of the seller, such as your GLN (BT-29)." example:"4012345000009"`
	IdentifierScheme           *string `json:"identifier_scheme" maxLength:"64" doc:"Scheme of identifier (BT-29-1, ISO 6523)." example:"0088"`
	LegalRegistration          *string `json:"legal_registration_number" maxLength:"64" doc:"Seller legal registration (BT-30)."`
	LegalRegistrationType      *string `json:"legal_registration_type" maxLength:"64" doc:"Kind of the legal registration (PINT-AE BTAE-15)."`
	LegalRegistrationAuthority *string `json:"legal_registration_authority" maxLength:"256" doc:"Issuer of the legal registration, which some kinds require: in the UAE the authority of a trade licence (PINT-AE BTAE-12), or the country of a passport." example:"Department of Economy and Tourism"`
	LegalForm                  *string `json:"legal_form" maxLength:"1024" doc:"Additional legal information about the seller, such as its legal form and capital (BT-33)." example:"Limited liability company"`
	ContactName                *string `json:"contact_name" maxLength:"256" doc:"Whom the buyer may ask about an invoice: a person or a department (BT-41)." example:"Accounts receivable"`
	ContactPhone               *string `json:"contact_phone" maxLength:"64" doc:"Telephone number of the contact (BT-42)." example:"+971 4 000 0000"`
	ContactEmail               *string `json:"contact_email" maxLength:"256" doc:"E-mail address of the contact (BT-43)." example:"ar@gulfworks.example"`
	Currency                   *string `json:"currency" maxLength:"64" codelist:"currency" doc:"Usual currency of the company's invoices (ISO 4217)." example:"AED"`
	Logo                       *string `json:"logo" maxLength:"90000" doc:"Logo for printed documents: a PNG or JPEG image as a data URL in base64, at most 65536 bytes, 2048 pixels wide and high. It is not sent to the provider."`
	PayeeAccount               *string `json:"payee_account" maxLength:"64" doc:"Payment account (BT-84)."`
	PayeeAccountScheme         *string `json:"payee_account_scheme" maxLength:"64" doc:"Kind of the payment account in the UAE, such as IBAN (BT-84-1)." example:"IBAN"`
	PayeeAccountName           *string `json:"payee_account_name" maxLength:"256" doc:"Name of the payment account (BT-85)." example:"Gulf Works LLC"`
	PayeeBankID                *string `json:"payee_bank_id" maxLength:"64" doc:"Bank of the payment account, such as its BIC (BT-86)." example:"EBILAEAD"`
	BuyerReference             *string `json:"buyer_reference" maxLength:"64" doc:"Default buyer reference (BT-10)."`
}

// PasswordRequest is the body of a password change.
type PasswordRequest struct {
	CurrentPassword *string `json:"current_password" required:"true" maxLength:"1024" text:"any" doc:"The current password."`
	NewPassword     *string `json:"new_password" required:"true" minLength:"15" maxLength:"256" text:"any" doc:"The new password: 15 to 256 characters, neither a common password nor the current one."`
}

// PasswordChanged confirms a password change.
type PasswordChanged struct {
	PasswordChanged bool `json:"password_changed" doc:"Always true. All other tokens of the user are revoked."`
}

// AddressProofRequested confirms that a link was mailed.
type AddressProofRequested struct {
	Requested bool `json:"requested" doc:"False if the installation sends no e-mails."`
}

// AddressProofRequest is the body of the proof of an address.
type AddressProofRequest struct {
	Code *string `json:"code" required:"true" minLength:"1" maxLength:"256" doc:"What follows # in the link of the e-mail." example:"qv_0123456789012345678901234567890123456789012"`
}

// AddressRequest is the body of a change of the own address.
type AddressRequest struct {
	Email           *string `json:"email" required:"true" minLength:"1" maxLength:"256" doc:"The new e-mail address." example:"books@example.com"`
	CurrentPassword *string `json:"current_password" required:"true" maxLength:"1024" text:"any" doc:"The current password."`
	OTP             *string `json:"otp,omitempty" maxLength:"64" doc:"Code of the authenticator app, or a recovery code. Required if the user has a second factor." example:"287082"`
}

// LoggedOut confirms a logout.
type LoggedOut struct {
	LoggedOut bool `json:"logged_out" doc:"Always true. The presented token is revoked."`
}

// Account is the company that the token belongs to.
type Account struct {
	ID          string      `json:"id" format:"uuid" doc:"Identifier."`
	CompanyName string      `json:"company_name" doc:"Name of the company."`
	Status      string      `json:"status" enum:"active,suspended" doc:"State of the account."`
	LoginPolicy string      `json:"login_policy" enum:"any,second_factor,single_sign_on" doc:"How the users have to log in. second_factor requires one of those who log in with a password; who has none can only set one up, in the console. single_sign_on allows no password, neither in the console nor in the API; API keys go on working."`
	Profile     Profile     `json:"profile" doc:"The seller's data on invoices."`
	Connection  *Connection `json:"connection" doc:"The active provider connection, or null. Its credential is never shown."`
	CreatedAt   time.Time   `json:"created_at" doc:"When the account was created."`
	Quotas      Quotas      `json:"quotas" doc:"The company's quotas and their use."`
	Caller      Caller      `json:"caller" doc:"Who makes the call, and what it may do."`
}

// Caller is the user or the API key that makes a call.
type Caller struct {
	Kind     string   `json:"kind" enum:"user,api_key" doc:"user for the token of a login, api_key for an API key."`
	Email    *string  `json:"email" doc:"E-mail address of the user; null for an API key." example:"ann@example.com"`
	Role     *Role    `json:"role" enum:"owner,accountant,developer,viewer" doc:"Role of the user; null for an API key." example:"accountant"`
	APIKeyID *string  `json:"api_key_id" format:"uuid" doc:"Identifier of the API key; null for a user."`
	Scopes   []string `json:"scopes" enum:"read,write,submit,webhooks" doc:"Scopes of the API key; empty for a user, who may do what the role allows."`
}

// Quotas are the storage limits of a company. A call that would exceed one fails with limit_reached, whose details name
// the quota. Stored data is kept, and other calls work.
type Quotas struct {
	StoredBytes          Quota `json:"stored_bytes" doc:"Bytes of invoices, credit notes, retained responses and documents, events, and responses stored for idempotency keys."`
	Drafts               Quota `json:"drafts" doc:"Invoices that were not submitted."`
	Tokens               Quota `json:"tokens" doc:"Valid tokens and sessions of the calling user; an API key has none. A login beyond the limit is not refused; it revokes the oldest one."`
	Subscriptions        Quota `json:"subscriptions" doc:"Active webhook subscriptions."`
	SubscriptionsCreated Quota `json:"subscriptions_created" doc:"Webhook subscriptions that were ever created, including deactivated ones."`
	Customers            Quota `json:"customers" doc:"Entries of the customer book."`
	Items                Quota `json:"items" doc:"Entries of the item catalogue."`
	APIKeys              Quota `json:"api_keys" doc:"API keys that are neither revoked nor expired."`
}

// Quota is a limit and how much of it is used.
type Quota struct {
	Limit *int64 `json:"limit" doc:"The limit; null if there is none." example:"200000"`
	Used  int64  `json:"used" doc:"The present use." example:"12"`
}

// Connection is the part of a provider connection that its company may see.
type Connection struct {
	Kind        string `json:"kind" doc:"Adapter of the connection, such as http."`
	Environment string `json:"environment" enum:"sandbox,production" doc:"Environment of the provider."`
	State       string `json:"state" enum:"pending,active,disabled" doc:"State of the connection."`
	// Profile is the document format in which invoices are submitted, such as pint-ae.
	Profile *string `json:"profile" doc:"Document format in which invoices are submitted over the connection; drafts are complete only if they can be rendered in it. Null if it has none."`
	// FailingSince covers the calls for submissions only.
	FailingSince *time.Time `json:"failing_since" doc:"Time since which no request about a submission has had a usable response from the provider; null if the last one had."`
}
