"""The dashboard as an ASGI application: the routes, the page, the guard around both, and errors in one shape."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

import redline
from redline.files.error import FileError
from redline.gateway.roster import GatewayError
from redline.sessions.store import StoreError
from redline.surfaces.dashboard import actions, lists, reading, site
from redline.surfaces.dashboard.asked import House
from redline.surfaces.dashboard.contract import Problem, StreamEvents
from redline.surfaces.dashboard.guard import Access, Guard
from redline.surfaces.dashboard.hub import Hub
from redline.surfaces.dashboard.plans import Plans
from redline.surfaces.dashboard.problems import problem_of
from redline.tools.undo import UndoRefused
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from redline.gateway.gateway import Gateway

_log = logging.getLogger(__name__)

_STATUS: Mapping[str, int] = {
    "NO_SESSION": 404, "NO_ROW": 404, "NO_FILE": 404, "NO_IMAGE": 404, "NO_STREAM": 404, "NO_PLAN": 404,
    "NOT_FOUND": 404, "NO_TURN": 404,
    "OUTSIDE_WORKSPACE": 403, "SECRET_FILE": 403,
    "STOPPING": 503, "NO_SPACE": 507,
}  # fmt: skip
"""Of a code. Of others: 409 where what was asked for cannot be done as things are, 500 where the store failed; 422 says
only that the request has not the shape of the contract."""


class Dashboard:
    """One server's application, and the hub that lives while it runs."""

    def __init__(self, gateway: Gateway, access: Access, *, here: Path, static: Path = site.STATIC) -> None:
        self._gateway = gateway
        self._here = here
        self._hub: Hub | None = None
        self.api = _api(self._lifespan, static)
        self.app = Guard(self.api, access)

    def end(self) -> None:
        """End every stream, so that the server can stop."""
        if self._hub is not None:
            self._hub.end()

    @asynccontextmanager
    async def _lifespan(self, api: FastAPI) -> AsyncIterator[None]:
        self._hub = Hub(self._gateway)
        api.state.house = House(self._gateway, self._hub, Plans(), self._here)
        yield
        self.end()


def _api(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]], static: Path) -> FastAPI:
    api = FastAPI(
        title="Redline",
        version=redline.__version__,
        description="The dashboard's own interface, for programs of the same version.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # Nothing is reported to anybody, whatever the environment says.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        lifespan=lifespan,
    )
    for part in (lists, reading, actions):
        api.include_router(part.router, prefix="/api", responses={"4XX": {"model": Problem}, "5XX": {"model": Problem}})

    @api.get("/{path:path}", include_in_schema=False)
    async def page(path: str) -> Response:
        """A file of the page, or the page itself, which reads the rest of the address."""
        if path.startswith("api/"):
            raise HTTPException(404)
        found = site.asset(path, static) if path else None
        if found is None and path.startswith("assets/"):
            raise HTTPException(404)
        return found or site.page(static)

    _answer_errors(api)
    return api


def _answer_errors(api: FastAPI) -> None:
    async def known(_: Request, error: Exception) -> JSONResponse:
        code = str(getattr(error, "code", ""))
        fault = isinstance(error, StoreError | BytesError) and code not in ("BUSY", "AMBIGUOUS")
        return _answer(_STATUS.get(code, 500 if fault else 409), problem_of(error))

    for kind in (GatewayError, StoreError, BytesError, FileError, UndoRefused):
        api.add_exception_handler(kind, known)

    async def malformed(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first.get("loc", ()))
        said = Problem(
            code="REQUEST", message=f"{where}: {first.get('msg', 'is malformed')}", remedy="Mend the request."
        )
        if first.get("type") == "string_too_long":
            most = first.get("ctx", {}).get("max_length", 0)
            remedy = "Shorten it, or put it into a file and name the file."
            said = Problem(code="TOO_LONG", message=f"At most {most:,} characters can be sent.", remedy=remedy)
        return _answer(422, said)

    async def plain(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        said = Problem(code=f"HTTP_{error.status_code}", message=str(error.detail), remedy="Check the address.")
        return JSONResponse(said.model_dump(), status_code=error.status_code, headers=error.headers)

    async def fault(_: Request, error: Exception) -> JSONResponse:
        _log.error("A request failed", exc_info=error)
        said = Problem(
            code="FAULT",
            message=f"Redline failed: {type(error).__name__}.",
            remedy="Nothing was lost; redline.log in the data folder says more. Report it if it comes again.",
        )
        return _answer(500, said)

    api.add_exception_handler(RequestValidationError, malformed)
    api.add_exception_handler(HTTPException, plain)
    api.add_exception_handler(Exception, fault)


def _answer(status: int, said: Problem) -> JSONResponse:
    return JSONResponse(said.model_dump(), status_code=status)


def openapi(api: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with what the stream sends among its schemas."""
    document = api.openapi()
    schemas = StreamEvents.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    known = document["components"]["schemas"]
    for name, schema in schemas.pop("$defs").items():
        known.setdefault(name, schema)
    known["StreamEvents"] = schemas
    return document
