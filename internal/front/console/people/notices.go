package people

import (
	"slices"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

// mailForm is the view model of the form in which users choose the language of their e-mails, and owners the notices
// that they get.
type mailForm struct {
	// Language is the tag of the chosen language, or "".
	Language  string
	Languages []page.LanguageChoice
	// Notices are the kinds of notices of an owner; nobody else gets any.
	Notices []noticeChoice
}

// noticeChoice is a kind of notices, and whether the user gets them.
type noticeChoice struct {
	Kind identity.MailKind
	On   bool
}

// newMailForm returns the form with what the user has chosen, or nil if the installation sends no e-mails.
func newMailForm(req *console.Request) (*mailForm, error) {
	ctx := req.R.Context()
	if sends, err := identity.SendsMail(ctx, req.DB); err != nil || !sends {
		return nil, err
	}
	settings, err := identity.ReadMailSettings(ctx, req.Session.Tenant, req.Session.User)
	if err != nil {
		return nil, err
	}
	form := &mailForm{Language: settings.Language, Languages: req.LanguageChoices()}
	if req.Session.Role == access.Owner {
		for _, kind := range identity.NoticeKinds() {
			form.Notices = append(form.Notices, noticeChoice{kind, !slices.Contains(settings.Off, kind)})
		}
	}
	return form, nil
}

// changeNotices stores what the user has chosen about e-mails. The boxes of the notices that an owner gets are checked.
// Whoever is no owner changes the language alone.
func changeNotices(req *console.Request) error {
	ctx := req.R.Context()
	wanted, err := identity.ReadMailSettings(ctx, req.Session.Tenant, req.Session.User)
	if err != nil {
		return err
	}
	if wanted.Language = req.Form.Get("language"); wanted.Language != "" && req.Named(wanted.Language) == nil {
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	if req.Session.Role == access.Owner {
		wanted.Off = nil
		for _, kind := range identity.NoticeKinds() {
			if !slices.Contains(req.Form["notice"], string(kind)) {
				wanted.Off = append(wanted.Off, kind)
			}
		}
	}
	if err := identity.SetMailSettings(ctx, req.Session.Tenant, req.Session, wanted); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/account", "good.notices_changed"))
}
