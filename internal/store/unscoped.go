package store

// Everything that a [Tenant] does not scope, and why. All other operations on data are methods of *Tenant, or of a type
// that contains the *Tenant it belongs to: [DeliveryLease], [SubmissionLease], [PurchaseLease], [Book] and [Reader]. A
// test compares this list with the code.
//
// Opening and operating a database (store.go, migration.go, database.go, id.go, summary.go, tenant.go): the
// database serves all tenants. [DB.Tenant] is how administration commands get a tenant.
//
//   - [Open], [OpenUnmigrated], [DB.Close], [DB.Ping], [DB.LockForServing], [DB.Backup]
//   - [Restore], [DB.CopyOut], [DB.BackupIdentity], [DB.RecordBackup], [DB.LastBackup] (backup.go): a backup has the
//     rows of all tenants
//   - [DB.Migrate], [DB.Summarize], [DB.CountInvoices], [DB.RecountInvoices] complete the rows of a database that an
//     older version wrote
//   - [DB.Pools] counts connections, [DB.LimitedMails] mails
//   - [DB.Subscribe] notifies workers of a kind of work, without saying whose; [DB.ClockMoved] notifies those of every
//     kind
//   - [DB.Tenant]
//
// Accounts, users and passwords (account.go, user.go, invitation.go, password.go): they belong to administrators, and
// to people before they log in.
//
//   - [DB.CreateAccount], [DB.RenameAccount], [DB.SetProfile], [DB.SetLoginPolicy], [DB.SuspendAccount],
//     [DB.ReactivateAccount], [DB.Account], [DB.Accounts]
//   - [DB.AddUser], [DB.EnableUser], [DB.DisableUser], [DB.RevokeAPIKeysOf], [DB.SetRole], [DB.User], [DB.Users],
//     [DB.UserByEmail], [DB.UsersToLogIn], [DB.UserOf]
//   - [DB.ChangeAddress], [DB.RemoveUser] (address.go)
//   - [DB.UsableInvitation], [DB.Join] for people who have the secret of an invitation
//   - [DB.ChangePassword], [DB.ResetPassword], [DB.Rehash]
//   - [DB.SendPasswordReset]; [DB.RequestPasswordReset], [DB.AnswerResetRequest] for whoever asks;
//     [DB.UsablePasswordReset], [DB.CompletePasswordReset] for people who have the secret of a link (password_reset.go)
//   - [DB.UnlinkUser]; [DB.StoreSignOnChoice], [DB.SignOnChoice], [DB.CompleteSignOnChoice] for somebody whom the
//     OpenID provider has logged in (sign_on.go)
//   - [DB.SecondFactor] for a user who has given the right password, [DB.ResetSecondFactor] (second_factor.go)
//   - [DB.BeginLogin], [DB.PendingLogin] (pending_login.go)
//   - [DB.BeginPasskeyLogin] for a pending login, [DB.RefusePasskey] for a user who has given the right password
//     (passkey.go)
//
// Tokens (account.go, sessions.go): a token is looked up before its owner is known, and the look-up creates the
// *Tenant.
//
//   - [DB.Authenticate], [DB.CreateToken], [DB.CreateSignOnToken], [DB.RevokeToken]
//
// API keys (apikey_use.go): a key is looked up like a token, and the uses of all keys are written together. Everything
// else about keys is a method of *Tenant.
//
//   - [DB.AuthenticateAPIKey], and [DB.RecordUses] for sessions too (uses.go)
//
// Operators (operator.go, operator_session.go): they are people of the owner of the service and belong to no account.
//
//   - [DB.AddOperator], [DB.ResetOperator], [DB.DisableOperator], [DB.Operators], [DB.OperatorByEmail],
//     [DB.OperatorTOTP]
//   - [DB.EnrollingOperator], [DB.EnrolOperator] for people who have the secret of an enrolment link
//   - [DB.BeginOperatorSession], [DB.HasOperatorRecovery], [DB.AuthenticateOperator], [DB.EndOperatorSession]
//
// Limits (limit.go): they are counted before anybody is authenticated.
//
//   - [DB.AcquireLimits], [DB.ReleaseLimits], [DB.LimitUsage], [DB.CountCode]
//
// Provider connections (connection.go): they belong to accounts, and stay when an account gets a new tenant.
//
//   - [DB.AddConnection], [DB.ActivateConnection], [DB.DisableConnection], [DB.ApproveConnection],
//     [DB.ConfirmCreditNotes], [DB.ReplaceCredential]
//   - [DB.Connection], [DB.Connections], [DB.Credential], [DB.RefuseSimulator]
//   - [DB.UnroutedEvents], because such an event may belong to any account (provider_event.go)
//
// Queues of due work (queues.go, purchase.go): workers look for the work of all tenants, and get a *Tenant with every
// claim.
//
//   - [DB.DueDeliveryQueues], [DB.DueSubmissionQueues], [DB.DuePurchaseQueues], [DB.DueMailQueues],
//     [DB.ReleaseOrphanedLeases]
//   - [Queue.ClaimDeliveries], [Queue.ClaimSubmissions], [Queue.ClaimPurchases], [Queue.ClaimMails]
//   - [DB.OldestPurchaseSync] says how far behind the syncs are, without saying whose
//
// Mails (mail.go, mail_work.go, notice.go): whether the installation sends any, how many wait, and the notices of all
// companies that are due.
//
//   - [DB.RecordMailer], [DB.SendsMail], [DB.MailBacklog], [DB.MailTroubles], [DB.TellOwners]
//
// Figures and lists for the operator and administrators (circuit.go, overview.go, resolve.go): they cover all accounts.
//
//   - [DB.PollLag], [DB.Backlogs], [DB.UnknownAges], [DB.Contradicted]
//   - [DB.AllSubmissions], [DB.AllDeliveries]
//
// Lists of operators (operator_lists.go): they cover all accounts.
//
//   - [DB.AccountList], [DB.Companies], [DB.ConnectionList], [DB.FailingConnections], [DB.UnknownSubmissions],
//     [DB.UndeliveredDeliveries], [DB.FailingSubscriptions], [DB.AuditPage]
//
// Decisions of administrators about rows that they name by identifier alone (resolve.go, export.go): the look-up finds
// the *Tenant.
//
//   - [DB.ResolveSubmission], [DB.ExportEvidence]
//
// The database as a whole (reset.go, restored.go, retention.go, limit.go): its environment, the reset of an account, a
// restore from a backup, and the removal of what is old or expired.
//
//   - [DB.RecordEnvironment], [DB.CheckEnvironment], [DB.ServedEnvironment], [DB.ResetTenant], [DB.MarkRestored]
//   - [DB.ApplyRetention], [DB.DeleteExpired]
//
// Running servers (servers.go): they are processes.
//
//   - [DB.RegisterServer], [DB.UnregisterServer], [DB.Servers]
//
// Sealing keys (keys.go, keyrecords.go, reseal.go, bind.go): an installation has one set of keys for all tenants.
//
//   - [DB.CheckKeys], [DB.RefreshKeys], [DB.RecordKey], [DB.AddedKey], [DB.KeyRecorded], [DB.KeysInUse], [DB.RetireKey]
//   - [DB.Reseal], [DB.BindSecrets]
//   - [DB.SealAccess], [DB.AcceptAccess], [DB.AccessSealed], [DB.AccessFaults] (access_begin.go): the rows that decide
//     who may act, of all accounts
//   - [DB.ChangedRows] counts rows without saying whose
//
// Evidence of the whole database (seal_evidence.go, verify.go, anchor.go, evidence_record.go): it is verified, sealed
// and anchored for all tenants together. [Tenant.VerifyEvidence] is the version for one tenant.
//
//   - [DB.VerifyEvidence], [DB.SealEvidence], [DB.EvidenceKey]
//   - [DB.RecordVerification], [DB.LastVerification] (verification.go)
//   - [DB.Anchor], [DB.ReadAnchors], [DB.VerifyAnchor]
//
// The audit log (audit.go): it has the entries of each account, and those that belong to no account.
//
//   - [DB.Audit], [DB.RecordAudit]
