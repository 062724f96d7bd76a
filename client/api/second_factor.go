package api

import "time"

// SecondFactor is the state of the user's second factor.
type SecondFactor struct {
	Enrolled          bool       `json:"enrolled" doc:"True if the user has an authenticator app or a passkey, so that a login needs more than the password."`
	EnrolledAt        *time.Time `json:"enrolled_at" doc:"When the oldest second factor that the user has was set up; null without one."`
	RecoveryCodesLeft int        `json:"recovery_codes_left" doc:"How many unused recovery codes are left."`
}

// TOTPEnrollment is what an authenticator app needs. It replaces nothing until it is confirmed.
type TOTPEnrollment struct {
	Secret     string `json:"secret" doc:"Secret that the service and the authenticator app share, in base32 (RFC 4648). No other response has it." example:"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"`
	OTPAuthURL string `json:"otpauth_url" doc:"Address with the secret, for a QR code that the authenticator app reads. Codes are those of RFC 6238 with SHA-1, six digits and steps of 30 seconds." example:"otpauth://totp/Quittance:owner@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Quittance&algorithm=SHA1&digits=6&period=30"`
}

// TOTPConfirmation confirms an authenticator app.
type TOTPConfirmation struct {
	Code *string `json:"code" required:"true" minLength:"1" maxLength:"64" doc:"Present code of the new authenticator app." example:"287082"`
	OTP  *string `json:"otp,omitempty" maxLength:"64" doc:"Code of the present authenticator app, or a recovery code; required if the user has a second factor, which the new app replaces."`
	// CurrentPassword is compared only for the first second factor.
	CurrentPassword *string `json:"current_password,omitempty" maxLength:"1024" text:"any" doc:"The current password; required if the user has no second factor yet."`
}

// RecoveryCodes are codes that each replace a code of the authenticator app once.
type RecoveryCodes struct {
	RecoveryCodes []string `json:"recovery_codes" doc:"Ten codes. Keep them like passwords. No other response has them; the service stores digests."`
}

// BothFactors is the body of a change that needs the password and the second factor.
type BothFactors struct {
	CurrentPassword *string `json:"current_password" required:"true" maxLength:"1024" text:"any" doc:"The current password."`
	OTP             *string `json:"otp" required:"true" maxLength:"64" doc:"Code of the authenticator app, or a recovery code."`
}

// SecondFactorDisabled confirms that the user has no second factor any more.
type SecondFactorDisabled struct {
	Disabled bool `json:"disabled" doc:"Always true. All other sessions of the user have ended."`
}
