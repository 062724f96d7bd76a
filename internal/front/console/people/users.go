package people

import (
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

// UsersPath is the list of the company's people.
const UsersPath = "/users"

func userRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: UsersPath, Needs: access.ManageUsers,
			Serve: func(req *console.Request) error { return respondUsers(req, http.StatusOK, inviteForm{}) }},
		{Method: http.MethodPost, Path: UsersPath + "/invitations", Needs: access.ManageUsers, Serve: inviteUser},
		{Method: http.MethodPost, Path: UsersPath + "/invitations/{invitation}/revoke", Needs: access.ManageUsers,
			Serve: revokeInvitation},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/role", Needs: access.ManageUsers, Serve: changeRole},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/disable", Needs: access.ManageUsers,
			Serve: func(req *console.Request) error { return setActive(req, false) }},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/second-factor/reset", Needs: access.ManageUsers,
			Serve: resetSecondFactor},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/enable", Needs: access.ManageUsers,
			Serve: func(req *console.Request) error { return setActive(req, true) }},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/unlink", Needs: access.ManageUsers,
			Serve: unlinkUser},
	}
}

// usersPage is the view model of the people of the company.
type usersPage struct {
	Users       []userRow
	Paging      page.Paging
	Invitations []invitationRow
	Invite      inviteForm
	LoginPolicy loginPolicyForm
}

// Roles returns the roles that can be selected, the least first.
func (usersPage) Roles() []access.Role {
	return []access.Role{access.Viewer, access.Accountant, access.Developer, access.Owner}
}

// userRow is one user. Own reports that it is the one who has opened the page. LastLogin is zero for a user who never
// logged in.
type userRow struct {
	api.User
	Own       bool
	LastLogin time.Time
	// Factor reports that the user has a second factor.
	Factor bool
	// Keys is how many usable API keys the user has made.
	Keys int
}

// invitationRow is one invitation. By is the address of the user who made it, or "" for an administrator.
type invitationRow struct {
	api.Invitation
	By      string
	Expired bool
	// Mail is the key of a text below "users.mail." that says what became of the e-mail; "" if the installation sends
	// none.
	Mail string
}

// mailKey returns the key of the text about the e-mail of an invitation, below "users.mail.".
func mailKey(mail identity.InvitationMail) string {
	switch mail.State {
	case identity.MailPending:
		if mail.Reason != "" {
			return "retried"
		}
	case identity.MailFailed, identity.MailEnded:
		switch mail.Reason {
		case "recipient_refused", "message_refused":
			return mail.Reason
		}
		return "failed"
	case identity.MailSent:
	case "":
		return "none"
	}
	return string(mail.State)
}

// inviteForm is the form of an invitation.
type inviteForm struct {
	Email string
	Role  access.Role
	// Fault is the key of an error message below "users.invite.fault.", or "".
	Fault string
}

func respondUsers(req *console.Request, status int, form inviteForm) error {
	ctx, tenant := req.R.Context(), req.Session.Tenant
	p := usersPage{Paging: req.Paging(), Invite: form}
	if req.R.Method != http.MethodGet {
		p.Paging.Path = UsersPath
	}
	if p.Invite.Role == "" {
		p.Invite.Role = access.Viewer
	}
	users, total, err := identity.Users(ctx, tenant, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Paging.Total = total
	factors, err := identity.UsersWithSecondFactor(ctx, tenant)
	if err != nil {
		return err
	}
	p.LoginPolicy = loginPolicy(req, factors[req.Session.User])
	addresses := map[base.ID]string{req.Session.User: req.Session.Email}
	ids := make([]base.ID, len(users))
	for n, u := range users {
		ids[n] = u.ID
	}
	logins, err := view.Of(tenant).LastLogins(ctx, ids)
	if err != nil {
		return err
	}
	keys, err := identity.APIKeyCounts(ctx, tenant)
	if err != nil {
		return err
	}
	for _, u := range users {
		addresses[u.ID] = u.Email
		p.Users = append(p.Users, userRow{view.User(u), u.ID == req.Session.User, logins[u.ID], factors[u.ID], keys[u.ID]})
	}
	invitations, err := identity.Invitations(ctx, tenant)
	if err != nil {
		return err
	}
	sends, err := identity.SendsMail(ctx, req.DB)
	if err != nil {
		return err
	}
	for _, i := range invitations {
		row := invitationRow{Invitation: view.Invitation(i), Expired: !req.Now().Before(i.ExpiresAt)}
		if i.InvitedBy != nil {
			if row.By = addresses[*i.InvitedBy]; row.By == "" {
				row.By = i.InvitedBy.String() // on another page of the list
			}
		}
		if sends {
			row.Mail = mailKey(i.Mail)
		}
		p.Invitations = append(p.Invitations, row)
	}
	return req.Show(status, "users", "users.title", page.Layout{Section: "users", Body: p,
		Export: console.NewExportMenu(UsersPath, nil)})
}

// invitedPage is the view model of the page of a new invitation. It is the only page that ever contains a link.
type invitedPage struct {
	api.Invitation
	URL string
	// Mail is the key of a text below "users.invited.mail."; "" if the installation sends no e-mails.
	Mail string
}

// inviteUser makes an invitation and shows its link in the response itself. No other address shows it.
func inviteUser(req *console.Request) error {
	form := inviteForm{Email: req.Form.Get("email"), Role: access.Role(req.Form.Get("role"))}
	if !form.Role.IsValid() {
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	made, err := req.Accounts.Invite(req.R.Context(), req.Session.Tenant, &req.Session, form.Email, form.Role)
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrEmail, "email"}, {base.ErrExists, "exists"}, {base.ErrLimit, "limit"}} {
		if errors.Is(err, fault.err) {
			if form.Fault = fault.key; len(form.Email) > maxEmail {
				form.Email = ""
			}
			return respondUsers(req, http.StatusUnprocessableEntity, form)
		}
	}
	if err != nil {
		return err
	}
	return req.Show(http.StatusCreated, "invited", "users.invited", page.Layout{Section: "users",
		Body: invitedPage{Invitation: view.Invitation(made.Invitation),
			URL: made.Link(req.PublicURL.Base(req.Secure, req.R.Host)), Mail: string(made.Mail.State)}})
}

func revokeInvitation(req *console.Request) error {
	id, err := req.ID("invitation")
	if err != nil {
		return err
	}
	if _, err := identity.RevokeInvitation(req.R.Context(), req.Session.Tenant, req.Session, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(UsersPath, "good.invitation_revoked"))
}

func changeRole(req *console.Request) error {
	role := access.Role(req.Form.Get("role"))
	if !role.IsValid() {
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	return changeUser(req, "good.role_changed", func(now identity.UserChange) identity.UserChange {
		now.Role, now.RevokeKeys = role, req.Form.Get("revoke_keys") != ""
		return now
	})
}

func setActive(req *console.Request, active bool) error {
	done := "good.user_disabled"
	if active {
		done = "good.user_enabled"
	}
	return changeUser(req, done, func(now identity.UserChange) identity.UserChange {
		now.Active, now.RevokeKeys = active, req.Form.Get("revoke_keys") != ""
		return now
	})
}

// unlinkUser ends the link of a user to a person at the OpenID provider.
func unlinkUser(req *console.Request) error {
	return changeUser(req, "good.user_unlinked", func(now identity.UserChange) identity.UserChange {
		now.Linked = false
		return now
	})
}

func resetSecondFactor(req *console.Request) error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	if _, err := identity.ResetSecondFactor(req.R.Context(), req.Session.Tenant, req.Session, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(UsersPath, "good.factor_reset"))
}

// changeUser changes the user that the path names, and redirects to the list with the notice done. A user who has given
// up the own right to see the list gets the first page instead.
func changeUser(req *console.Request, done string, change func(now identity.UserChange) identity.UserChange) error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	changed, err := identity.ChangeUser(req.R.Context(), req.Session.Tenant, req.Session, id,
		func(now identity.UserChange) (identity.UserChange, error) { return change(now), nil })
	if errors.Is(err, identity.ErrLastOwner) {
		return req.Redirect(page.WithNotice(UsersPath, "bad.last_owner"))
	}
	if err != nil {
		return err
	}
	if id == req.Session.User && !changed.Role.Permissions().Has(access.ManageUsers) {
		return req.Redirect(page.WithNotice("/invoices", done))
	}
	return req.Redirect(page.WithNotice(UsersPath, done))
}
