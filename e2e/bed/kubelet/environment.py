"""A container's environment, command and arguments from its spec. Pure: the caller hands in what references name."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]
REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class MissingReference(Exception):
    """A Secret, ConfigMap or key that the pod needs is not there (yet); the text names it."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` -> its value, `$$` -> `$`; an unknown name stays as it is written."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return "$" if name is None else variables.get(name, match.group(0))

    return REFERENCE.sub(value, text)


def field_value(pod: Object, path: str) -> str:
    """The downward API's `fieldPath` of a pod. Raises MissingReference on a path it does not have."""
    if subscript := SUBSCRIPT.fullmatch(path):
        return str(pod["metadata"].get(subscript.group(1), {}).get(subscript.group(2), ""))
    if path == "status.podIPs":
        return ",".join(entry["ip"] for entry in pod["status"]["podIPs"])
    found: Any = pod
    for step in path.split("."):
        if not isinstance(found, dict) or step not in found:
            raise MissingReference(f"the pod has no field {path}")
        found = found[step]
    return str(found)


def build(
    container: Object,
    pod: Object,
    defaults: Mapping[str, str],
    secrets: Mapping[str, Mapping[str, str]],
    config_maps: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """The variables in order of force: `defaults`, then envFrom, then env (which may use earlier ones as $(NAME)).

    `secrets` and `config_maps` are name -> key -> text. Raises MissingReference unless the reference is optional.
    """
    result = dict(defaults)
    kinds = {"secret": secrets, "configMap": config_maps}
    for source in container.get("envFrom", ()):
        for kind, objects in kinds.items():
            if reference := source.get(f"{kind}Ref"):
                values = objects.get(reference["name"])
                if values is None and not reference.get("optional"):
                    raise MissingReference(f"{kind} {reference['name']} not found")
                result |= {source.get("prefix", "") + key: text for key, text in (values or {}).items()}
    for variable in container.get("env", ()):
        value = _value(variable, pod, kinds)
        if value is not None:
            result[variable["name"]] = expand(value, result)
    return result


def _value(variable: Object, pod: Object, kinds: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str | None:
    origin = variable.get("valueFrom")
    if origin is None:
        return str(variable.get("value", ""))
    if field := origin.get("fieldRef"):
        return field_value(pod, field["fieldPath"])
    for kind, objects in kinds.items():
        if reference := origin.get(f"{kind}KeyRef"):
            values = objects.get(reference["name"], {})
            if reference["key"] in values:
                return values[reference["key"]]
            if reference.get("optional"):
                return None
            raise MissingReference(f"{kind} {reference['name']} with key {reference['key']} not found")
    raise MissingReference(f"variable {variable['name']}: this kubelet does not know {'/'.join(origin)}")


def command_line(container: Object, entrypoint: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """`command` replaces the image's entrypoint, `args` follow it; both have their $(NAME) filled in."""
    command = container.get("command") or list(entrypoint)
    return [expand(word, variables) for word in [*command, *container.get("args", ())]]


def references(pod: Object, containers: Sequence[Object]) -> dict[str, set[str]]:
    """Names of the Secrets and ConfigMaps that variables and volumes use, as {"secret": ..., "configMap": ...}."""
    found: dict[str, set[str]] = {"secret": set(), "configMap": set()}
    for container in containers:
        for variable in container.get("env", ()):
            for kind in found:
                if reference := variable.get("valueFrom", {}).get(f"{kind}KeyRef"):
                    found[kind].add(reference["name"])
        for source in container.get("envFrom", ()):
            for kind in found:
                if reference := source.get(f"{kind}Ref"):
                    found[kind].add(reference["name"])
    for volume in pod["spec"].get("volumes", ()):
        for part in (volume, *volume.get("projected", {}).get("sources", ())):
            if "secret" in part:
                found["secret"].add(part["secret"].get("secretName") or part["secret"]["name"])
            if "configMap" in part:
                found["configMap"].add(part["configMap"]["name"])
    return found
