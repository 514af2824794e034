"""/nodes/{node}/storage: storages, and the ISO files on them."""

from __future__ import annotations

from aiohttp import BodyPartReader, web

from e2e.pve.errors import NotImplementedByPve, ParameterError
from e2e.pve.params import Params
from e2e.pve.simulation import asked, data, node_name, query, simulation
from e2e.pve.state import GIB, Storage

routes = web.RouteTableDef()
_STORAGE = "/api2/json/nodes/{node}/storage/{storage}"
_ISO = _STORAGE + "/content/{volume:.+}"


@routes.get("/api2/json/nodes/{node}/storage")
async def storages(request: web.Request) -> web.Response:
    query(request).finish()
    node_name(request)
    return data([_described(storage) for storage in simulation(request).cluster.storages.values()])


@routes.get(_STORAGE + "/status")
async def status(request: web.Request) -> web.Response:
    query(request).finish()
    node_name(request)
    return data(_described(_storage(request)))


@routes.get(_STORAGE + "/content")
async def contents(request: web.Request) -> web.Response:
    query(request).finish()
    held, node, storage = simulation(request), node_name(request), _storage(request)
    return data(
        [
            {"volid": f"{storage.name}:iso/{name}", "content": "iso", "format": "iso", "size": len(content)}
            for name in held.volumes.names(node, storage)
            for content in [held.volumes.content(node, storage, name)]
        ]
    )


@routes.get(_ISO)
async def describe_iso(request: web.Request) -> web.Response:
    query(request).finish()
    node, storage, name = node_name(request), _storage(request), _iso_name(request)
    content = simulation(request).volumes.content(node, storage, name)
    path = f"/var/lib/vz/template/iso/{name}"
    return data({"path": path, "size": len(content), "used": len(content), "format": "iso"})


@routes.delete(_ISO)
async def delete_iso(request: web.Request) -> web.Response:
    query(request).finish()
    node, storage, name = node_name(request), _storage(request), _iso_name(request)
    return data(str(simulation(request).volumes.delete(asked(request), node, storage, name)))


@routes.post(_STORAGE + "/upload")
async def upload(request: web.Request) -> web.Response:
    """Multipart: the field `content`, then the file in a part named `filename`, whose file name names the volume."""
    node, storage = node_name(request), _storage(request)
    if request.content_type != "multipart/form-data":
        raise ParameterError({"filename": "property is missing and it is not optional"})
    fields: dict[str, object] = {}
    file: tuple[str, bytes] | None = None
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise ParameterError({"body": "every part must be a named field"})
        if part.name in fields or (part.name == "filename" and file is not None):
            raise ParameterError({part.name: "given twice"})
        if part.filename is not None:
            file = part.filename, bytes(await part.read())
        else:
            fields[part.name] = await part.text()
    params = Params(fields)
    content = params.text("content")
    params.finish()
    if content != "iso":
        raise ParameterError({"content": f"value '{content}' is not simulated: only 'iso' is"})
    if file is None:
        raise ParameterError({"filename": "property is missing and it is not optional"})
    return data(str(simulation(request).volumes.upload(asked(request), node, storage, *file)))


def _storage(request: web.Request) -> Storage:
    return simulation(request).cluster.storage(request.match_info["storage"])


def _iso_name(request: web.Request) -> str:
    """The file name in a volume id `local:iso/x.iso`; the storage in it must be the one in the path."""
    volume = request.match_info["volume"]
    storage, colon, path = volume.partition(":")
    if not colon:
        storage, path = request.match_info["storage"], volume
    if storage != request.match_info["storage"]:
        raise ParameterError({"volume": f"storage ID mismatch ({storage} != {request.match_info['storage']})"})
    if not path.startswith("iso/"):
        raise NotImplementedByPve(request.method, request.path)
    return path.removeprefix("iso/")


def _described(storage: Storage) -> dict[str, object]:
    return {
        "storage": storage.name,
        "type": storage.kind,
        "content": ",".join(sorted(storage.content)),
        "shared": int(storage.shared),
        "enabled": 1,
        "active": 1,
        "total": 1024 * GIB,
        "used": 0,
        "avail": 1024 * GIB,
        "used_fraction": 0,
    }
