package ledger

// Everything that a [base.Tenant] does not scope, and why. All other operations on data take a *Tenant, or belong to a
// type that contains the *Tenant it belongs to: [events.DeliveryLease], [invoices.SubmissionLease],
// [incoming.PurchaseLease], [invoices.Book] and [base.Reader]. A test compares this list with the code.
//
// What the ledger is made of (base): its packages alone may use it, which test/archtest holds.
//
//   - [base.DB.Write], [base.DB.Querier], [base.DB.SQL], [base.DB.Sealer], [base.Collect]
//   - [base.DB.TenantOf], [base.DB.CurrentTenant], [base.DB.ScanTenant], [base.DB.Tenants], [base.DB.FindTenant],
//     [base.DB.ScanQueues] make tenants
//   - [base.DB.Acting], [base.DB.Acts], [base.DB.ActingAccount], [base.DB.ActingUser], [base.DB.WalkSealed],
//     [base.DB.RefuseSealing], [base.DB.AccessRecordGone] read rows that decide who may act
//   - [base.DB.SchemaVersion], [base.DB.CheckRelease], [base.DB.KeyRecords], [base.DB.UseKeys]
//   - [base.DB.BeginEvidence], [base.DB.RememberEvidence], [base.DB.RemembersEvidence], [base.DB.RecordRemoval],
//     [base.DB.EvidenceRecord], [base.DB.EventsRemoved] are about the evidence as a whole
//
// Opening and operating a database (open.go, migration.go, backup.go; base: db.go, database.go, id.go, tenant.go;
// invoices: summary.go): the database serves all tenants. [base.DB.Tenant] is how administration commands get a tenant.
//
//   - [Open], [base.OpenUnmigrated], [base.DB.Close], [base.DB.Ping], [base.DB.LockForServing], [base.DB.Backup]
//   - [Restore], [CopyOut], [BackupIdentity], [RecordBackup], [LastBackup] (backup.go): a backup has the
//     rows of all tenants
//   - [Migrate], [invoices.SummarizeMissing] complete the rows of a database that an older version wrote;
//     [invoices.Recount] and [invoices.CountMissing] count anew
//   - [base.DB.Pools] counts connections, [base.DB.LimitedMails] mails
//   - [base.DB.Subscribe] notifies workers of a kind of work, without saying whose; [base.DB.ClockMoved] notifies those
//     of every kind
//   - [base.DB.Tenant]
//
// Accounts, users and passwords (account.go, user.go, invitation.go, password.go): they belong to administrators, and
// to people before they log in.
//
//   - [identity.CreateAccount], [identity.RenameAccount], [identity.SetProfile], [identity.SetLoginPolicyOf],
//     [identity.SuspendAccount], [identity.ReactivateAccount], [identity.FindAccount], [identity.Accounts]
//   - [identity.AddUser], [identity.EnableUser], [identity.DisableUser], [identity.RevokeAPIKeysOf],
//     [identity.SetRole], [identity.FindUserOf], [identity.UsersOf], [base.DB.UserByEmail], [base.DB.UsersToLogIn],
//     [base.DB.UserOf]
//   - [identity.ChangeAddressOf], [identity.RemoveUserOf] (address.go)
//   - [identity.FindUsableInvitation], [identity.Join] for people who have the secret of an invitation
//   - [identity.ChangePassword], [identity.ResetPassword], [identity.Rehash]
//   - [identity.SendPasswordReset]; [identity.RequestPasswordReset], [identity.AnswerResetRequest] for whoever asks;
//     [identity.UsablePasswordReset], [identity.CompletePasswordReset] for people who have the secret of a link
//     (password_reset.go)
//   - [identity.UnlinkUser]; [identity.StoreSignOnChoice], [identity.FindSignOnChoice], [identity.CompleteSignOnChoice]
//     for somebody whom the OpenID provider has logged in (sign_on.go)
//   - [identity.FindSecondFactor] for a user who has given the right password, [identity.ResetSecondFactorOf]
//     (second_factor.go)
//   - [identity.BeginLogin], [identity.FindPendingLogin] (pending_login.go)
//   - [identity.BeginPasskeyLogin] for a pending login, [identity.RefusePasskey] for a user who has given the right
//     password (passkey.go)
//
// Tokens (account.go, sessions.go): a token is looked up before its owner is known, and the look-up creates the
// *Tenant.
//
//   - [base.DB.Authenticate], [identity.CreateToken], [identity.CreateSignOnToken], [identity.RevokeToken]
//
// API keys (apikey_use.go): a key is looked up like a token, and the uses of all keys are written together. Everything
// else about keys takes a *Tenant.
//
//   - [base.DB.AuthenticateAPIKey], and [base.DB.RecordUses] for sessions too (uses.go)
//
// Operators (operator.go, operator_session.go): they are people of the owner of the service and belong to no account.
//
//   - [identity.AddOperator], [identity.ResetOperator], [identity.DisableOperator], [identity.Operators],
//     [identity.FindOperator], [identity.OperatorTOTP]
//   - [identity.EnrollingOperator], [identity.EnrolOperator] for people who have the secret of an enrolment link
//   - [identity.BeginOperatorSession], [identity.HasOperatorRecovery], [identity.AuthenticateOperator],
//     [identity.EndOperatorSession]
//
// Limits (limit.go): they are counted before anybody is authenticated.
//
//   - [base.DB.AcquireLimits], [base.DB.ReleaseLimits], [base.DB.LimitUsage], [identity.CountCode]
//
// Provider connections (connection.go): they belong to accounts, and stay when an account gets a new tenant.
//
//   - [invoices.AddConnection], [invoices.ActivateConnection], [invoices.DisableConnection],
//     [invoices.ApproveConnection], [invoices.ConfirmCreditNotes], [invoices.ReplaceCredential]
//   - [invoices.FindConnection], [invoices.Connections], [invoices.Credential], [invoices.RefuseSimulator]
//   - [incoming.UnroutedEvents], because such an event may belong to any account (provider_event.go)
//
// Queues of due work (queues.go, purchase.go): workers look for the work of all tenants, and get a *Tenant with every
// claim.
//
//   - [events.DueDeliveryQueues], [invoices.DueSubmissionQueues], [incoming.DuePurchaseQueues],
//     [identity.DueMailQueues], [ReleaseOrphanedLeases]
//   - [events.ClaimDeliveries], [invoices.ClaimSubmissions], [incoming.ClaimPurchases], [identity.ClaimMails]
//   - [incoming.OldestPurchaseSync] says how far behind the syncs are, without saying whose
//
// Mails (mail.go, mail_work.go, notice.go): whether the installation sends any, how many wait, and the notices of all
// companies that are due.
//
//   - [identity.RecordMailer], [identity.SendsMail], [identity.MailBacklog], [identity.MailTroubles],
//     [identity.TellOwners]
//
// Figures and lists for the operator and administrators (circuit.go, overview.go, resolve.go): they cover all accounts.
//
//   - [invoices.ReadPollLag], [lists.Backlogs], [lists.ReadUnknownAges], [invoices.Contradicted]
//   - [lists.AllSubmissions], [lists.AllDeliveries]
//
// Lists of operators (operator_lists.go): they cover all accounts.
//
//   - [lists.AccountList], [lists.Companies], [lists.ConnectionList], [lists.FailingConnections],
//     [lists.UnknownSubmissions], [lists.UndeliveredDeliveries], [lists.FailingSubscriptions], [lists.AuditPage]
//
// Decisions of administrators about rows that they name by identifier alone (resolve.go, export.go): the look-up finds
// the *Tenant.
//
//   - [invoices.ResolveAnySubmission], [proof.Export]
//
// The database as a whole (reset.go, restored.go, retention.go, expired.go): its environment, the reset of an account,
// a restore from a backup, and the removal of what is old or expired.
//
//   - [invoices.RecordEnvironment], [invoices.CheckEnvironment], [invoices.ServedEnvironment], [invoices.ResetTenant],
//     [MarkRestored]
//   - [invoices.ApplyRetention], [DeleteExpired]
//
// Running servers (servers.go): they are processes.
//
//   - [base.DB.RegisterServer], [base.DB.UnregisterServer], [base.DB.Servers]
//
// Sealing keys (keys.go, keyrecords.go, reseal.go): an installation has one set of keys for all tenants.
//
//   - [base.DB.CheckKeys], [base.DB.RefreshKeys], [base.DB.RecordKey], [base.DB.AddedKey], [base.DB.KeyRecorded],
//     [KeysInUse], [RetireKey]
//   - [Reseal]
//   - [SealAccess], [AcceptAccess], [proof.AccessSealed], [proof.AccessFaults] (access_begin.go): the rows that decide
//     who may act, of all accounts
//   - [base.DB.ChangedRows] counts rows without saying whose
//
// Evidence of the whole database (seal_evidence.go, verify.go, anchor.go, evidence_record.go): it is verified, sealed
// and anchored for all tenants together.
//
//   - [proof.Verify], [proof.SealEvidence], [base.DB.EvidenceKey]
//   - [identity.RecordVerification], [identity.LastVerification] (verification.go)
//   - [proof.Anchor], [proof.ReadAnchors], [proof.VerifyAnchor]
//
// The audit log (audit.go): it has the entries of each account, and those that belong to no account.
//
//   - [base.DB.Audit], [base.DB.RecordAudit]
