"""Label selectors: whether a namespace is one that a zone selects."""

from collections.abc import Mapping

from provider.api.on_demand import LabelRequirement, LabelSelector


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """No selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    fixed = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return fixed and all(_holds(each, labels) for each in selector.match_expressions)


def _holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False  # an operator of a newer API: nobody is let in by what is not understood
