"""The server's application: its routes, behind its guards."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trainer.server.api_errors import HANDLERS, ApiError
from trainer.server.guards import RequestGuard
from trainer.server.model_thread import ModelThread
from trainer.server.settings import ServerSettings
from trainer.server.speech_routes import SpeechRoutes
from trainer.server.voice_routes import VoiceRoutes
from trainer.speech.synthesizer import Synthesizer

PAGE = Path(__file__).parent / "page"
PAGE_FILES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src data:; media-src blob:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def make_app(synthesizer: Synthesizer, *, settings: ServerSettings, log: Callable[[str], object]) -> Starlette:
    """The application that speaks with a synthesizer; `log` receives what a user of the server should know."""
    thread = ModelThread(max_requests=settings.max_requests)
    speech = SpeechRoutes(synthesizer, thread=thread, settings=settings, log=log)
    voices = VoiceRoutes(synthesizer, thread=thread, settings=settings)

    async def health(_: Request) -> JSONResponse:
        facts = {"status": "ok", "model": synthesizer.run.name, "step": synthesizer.checkpoint.step}
        queue = {"requests": thread.requests, "max_requests": settings.max_requests}
        return JSONResponse(facts | {"languages": synthesizer.languages} | queue)

    model = {"id": synthesizer.run.name, "object": "model", "created": 0, "owned_by": "myxtts"}

    async def models(_: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [model]})

    async def one_model(request: Request) -> JSONResponse:
        if request.path_params["name"] != model["id"]:
            raise ApiError(f"model {request.path_params['name']}: not here; there is {model['id']}", status=404)
        return JSONResponse(model)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        thread.close()

    return Starlette(
        routes=[
            Route("/v1/audio/speech", speech.speech, methods=["POST"]),
            Route("/v1/audio/sentences", speech.sentences, methods=["POST"]),
            Route("/v1/audio/voices", voices.list_voices, methods=["GET"]),
            Route("/v1/audio/voices", voices.save, methods=["POST"]),
            Route("/v1/audio/voices/{name:path}", voices.delete, methods=["DELETE"]),
            Route("/v1/models", models, methods=["GET"]),
            Route("/v1/models/{name:path}", one_model, methods=["GET"]),
            Route("/health", health, methods=["GET"]),
            *(_page_route(path, name) for path, name in PAGE_FILES.items()),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(settings.allowed_hosts), www_redirect=False),
            Middleware(RequestGuard, settings=settings),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )


def _page_route(path: str, file: tuple[str, str]) -> Route:
    name, media_type = file
    content = (PAGE / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=media_type, headers=PAGE_HEADERS)

    return Route(path, answer, methods=["GET"])
