package server

import (
	"context"
	"errors"
	"net/http"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

func (c *call) readSecondFactor(ctx context.Context) (int, api.Data[api.SecondFactor], error) {
	state, err := identity.ReadSecondFactorState(ctx, c.session.Tenant, c.session.User)
	return http.StatusOK, api.Data[api.SecondFactor]{Data: view.SecondFactor(state)}, err
}

func (c *call) beginTOTP(ctx context.Context) (int, api.Data[api.TOTPEnrollment], error) {
	begun, err := c.Accounts.BeginEnrollment(ctx, c.session)
	if err != nil {
		return 0, api.Data[api.TOTPEnrollment]{}, err
	}
	return http.StatusOK, api.Data[api.TOTPEnrollment]{Data: api.TOTPEnrollment{Secret: begun.Secret.Reveal(),
		OTPAuthURL: begun.Address.Reveal()}}, nil
}

func (c *call) confirmTOTP(ctx context.Context, body api.TOTPConfirmation) (int, api.Data[api.RecoveryCodes], error) {
	var present account.Factor
	if body.OTP != nil {
		present.Code = *body.OTP
	}
	if body.CurrentPassword != nil {
		present.Password = *body.CurrentPassword
	}
	codes, err := c.Accounts.ConfirmEnrollment(ctx, c.session, c.source(c.request), *body.Code, present)
	return recoveryCodes(codes, err)
}

func (c *call) disableTOTP(ctx context.Context, body api.BothFactors) (int, api.Data[api.SecondFactorDisabled], error) {
	limit, err := c.Accounts.DisableSecondFactor(ctx, c.session, c.source(c.request), *body.CurrentPassword,
		account.Factor{Code: *body.OTP})
	c.setLimitHeaders(limit)
	return http.StatusOK, api.Data[api.SecondFactorDisabled]{Data: api.SecondFactorDisabled{Disabled: err == nil}},
		secondFactorError(err)
}

func (c *call) replaceRecoveryCodes(ctx context.Context,
	body api.BothFactors) (int, api.Data[api.RecoveryCodes], error) {
	codes, limit, err := c.Accounts.ReplaceRecoveryCodes(ctx, c.session, c.source(c.request), *body.CurrentPassword,
		account.Factor{Code: *body.OTP})
	c.setLimitHeaders(limit)
	return recoveryCodes(codes, err)
}

func recoveryCodes(codes []secret.Text, err error) (int, api.Data[api.RecoveryCodes], error) {
	var out api.Data[api.RecoveryCodes]
	if err != nil {
		return 0, out, secondFactorError(err)
	}
	for _, code := range codes {
		out.Data.RecoveryCodes = append(out.Data.RecoveryCodes, code.Reveal())
	}
	return http.StatusOK, out, nil
}

// secondFactorError converts the errors about codes and passwords into faults of their fields. The caller is logged in,
// so that a wrong code is no 401.
func secondFactorError(err error) error {
	faults := api.Faults{}
	switch {
	case errors.Is(err, account.ErrWrongCode):
		faults.Add("code", "wrong",
			"is not the present code of the new authenticator app, or none was begun within the last hour")
	case errors.Is(err, account.ErrOTPRequired):
		faults.Add("otp", "wrong", "is not an unused code of the second factor")
	case errors.Is(err, account.ErrPasswordRequired):
		faults.Add("current_password", "required", "is required for the first second factor")
	case errors.Is(err, account.ErrWrongPassword):
		faults.Add("current_password", "wrong", "is not the current password")
	case errors.Is(err, base.ErrNotFound):
		faults.Add("otp", "not_enrolled", "has no second factor to belong to")
	default:
		return err
	}
	return problem.For(api.CodeValidationFailed).In(faults)
}

func (c *call) resetSecondFactor(ctx context.Context) (int, api.Data[api.User], error) {
	id, err := c.id("user_id")
	if err != nil {
		return 0, api.Data[api.User]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.User], error) {
		reset, err := identity.ResetSecondFactor(ctx, t, c.session, id)
		return http.StatusOK, api.Data[api.User]{Data: view.User(reset)}, err
	})
}
