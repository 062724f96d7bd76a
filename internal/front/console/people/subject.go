package people

import (
	"embed"
	"slices"

	"quittance/internal/front/console"
)

//go:embed templates/*.html
var templates embed.FS

// Subject returns the pages of logins, users and the company itself.
func Subject() console.Subject {
	return console.Subject{Templates: templates, Routes: slices.Concat(
		exportRoutes(),
		sessionRoutes(),
		loginCodeRoutes(),
		sessionRecordRoutes(),
		signOnRoutes(),
		secondFactorRoutes(),
		passkeyRoutes(),
		joinRoutes(),
		addressRoutes(),
		passwordResetRoutes(),
		apiKeyRoutes(),
		userRoutes(),
		loginPolicyRoutes(),
		auditRoutes(),
		accountRoutes(),
		passwordRoutes(),
	)}
}
