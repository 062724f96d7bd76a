"""People and keys: users, invitations, sessions, the second factor, API keys and the audit log."""

from __future__ import annotations

from datetime import datetime

from ._core import Call, moment, path
from ._pages import Listing
from ._resource import CLIENT, PER_PAGE, Resource
from .errors import KeyLostError, LinkLostError
from .types import (
    AddressProofRequested,
    APIKey,
    APIKeyRequest,
    AuditEntry,
    Invitation,
    InvitationRequest,
    NewAPIKey,
    NewInvitation,
    RecoveryCodes,
    SecondFactor,
    SecondFactorDisabled,
    Session,
    SessionsEnded,
    TOTPEnrollment,
    User,
    UserPatch,
)


class Users(Resource):
    """The users of the company. Owners change them."""

    _path = CLIENT + "/users"

    def list(self, *, per_page: int = PER_PAGE) -> Listing[User]:
        """Return the users, the oldest first."""
        return self._list(User, self._path, per_page)

    def update(
        self, user_id: str, body: UserPatch, *, idempotency_key: str | None = None
    ) -> User:
        """Change the role of a user, or disable or enable one.

        The last active owner cannot be changed.
        """
        return self._change(User, "PATCH", path(self._path, user_id), body, idempotency_key)

    def remove(self, user_id: str) -> User:
        """Remove a colleague, or yourself. The last active owner cannot be removed."""
        return self._core.one(Call("DELETE", path(self._path, user_id)), User)

    def change_address(self, email: str, *, otp: str | None = None) -> User:
        """Change your own e-mail address.

        It is unproved until the link that is mailed to it was used. otp is a code of the second
        factor, if there is one.
        """
        body = {"email": email, "current_password": self._core.password()}
        if otp is not None:
            body["otp"] = otp
        return self._core.one(Call("POST", CLIENT + "/auth/address", body=body, without_key=True), User)

    def request_address_proof(self) -> AddressProofRequested:
        """Ask for an e-mail with a link that proves your address."""
        call = Call("POST", CLIENT + "/auth/address/proof", without_key=True)
        return self._core.one(call, AddressProofRequested)

    def prove_address(self, code: str) -> User:
        """Prove your address with the code of the link in that e-mail."""
        where = CLIENT + "/auth/address/confirm"
        return self._core.one(Call("POST", where, body={"code": code}, without_key=True), User)

    def reset_second_factor(self, user_id: str, *, idempotency_key: str | None = None) -> User:
        """Remove the second factor of a colleague who cannot use it, and end the sessions."""
        where = path(self._path, user_id) + "/second-factor/reset"
        return self._change(User, "POST", where, None, idempotency_key)


class Invitations(Resource):
    """Invitations of people, each for one person and once."""

    _path = CLIENT + "/users/invitations"

    def list(self, *, per_page: int = PER_PAGE) -> Listing[Invitation]:
        """Return the invitations that were not used yet, the newest first."""
        return self._list(Invitation, self._path, per_page)

    def create(
        self, body: InvitationRequest, *, idempotency_key: str | None = None
    ) -> NewInvitation:
        """Invite a person. Only this response has the link, as url: send it to the person.

        Raises LinkLostError, with the invitation, if an earlier attempt or call with the same key
        has made it.
        """
        created = self._change(NewInvitation, "POST", self._path, body, idempotency_key)
        if not created.get("url"):
            raise LinkLostError(created)
        return created

    def revoke(self, invitation_id: str, *, idempotency_key: str | None = None) -> Invitation:
        """End an invitation."""
        where = path(self._path, invitation_id) + "/revoke"
        return self._change(Invitation, "POST", where, None, idempotency_key)


class APIKeys(Resource):
    """API keys, the credentials of machines. Users manage them; no API key can."""

    _path = CLIENT + "/api-keys"

    def list(self, *, per_page: int = PER_PAGE) -> Listing[APIKey]:
        """Return the keys, the newest first, with those that were revoked or have expired."""
        return self._list(APIKey, self._path, per_page)

    def create(self, body: APIKeyRequest, *, idempotency_key: str | None = None) -> NewAPIKey:
        """Create a key. Only this response has it, as key: store it.

        Raises KeyLostError, with what is known of the key, if an earlier attempt or call with the
        same idempotency key has created it.
        """
        created = self._change(NewAPIKey, "POST", self._path, body, idempotency_key)
        if not created.get("key"):
            raise KeyLostError(created)
        return created

    def revoke(self, api_key_id: str, *, idempotency_key: str | None = None) -> APIKey:
        """Revoke a key at once and for good."""
        where = path(self._path, api_key_id) + "/revoke"
        return self._change(APIKey, "POST", where, None, idempotency_key)


class Sessions(Resource):
    """Sessions, each from a login to its end."""

    _path = CLIENT + "/sessions"

    def list(self, *, user_id: str | None = None, per_page: int = PER_PAGE) -> Listing[Session]:
        """Return the sessions of the user that have not ended, the last begun first.

        An owner gets those of the colleague user_id.
        """
        return self._list(Session, self._path, per_page, user_id=user_id)

    def end(self, session_id: str, *, idempotency_key: str | None = None) -> Session:
        """End a session at once. If it is that of the client, the next call logs in again."""
        where = path(self._path, session_id) + "/end"
        return self._change(Session, "POST", where, None, idempotency_key)

    def end_others(self, *, idempotency_key: str | None = None) -> SessionsEnded:
        """End all sessions of the user but that of the client, and return how many there were."""
        where = self._path + "/end-others"
        return self._change(SessionsEnded, "POST", where, None, idempotency_key)


class SecondFactors(Resource):
    """The second factor of the user: an authenticator app (TOTP) and recovery codes.

    Its changes take no idempotency key and are sent once. After a TransportError, get says whether
    there is a second factor.
    """

    _path = CLIENT + "/auth"

    def get(self) -> SecondFactor:
        """Return the state of the second factor."""
        return self._get(SecondFactor, self._path + "/second-factor")

    def begin_totp(self) -> TOTPEnrollment:
        """Make the secret of an authenticator app. It replaces nothing until confirm_totp."""
        return self._core.one(Call("POST", self._path + "/totp", without_key=True), TOTPEnrollment)

    def confirm_totp(self, code: str, *, otp: str | None = None) -> RecoveryCodes:
        """Make the authenticator app that shows code the second factor.

        Only this response has the recovery codes. otp is a code of the present second factor, if
        there is one; the first one needs the password of the client. Later logins need otp of the client.
        """
        if otp is None:
            body = {"code": code, "current_password": self._core.password()}
        else:
            body = {"code": code, "otp": otp}
        where = self._path + "/totp/confirm"
        return self._core.one(Call("POST", where, body=body, without_key=True), RecoveryCodes)

    def disable_totp(self, otp: str) -> SecondFactorDisabled:
        """Remove the second factor, and end the other sessions of the user.

        otp is a code of the authenticator app, or a recovery code.
        """
        return self._core.one(self._with_both("/totp/disable", otp), SecondFactorDisabled)

    def replace_recovery_codes(self, otp: str) -> RecoveryCodes:
        """Replace the recovery codes. Only this response has the new ones."""
        return self._core.one(self._with_both("/totp/recovery-codes", otp), RecoveryCodes)

    def _with_both(self, where: str, otp: str) -> Call:
        """Return a call with the password of the client and a code."""
        body = {"current_password": self._core.password(), "otp": otp}
        return Call("POST", self._path + where, body=body, without_key=True)


class Audit(Resource):
    """The audit log of the company, which only owners read."""

    def list(
        self,
        *,
        actor: str | None = None,
        act: str | None = None,
        subject_id: str | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        per_page: int = PER_PAGE,
    ) -> Listing[AuditEntry]:
        """Return the entries that match every filter, the newest first.

        actor is the e-mail address of a user, the identifier of an API key, "administrator" or
        "system". act is an act, such as "draft.create", or a family of acts, such as "draft".
        from_ is the earliest time, and to the time before which the acts were done; a datetime
        needs a zone.
        """
        filters = {"actor": actor, "act": act, "subject_id": subject_id}
        filters |= {"from": moment(from_), "to": moment(to)}
        return self._list(AuditEntry, CLIENT + "/audit", per_page, **filters)
