"""What every kind shares: object metadata, conditions, and how a model says its CRD.

The models read JSON of the API leniently: unknown fields are ignored and limits are not checked again, so an object
that an older or stricter schema let in is still seen and can be reported. The limits live in the CRD alone, as
`Schema` annotations, and the API server enforces them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

GROUP = "proxmox.cozystack.io"
VERSION = "v1alpha1"

JsonSchema = dict[str, Any]


class Schema:
    """Annotation: keywords for the CRD only, like minimum or maxItems; parsing does not look at them."""

    def __init__(self, **keywords: Any) -> None:
        self._keywords = keywords

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return {**handler(core), **self._keywords}


def cel(*rules: tuple[str, str]) -> list[JsonSchema]:
    """Value of x-kubernetes-validations: pairs of a CEL rule and the message that a violation shows."""
    return [{"rule": rule, "message": message} for rule, message in rules]


def keyed(*keys: str, limit: int, **keywords: Any) -> Schema:
    """A list whose entries are told apart by these fields: a second one of the same key is refused."""
    return Schema(
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), "maxItems": limit}, **keywords
    )


class Model(BaseModel):
    """A value as the API writes it: camelCase outside, snake_case inside, frozen."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")

    def to_json(self) -> dict[str, Any]:
        """The JSON of the API, without fields that have no value."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def validated(*rules: tuple[str, str]) -> ConfigDict:
    """Model configuration with CEL rules on the whole object."""
    return ConfigDict(json_schema_extra={"x-kubernetes-validations": cel(*rules)})  # type: ignore[dict-item]


class OwnerReference(Model):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(Model):
    """The part of ObjectMeta that we read."""

    name: str
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: AwareDatetime | None = None
    deletion_timestamp: AwareDatetime | None = None

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`. Wide columns are shown with -o wide only."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """What a CRD says beside its schema."""

    kind: str
    plural: str
    namespaced: bool
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    group: str = GROUP
    version: str = VERSION
    status_subresource: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)


class CustomResource(Model):
    """A kind of object. Subclasses give KIND, spec and status; their docstring is what `kubectl explain` opens with."""

    KIND: ClassVar[Kind]

    metadata: Metadata


READY_COLUMN = Column(
    "Ready",
    '.status.conditions[?(@.type=="Ready")].status',
    description="True when everything below it is in place; the condition's message says what is missing.",
)
REASON_COLUMN = Column(
    "Reason",
    '.status.conditions[?(@.type=="Ready")].reason',
    description="Why Ready is what it is, in one word.",
    wide=True,
)
MESSAGE_COLUMN = Column(
    "Message",
    '.status.conditions[?(@.type=="Ready")].message',
    description="The same in full: what is missing, or who is waited for.",
    wide=True,
)
AGE_COLUMN = Column("Age", ".metadata.creationTimestamp", "date", "Time since creation.")


class Condition(Model):
    """One statement about the object, with its reason and the generation of the spec that it speaks of."""

    type: Annotated[str, Schema(minLength=1, maxLength=316)] = Field(
        description="What the statement is about, in CamelCase, for instance Ready."
    )
    status: Annotated[str, Schema(enum=["True", "False", "Unknown"])] = Field(
        description="True, False, or Unknown when it could not be found out."
    )
    reason: Annotated[str, Schema(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")] = (
        Field(description="The cause in one CamelCase word, for programs.")
    )
    message: Annotated[str, Schema(maxLength=32768)] = Field(
        default="", description="The cause and what to do about it, for people. May be empty when the status is True."
    )
    last_transition_time: AwareDatetime = Field(description="When the status last changed from one value to another.")
    observed_generation: Annotated[int | None, Schema(minimum=0)] = Field(
        default=None,
        description="metadata.generation that this statement was made for; older than the object's = stale.",
    )


Conditions = Annotated[tuple[Condition, ...], keyed("type", limit=32)]

ObservedGeneration = Annotated[int | None, Schema(minimum=0)]
OBSERVED_GENERATION = "metadata.generation that the whole status was made for; older than the object's = not seen yet."
MAX_COUNT = (1 << 63) - 1
"""Counts of addresses in a status end here: a /48 has more than fit into 64 bits."""

Count = Annotated[int, Schema(minimum=0, format="int64")]
