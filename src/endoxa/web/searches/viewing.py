"""The collection: what there is, in order or as a map, and its pictures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from endoxa.searches.maps import ALL
from endoxa.studies.design import FIVE_LABELS
from endoxa.web.searches import search_bodies as b
from endoxa.web.searches.search_app import SearchServer
from endoxa.web.shapes import MOST, PROBLEMS

KEPT = {"Cache-Control": "private, max-age=86400, immutable"}  # the address names the digest of the collection
PATH = r"^[0-9]{1,3}(\.[0-9]{1,3}){0,9}$|^$"  # cells of the map, from the top


def router(server: SearchServer) -> APIRouter:
    """The routes of the collection."""
    here = APIRouter()
    api = APIRouter(prefix="/api/collection", responses=PROBLEMS, tags=["collection"])
    pictures = server.collection

    @api.get("", response_model=b.CollectionOut)
    def collection(request: Request) -> Any:
        """The collection, its groups of features, and the marks."""
        visitor = server.visitor(request)
        features = pictures.features
        return {
            "name": pictures.name, "nickname": visitor.nickname, "role": visitor.role, "digest": features.digest,
            "count": len(features), "beside": int((features.leaders != np.arange(len(features))).sum()),
            "groups": [{"name": group.name, "metrics": group.metrics} for group in features.groups],
            "grades": [
                {"value": value, "label": label, "key": str(value + 3)}
                for value, label in enumerate(FIVE_LABELS, start=-2)
            ],
            "words": any(features.spoken), "map": len(features) > 1 and bool(features.groups),
        }  # fmt: skip

    @api.get("/items", response_model=b.ItemsOut)
    def items(
        request: Request, order: Literal["name", "time", "shuffle"] = "name",
        seed: Annotated[int, Query(ge=0, le=MOST)] = 0, page: Annotated[int, Query(ge=1, le=MOST)] = 1,
    ) -> Any:  # fmt: skip
        """A page of the whole collection."""
        server.visitor(request)
        return pictures.page(order, seed, page)

    @api.get("/map", response_model=b.MapOut)
    def map_view(
        request: Request, group: Annotated[str, Query(max_length=100)] = ALL,
        path: Annotated[str, Query(pattern=PATH)] = "", columns: Annotated[int, Query(ge=2, le=24)] = 12,
        rows: Annotated[int, Query(ge=2, le=24)] = 12,
    ) -> Any:  # fmt: skip
        """A view of the map: pictures that stand for those in their cell."""
        server.visitor(request)
        return {"tiles": pictures.view(group, path, columns, rows), "path": path}

    @here.get("/pictures/{place}", include_in_schema=False)
    def picture(request: Request, place: b.Place, size: Literal["small", "large"] = "small") -> Response:
        server.visitor(request)
        return FileResponse(pictures.copy(place, small=size == "small"), media_type="image/jpeg", headers=KEPT)

    here.include_router(api)
    return here
