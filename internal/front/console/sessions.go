package console

import (
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

const sessionsPath = "/sessions"

// sessionRecordRoutes are the lists of sessions: the own ones, and those of a colleague.
func sessionRecordRoutes() []route {
	return []route{
		{method: http.MethodGet, path: sessionsPath, needs: access.OwnLogin, serve: (*request).listOwnSessions},
		{method: http.MethodPost, path: sessionsPath + "/others/end", needs: access.OwnLogin,
			serve: (*request).endOtherSessions},
		{method: http.MethodPost, path: sessionsPath + "/{session}/end", needs: access.OwnLogin,
			serve: (*request).endSession},
		{method: http.MethodGet, path: usersPath + "/{user}/sessions", needs: access.ManageUsers,
			serve: (*request).listSessionsOfUser},
	}
}

// sessionsPage is the view model of the sessions of one user. Own reports that it is the one who looks at the page.
type sessionsPage struct {
	User   base.User
	Own    bool
	Rows   []api.Session
	Paging page.Paging
}

func (req *request) listOwnSessions() error {
	user, err := identity.FindUserOf(req.R.Context(), req.DB, req.session)
	if err != nil {
		return err
	}
	title, err := req.Text("sessions.title")
	if err != nil {
		return err
	}
	return req.respondSessions(user, title, "account")
}

func (req *request) listSessionsOfUser() error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	if id == req.session.User {
		return req.Redirect(sessionsPath)
	}
	user, err := identity.FindUser(req.R.Context(), req.session.Tenant, id)
	if err != nil {
		return err
	}
	title, err := req.Text("sessions.title.of")
	if err != nil {
		return err
	}
	return req.respondSessions(user, title, "users")
}

func (req *request) respondSessions(user base.User, title, section string) error {
	p := sessionsPage{User: user, Own: user.ID == req.session.User, Paging: req.Paging()}
	records, total, err := identity.SessionRecords(req.R.Context(), req.session.Tenant, user.ID, p.Paging.Page,
		p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Paging.Total = total
	for _, record := range records {
		p.Rows = append(p.Rows, view.Session(record, req.session))
	}
	return req.Show(http.StatusOK, "sessions", "", page.Layout{Title: title, Section: section, Body: p})
}

// endSession ends a session and leads back to the list that has it. Somebody who ends the own present session is logged
// out.
func (req *request) endSession() error {
	id, err := req.ID("session")
	if err != nil {
		return err
	}
	ended, err := identity.EndSession(req.R.Context(), req.session.Tenant, req.session, id)
	if err != nil {
		return err
	}
	switch {
	case ended.ID == req.session.RecordID():
		http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
		return req.Redirect(page.WithNotice("/login", "good.logged_out"))
	case ended.User == req.session.User:
		return req.Redirect(page.WithNotice(sessionsPath, "good.session_ended"))
	}
	return req.Redirect(page.WithNotice(usersPath+"/"+ended.User.String()+"/sessions", "good.session_ended"))
}

func (req *request) endOtherSessions() error {
	if _, err := identity.EndOtherSessions(req.R.Context(), req.session.Tenant, req.session); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(sessionsPath, "good.sessions_ended"))
}
