"""Who asks: from a request to a person, with limits on how often. Decides nothing about work."""

from dataclasses import dataclass, field
from typing import Annotated, NoReturn

from fastapi import Depends
from starlette.requests import Request

from moralscope.annotation.records import NotAllowed, Person, Session
from moralscope.annotation.service import AnnotationService
from moralscope.server.errors import RateLimit, Refused
from moralscope.server.security import SAFE_METHODS, Sessions, is_same_origin

LEAD = "lead"


@dataclass(frozen=True, slots=True)
class Access:
    """What every handler needs to know who is asking."""

    service: AnnotationService
    sessions: Sessions
    requests: RateLimit = field(default_factory=lambda: RateLimit(per_second=20, burst=120))
    wrong_tokens: RateLimit = field(default_factory=lambda: RateLimit(per_second=0.2, burst=10))

    def join(self, request: Request, token: str) -> Session:
        """Exchange a token for a session; wrong tokens are few before one has to wait."""
        address = request.client.host if request.client else ""
        if not is_same_origin(request):
            raise Refused(403, "the request came from another site", "open your link again")
        self._limit(self.wrong_tokens, address, count=0)
        try:
            return self.service.join(token)
        except NotAllowed as error:
            self._limit(self.wrong_tokens, address)
            raise Refused(401, error.problem, error.remedy) from None

    def who(self, request: Request) -> "Caller":
        """Return who asks; refuse without a session, and changes that come from no page of ours."""
        secret = self.sessions.key(request)
        if secret is None:
            _no_session()
        self._limit(self.requests, secret)
        if request.method not in SAFE_METHODS and not self.sessions.is_own_form(request, secret):
            raise Refused(403, "the page is out of date", "reload it and try again")
        try:
            person = self.service.who(secret)
        except NotAllowed:
            _no_session()
        return Caller(self.service, person, secret, self.sessions.csrf(secret))

    @staticmethod
    def _limit(limit: RateLimit, key: str, count: float = 1) -> None:
        wait = limit.take(key, count) if count else limit.wait(key)
        if wait:
            raise Refused(429, "too many requests", f"wait {int(wait) + 1} seconds", wait)


@dataclass(frozen=True, slots=True)
class Caller:
    """A request of a known person."""

    service: AnnotationService
    person: Person
    secret: str = field(repr=False)
    csrf: str = field(repr=False)


def _no_session() -> NoReturn:
    raise Refused(401, "you are not joined", "open your personal link")


def access(request: Request) -> Access:
    """Return the application's access."""
    found: Access = request.app.state.access
    return found


def anyone(request: Request) -> Caller:
    """Return who asks, whatever the role."""
    return access(request).who(request)


def annotator(request: Request) -> Caller:
    """Return the annotator who asks."""
    caller = anyone(request)
    if caller.person.role == LEAD:
        raise Refused(403, "this is for annotators", "open the lead's page")
    return caller


def lead(request: Request) -> Caller:
    """Return the lead who asks."""
    caller = anyone(request)
    if caller.person.role != LEAD:
        raise Refused(403, "this is for leads")
    return caller


Anyone = Annotated[Caller, Depends(anyone)]
Annotator = Annotated[Caller, Depends(annotator)]
Lead = Annotated[Caller, Depends(lead)]
