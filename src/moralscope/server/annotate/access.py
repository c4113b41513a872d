"""Who asks: from a request to a person, with limits on how often. Decides nothing about work."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, NoReturn

from anyio import CapacityLimiter, fail_after
from fastapi import Depends
from starlette.requests import Request

from moralscope.annotation.records import NotAllowed, NotSaved, Person, Session
from moralscope.annotation.service import AnnotationService
from moralscope.server.errors import RateLimit, Refused
from moralscope.server.security import SAFE_METHODS, Sessions, is_same_origin

LEAD = "lead"
_WRITERS = 5  # of the server's 8 threads: the others are left to whoever only reads
_LINE_SECONDS = 5.0
_GIVING_WORK = ("/work", "/api/work", "/api/test")  # these are read, and write what was given


@dataclass(frozen=True, slots=True)
class Access:
    """What every handler needs to know who is asking."""

    service: AnnotationService
    sessions: Sessions
    requests: RateLimit = field(default_factory=lambda: RateLimit(per_second=20, burst=120))
    wrong_tokens: RateLimit = field(default_factory=lambda: RateLimit(per_second=0.2, burst=10))
    writers: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_WRITERS))
    health: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(2))

    def join(self, request: Request, token: str) -> Session:
        """Exchange a token for a session; wrong tokens are few before one has to wait.

        A valid token always opens: many people may share the address of somebody who guesses.
        """
        address = request.client.host if request.client else ""
        if not is_same_origin(request):
            raise Refused(403, "the request came from another site", "open your link again")
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
    def _limit(limit: RateLimit, key: str) -> None:
        if wait := limit.take(key):
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
    known: Access = request.app.state.access
    return known


async def in_line(request: Request) -> AsyncIterator[None]:
    """Let few requests wait for the database's lock at once: reading always finds a thread.

    A dependency of every route; those that only read go on at once.
    """
    if request.method in SAFE_METHODS and request.url.path not in _GIVING_WORK:
        yield
        return
    writers, ticket = access(request).writers, object()
    try:
        with fail_after(_LINE_SECONDS):
            await writers.acquire_on_behalf_of(ticket)
    except TimeoutError:
        raise NotSaved(
            "the database is busy: another program may hold it",
            "keep the text, wait a moment, and save again",
        ) from None
    try:
        yield
    finally:
        writers.release_on_behalf_of(ticket)


IN_LINE = Depends(in_line, scope="function")


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
