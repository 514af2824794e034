"""Who may do what only a component may: asked of the API server's authorizer, never by name.

The question is about the whole cluster. A tenant may have every right in its own namespace and is refused all the same;
capmox, pxnet, Cluster API's other providers and the platform's admin (a restore, `clusterctl move`) pass.
"""


def may(group: str, plural: str, verb: str, subresource: str = "") -> str:
    """CEL: whether the requester may do this everywhere."""
    part = f".subresource('{subresource}')" if subresource else ""
    return f"authorizer.group('{group}').resource('{plural}'){part}.check('{verb}').allowed()"
