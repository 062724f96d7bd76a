package people

import (
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

const sessionsPath = "/sessions"

// sessionRecordRoutes are the lists of sessions: the own ones, and those of a colleague.
func sessionRecordRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: sessionsPath, Needs: access.OwnLogin, Serve: listOwnSessions},
		{Method: http.MethodPost, Path: sessionsPath + "/others/end", Needs: access.OwnLogin,
			Serve: endOtherSessions},
		{Method: http.MethodPost, Path: sessionsPath + "/{session}/end", Needs: access.OwnLogin,
			Serve: endSession},
		{Method: http.MethodGet, Path: UsersPath + "/{user}/sessions", Needs: access.ManageUsers,
			Serve: listSessionsOfUser},
	}
}

// sessionsPage is the view model of the sessions of one user. Own reports that it is the one who looks at the page.
type sessionsPage struct {
	User   base.User
	Own    bool
	Rows   []api.Session
	Paging page.Paging
}

func listOwnSessions(req *console.Request) error {
	user, err := identity.FindUserOf(req.R.Context(), req.DB, req.Session)
	if err != nil {
		return err
	}
	title, err := req.Text("sessions.title")
	if err != nil {
		return err
	}
	return respondSessions(req, user, title, "account")
}

func listSessionsOfUser(req *console.Request) error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	if id == req.Session.User {
		return req.Redirect(sessionsPath)
	}
	user, err := identity.FindUser(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return err
	}
	title, err := req.Text("sessions.title.of")
	if err != nil {
		return err
	}
	return respondSessions(req, user, title, "users")
}

func respondSessions(req *console.Request, user base.User, title, section string) error {
	p := sessionsPage{User: user, Own: user.ID == req.Session.User, Paging: req.Paging()}
	records, total, err := identity.SessionRecords(req.R.Context(), req.Session.Tenant, user.ID, p.Paging.Page,
		p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Paging.Total = total
	for _, record := range records {
		p.Rows = append(p.Rows, view.Session(record, req.Session))
	}
	return req.Show(http.StatusOK, "sessions", "", page.Layout{Title: title, Section: section, Body: p})
}

// endSession ends a session and leads back to the list that has it. Somebody who ends the own present session is logged
// out.
func endSession(req *console.Request) error {
	id, err := req.ID("session")
	if err != nil {
		return err
	}
	ended, err := identity.EndSession(req.R.Context(), req.Session.Tenant, req.Session, id)
	if err != nil {
		return err
	}
	switch {
	case ended.ID == req.Session.RecordID():
		http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
		return req.Redirect(page.WithNotice("/login", "good.logged_out"))
	case ended.User == req.Session.User:
		return req.Redirect(page.WithNotice(sessionsPath, "good.session_ended"))
	}
	return req.Redirect(page.WithNotice(UsersPath+"/"+ended.User.String()+"/sessions", "good.session_ended"))
}

func endOtherSessions(req *console.Request) error {
	if _, err := identity.EndOtherSessions(req.R.Context(), req.Session.Tenant, req.Session); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(sessionsPath, "good.sessions_ended"))
}
