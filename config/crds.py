"""Pydantic models -> CustomResourceDefinitions.

Our own small generator, not kube-custom-resource: that library makes its base class a run-time dependency of the
models, and has no place for CEL rules on fields, list maps, categories, labels, per-field defaults or a kind without
Age column.
"""

from typing import Any

from provider.api.meta import Column, CustomResource

Json = dict[str, Any]

KEPT_DEFAULTS = (bool, int, str)
"""Types whose defaults the API server fills in; empty lists, maps and texts are left out of stored objects."""


def crd(model: type[CustomResource]) -> Json:
    """The CRD of a kind, keys in a fixed order."""
    kind = model.KIND
    contract = {f"cluster.x-k8s.io/{version}": kind.version for version in ("v1beta1", "v1beta2")}
    version: Json = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _kind_schema(model)},
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
    }
    if kind.status_subresource:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"app.kubernetes.io/name": "pxnet", **contract, **kind.labels},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "categories": ["cluster-api"],
                **({"shortNames": list(kind.short_names)} if kind.short_names else {}),
            },
            "versions": [version],
        },
    }


def _kind_schema(model: type[CustomResource]) -> Json:
    raw = model.model_json_schema(by_alias=True)
    schema = structural(raw, raw.get("$defs", {}))
    schema["properties"] = {
        "apiVersion": {"type": "string", "description": "Version of the schema of this object."},
        "kind": {"type": "string", "description": f"Always {model.KIND.kind}."},
        "metadata": {"type": "object"},
        "spec": schema["properties"]["spec"],
        "status": schema["properties"]["status"],
    }
    schema["required"] = ["spec"]
    return schema


def structural(schema: Json, definitions: Json) -> Json:
    """Pydantic's JSON schema as the API server wants it: no references, no unions with null, no titles."""
    merged = dict(schema)
    if "$ref" in merged:
        target = definitions[merged.pop("$ref").rpartition("/")[2]]
        merged = {**target, **merged}
    if "anyOf" in merged:
        # The only unions in our models are `X | None`: a field that may be left out.
        (choice,) = [item for item in merged.pop("anyOf") if item != {"type": "null"}]
        return structural({**choice, **merged}, definitions)
    for dropped in ("title", "$defs"):
        merged.pop(dropped, None)
    default = merged.get("default")
    if type(default) not in KEPT_DEFAULTS or default == "":
        merged.pop("default", None)
    if "properties" in merged:
        merged["properties"] = {name: structural(item, definitions) for name, item in merged["properties"].items()}
    for nested in ("items", "additionalProperties"):
        if isinstance(merged.get(nested), dict):
            merged[nested] = structural(merged[nested], definitions)
    if "description" in merged:
        # One line a paragraph: `kubectl explain` wraps by itself.
        paragraphs = merged["description"].split("\n\n")
        merged["description"] = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return merged


def _column(column: Column) -> Json:
    written: Json = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.description:
        written["description"] = column.description
    if column.wide:
        written["priority"] = 1
    return written
