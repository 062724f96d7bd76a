package api

import "time"

// AuditEntry is an entry of the audit log of a company: one act that changed something.
type AuditEntry struct {
	ID      string       `json:"id" format:"uuid" doc:"Identifier."`
	At      time.Time    `json:"at" doc:"When."`
	Act     string       `json:"act" doc:"What was done: a family and a verb." example:"draft.create"`
	Actor   AuditActor   `json:"actor" doc:"Who did it."`
	Means   string       `json:"means" enum:"api,console,command_line,service" doc:"By what means."`
	Source  *string      `json:"source" doc:"Network address of the caller. Null for administrators and the service itself." example:"192.0.2.7"`
	Subject AuditSubject `json:"subject" doc:"What it was done to."`
	// RequestID is the X-Request-Id of the request.
	RequestID *string `json:"request_id" doc:"The X-Request-Id of the request. Null for administrators and the service itself."`
	// Details has identifiers and the names of changed fields, never contents or secrets.
	Details map[string]string `json:"details" nullable:"false" doc:"Identifiers, and in fields the names of the fields that changed, separated by commas; never contents or secrets."`
}

// AuditActor is the author of an act.
type AuditActor struct {
	Kind string `json:"kind" enum:"user,key,administrator,system" doc:"A user, an API key, an administrator of the service, or the service itself."`
	// Name is null for administrators, who are known to the operator of the service.
	Name *string `json:"name" doc:"E-mail address of the user, or identifier of the key. Null for an administrator." example:"ann@palm.example"`
}

// AuditSubject is what an act was done to.
type AuditSubject struct {
	Type string `json:"type" doc:"invoice, credit_note, subscription, delivery, user, account, connection, submission and others." example:"invoice"`
	ID   string `json:"id" doc:"Its identifier; empty if it has none."`
}
