"""The files of floe's page, as they are in the folder ``page``."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException, status
from fastapi.responses import RedirectResponse, Response

FOLDER = Path(__file__).parent / "page"
INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

router = APIRouter()


def page_files(folder: Path = FOLDER) -> dict[str, tuple[bytes, str]]:
    """Read all files of the page: their bytes and media types by name."""
    return {path.name: (path.read_bytes(), TYPES[path.suffix]) for path in folder.iterdir() if path.suffix in TYPES}


_FILES = page_files()


@router.get("/")
def front() -> RedirectResponse:
    """Lead to the page."""
    return RedirectResponse("page/", status.HTTP_307_TEMPORARY_REDIRECT)


@router.get("/page/")
def index() -> Response:
    """Answer the page."""
    return page_file(INDEX)


@router.get("/page/{name}")
def page_file(name: str) -> Response:
    """Answer one of the page's files; no other name leads to a file."""
    if name not in _FILES:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such file")
    content, media_type = _FILES[name]
    return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})
