"""Which Proxmox templates tenants may clone: a template's own NICs stay on every machine made from it."""

from typing import Annotated

from pydantic import Field

from provider.api.meta import Model, Schema, validated


def _set(limit: int) -> Schema:
    return Schema(**{"maxItems": limit, "x-kubernetes-list-type": "set"})


class ClonableTemplates(Model):
    """Templates whose own NICs may stay on a tenant's machine, because there are none or they lead nowhere."""

    model_config = validated(
        (
            "(has(self.ids) && size(self.ids) > 0) || (has(self.tags) && size(self.tags) > 0)",
            "name at least one template, by ids or by tags, or leave templates out",
        ),
    )

    ids: Annotated[tuple[Annotated[int, Schema(minimum=100, maximum=999999999)], ...], _set(128)] = Field(
        default=(), description="VMIDs that a machine's templateID may have, at most 128."
    )
    tags: Annotated[
        tuple[Annotated[str, Schema(pattern=r"^[a-z0-9_][a-z0-9_\-\+\.]*$", maxLength=124)], ...], _set(128)
    ] = Field(
        default=(),
        description="Tags, of which a machine's templateSelector must ask for at least one, at most 128. Only the "
        "platform's admin may put them on templates in Proxmox.",
    )
