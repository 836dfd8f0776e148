"""Finding and reading suites: built-in by name, anybody's by file. Every error names the key and the fix."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from paceline.errors import RequestError, nearest
from paceline.schema.suite import Comparison, Expectation, Load, Peak, Suite, Variant

_MODELS: tuple[type[BaseModel], ...] = (Suite, Comparison, Load, Peak, Expectation, Variant)
_BUILT_IN = files("paceline") / "suites"


def built_in_suites() -> list[str]:
    """Return the names of the suites that come with Paceline."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _BUILT_IN.iterdir() if entry.name.endswith(".yaml"))


def load_suite(name: str) -> Suite:
    """Return a built-in suite, or the one in a YAML file. Raises RequestError."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        try:
            text = path.read_text()
        except FileNotFoundError:
            raise RequestError(f"suite file {name} does not exist") from None
        except (OSError, UnicodeDecodeError) as error:
            raise RequestError(f"suite file {name} cannot be read: {error}") from error
        return _at_home(parse_suite(text, name), path.resolve().parent)
    if name not in built_in_suites():
        raise RequestError(
            f"unknown suite {name!r}: {nearest(name, built_in_suites())}; or give a file ending in .yaml"
        )
    return parse_suite((_BUILT_IN / f"{name}.yaml").read_text(), name)


def _at_home(suite: Suite, folder: Path) -> Suite:
    """Return the suite with files that it names read, and its folder as a place for the user's modules."""
    variants = {name: _with_settings_file(name, variant, folder) for name, variant in suite.variants.items()}
    return suite.model_copy(update={"import_path": str(folder), "variants": variants})


def _with_settings_file(name: str, variant: Variant, folder: Path) -> Variant:
    if variant.settings_file is None:
        return variant
    path = folder / variant.settings_file
    try:
        settings = json.loads(path.read_text())
    except OSError as error:
        raise RequestError(f"variant {name!r}: settings_file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RequestError(f"variant {name!r}: settings_file {path} is not JSON: {error}") from error
    return variant.model_copy(update={"settings": {**settings, **variant.settings}, "settings_file": None})


def parse_suite(text: str, source: str) -> Suite:
    """Return the suite in a YAML text. Raises RequestError that names the key, the value and the fix."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RequestError(f"suite {source} is not YAML: {str(error).replace(chr(10), ' ')}") from error
    if not isinstance(data, dict):
        raise RequestError(f"suite {source} is not a mapping with name, description and comparisons")
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        raise RequestError(f"suite {source}: " + "; ".join(_explain(e) for e in error.errors()[:3])) from error


def override(suite: Suite, assignments: tuple[str, ...]) -> Suite:
    """Return the suite with ``key=value`` applied: a key of the suite, of all comparisons, or a dotted path.

    Raises RequestError for an unknown key or a value that does not fit.
    """
    data = suite.model_dump(mode="json")
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise RequestError(f"--set {assignment!r} is not of the form key=value")
        try:
            parsed = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise RequestError(f"--set {key}: {value!r} is not a YAML value") from error
        _assign(data, key, parsed)
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        raise RequestError("--set: " + "; ".join(_explain(e) for e in error.errors()[:3])) from error


def _assign(data: dict[str, Any], key: str, value: Any) -> None:
    if "." not in key and key in Comparison.model_fields and key not in Suite.model_fields:
        for comparison in data["comparisons"]:
            comparison[key] = value
        return
    place: Any = data
    *parts, last = key.split(".")
    for part in parts:
        place = _step_into(place, part, key)
    if isinstance(place, dict) and (last in place or place is not data):
        place[last] = value
        return
    raise RequestError(f"--set {key}: {nearest(last, [*Suite.model_fields, *Comparison.model_fields])}")


def _step_into(place: Any, part: str, key: str) -> Any:
    try:
        return place[int(part)] if isinstance(place, list) else place[part]
    except (KeyError, IndexError, ValueError, TypeError):
        known = [str(i) for i in range(len(place))] if isinstance(place, list) else list(place)
        raise RequestError(f"--set {key}: there is no {part!r}: {nearest(part, known)}") from None


def _explain(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        return f"unknown key {where}: {nearest(key, _sibling_keys(error['loc']))}"
    if error["type"] == "missing":
        return f"key {where} is missing"
    return f"{where or 'suite'} is {error['input']!r}: {error['msg']}"


def _sibling_keys(location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are known where an unknown one stood."""
    model: type[BaseModel] = Suite
    for part in location[:-1]:
        field = model.model_fields.get(str(part))
        for candidate in _nested(field.annotation if field else None):
            model = candidate
    return list(model.model_fields)


def _nested(annotation: Any) -> list[type[BaseModel]]:
    if annotation in _MODELS:
        return [annotation]
    return [model for argument in get_args(annotation) for model in _nested(argument)]
