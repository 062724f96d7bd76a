package api

import "time"

// Session is the time from a login of a user to its end. A bearer token has one, and so has a login to the console.
type Session struct {
	ID     string `json:"id" format:"uuid" doc:"Identifier. It is no credential."`
	UserID string `json:"user_id" format:"uuid" doc:"The user who logged in."`
	// Current is true for the session of the call.
	Current    bool       `json:"current" doc:"True for the session of the token that this call presents."`
	Client     *string    `json:"client" enum:"api,console" doc:"What the user logged in to; null if an earlier release of the service began the session."`
	Means      *string    `json:"means" enum:"password,single_sign_on,link" doc:"How the user logged in: with a password, with single sign-on, or with a link that a sandbox prints; null if an earlier release began the session."`
	Source     *string    `json:"source" doc:"Network address that the user logged in from; null if it is not known." example:"192.0.2.7"`
	Device     *string    `json:"device" doc:"Short description of the program and the system, made from the User-Agent of the login. It is what the program says about itself, and proves nothing; null if it said nothing." example:"Firefox on Windows"`
	UserAgent  *string    `json:"user_agent" doc:"The first 256 bytes of the User-Agent of the login; null if there was none."`
	CreatedAt  time.Time  `json:"created_at" doc:"When the user logged in."`
	LastUsedAt *time.Time `json:"last_used_at" doc:"When the session was used last, written at most once a minute; null if it was used for less than a minute."`
	ExpiresAt  time.Time  `json:"expires_at" doc:"When the session ends unless it is ended before."`
	EndedAt    *time.Time `json:"ended_at" doc:"When the session was ended; null for one that was not."`
}

// SessionsEnded confirms the end of several sessions.
type SessionsEnded struct {
	Ended int `json:"ended" doc:"How many sessions were ended." example:"2"`
}
