"""A server of ours with short limits and without models; prints its address, serves until a signal.

Usage: python -m tests.faults.bounded_server
"""

import asyncio
import logging

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from moralscope.server.app import make_app
from moralscope.server.connections import ConnectionLimits
from moralscope.server.limits import RequestLimits
from moralscope.server.running import ServerAddress, run
from moralscope.server.security import AccessToken, allowed

TOKEN = "correct-horse-battery-staple"
LIMITS = ConnectionLimits(head=1.0, body=3, drain=1.0, linger=0.5, per_address=20, in_all=40)
router = APIRouter()


@router.get("/health")
def health() -> str:
    return "well"


@router.get("/big")
def big() -> Response:
    return Response(b"x" * 40_000_000)


@router.get("/slow/{seconds}")
async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


@router.get("/bug")
def bug() -> None:
    raise ZeroDivisionError("a https://me:hunter22@host/ within")


@router.post("/echo", dependencies=[Depends(allowed)])
async def echo(request: Request) -> int:
    return len(await request.body())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    limits = RequestLimits(10_000_000, 1, AccessToken(TOKEN))
    app = make_app("trial", ServerAddress(), [router], limits=limits)
    run(app, ServerAddress(port=0), lambda address: print(address, flush=True), 10, LIMITS)
