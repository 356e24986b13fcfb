"""Stylesheet, script and fonts."""

from fastapi import APIRouter
from starlette.responses import Response

from admin_ui.deps import Parts
from kit.errors import NotFound

router = APIRouter()
FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/admin/static/{version}/{path:path}")
async def get_file(version: str, path: str, parts: Parts) -> Response:
    """Give a file; only the address of the present version may be kept."""
    static = parts.static
    if path not in static.files:
        raise NotFound(f"there is no file {path}")
    cache = FOR_EVER if version == static.version else "no-cache"
    return Response(
        static.files[path], media_type=static.media_type(path), headers={"cache-control": cache}
    )
