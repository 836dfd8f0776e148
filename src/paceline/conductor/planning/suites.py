"""Finding and reading suites: built-in by name, anybody's by file. Every error names the key and the fix."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from paceline.errors import RequestError, nearest, one_line, quoted, shown
from paceline.schema.conditions import MIB
from paceline.schema.suite import Comparison, Expectation, Load, Peak, Suite, Variant

_MODELS: tuple[type[BaseModel], ...] = (Suite, Comparison, Load, Peak, Expectation, Variant)
_BUILT_IN = files("paceline") / "suites"

MAX_SUITE_BYTES = 2 * MIB
"""About ten thousand comparisons; PyYAML takes ten seconds to read them."""
MAX_VALUES = 500_000
"""Twice what the largest file of plain comparisons holds; checking and planning walk every one of them."""
MAX_FAULTS = 5
"""Told at once; further ones are counted."""
PATH_CHARACTERS = 300
MESSAGE_CHARACTERS = 300


def built_in_suites() -> list[str]:
    """Return the names of the suites that come with Paceline."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _BUILT_IN.iterdir() if entry.name.endswith(".yaml"))


def load_suite(name: str) -> Suite:
    """Return a built-in suite, or the one in a YAML file. Raises RequestError."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or _is_file(path):
        return _at_home(parse_suite(_text(path), name), path.resolve().parent)
    if name not in built_in_suites():
        raise RequestError(
            f"unknown suite {quoted(name)}: {nearest(name, built_in_suites())}; or give a file ending in .yaml"
        )
    return parse_suite((_BUILT_IN / f"{name}.yaml").read_text(), name)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for any file
        return False


def _text(path: Path) -> str:
    name = shown(str(path), PATH_CHARACTERS)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SUITE_BYTES + 1)
        if len(content) <= MAX_SUITE_BYTES:
            return content.decode()
    except FileNotFoundError:
        raise RequestError(f"suite file {name} does not exist") from None
    except OSError as error:
        raise RequestError(f"suite file {name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"suite file {name} is not UTF-8 text: {error}") from error
    raise RequestError(f"suite file {name} is larger than {MAX_SUITE_BYTES // MIB} MiB: split it into several suites")


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
    except (ValueError, RecursionError) as error:
        raise RequestError(f"variant {name!r}: settings_file {path} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise RequestError(f"variant {name!r}: settings_file {path} is not a JSON object of settings")
    whole = {**variant.model_dump(), "settings": {**settings, **variant.settings}, "settings_file": None}
    try:
        return Variant.model_validate(whole)
    except ValidationError as error:
        raise RequestError(f"variant {name!r}: settings_file {path}: {_faults(error, whole)}") from error


def parse_suite(text: str, source: str) -> Suite:
    """Return the suite in a YAML text. Raises RequestError that names the key, the value and the fix."""
    source = shown(source, PATH_CHARACTERS)
    data = _read_yaml(text, f"suite {source}")
    if not isinstance(data, dict):
        raise RequestError(f"suite {source} is not a mapping with name, description and comparisons")
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        raise RequestError(f"suite {source}: {_faults(error, data)}") from error


def _read_yaml(text: str, what: str) -> Any:
    """Return what a YAML text says. Raises RequestError, also where YAML by itself would be silent or never end."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        _written_out(root, {}, what)
        return loader.construct_document(root)
    except RequestError:
        raise
    except RecursionError as error:
        raise RequestError(f"{what} is nested too deeply: a suite needs about six levels") from error
    except Exception as error:  # PyYAML's constructors let out whatever a value like `!!int x` makes Python raise
        raise RequestError(f"{what} is not YAML: {one_line(str(error), MESSAGE_CHARACTERS)}") from error


def _written_out(node: yaml.Node, counts: dict[int, int | None], what: str) -> int:
    """Return how many values a node holds once its aliases are written out, each counted as often as it is named.

    Raises RequestError for a key that stands twice in one mapping, for an alias within what it stands for, and for too
    many values: ten lines of aliases to aliases can stand for billions, which everything that follows would walk.
    """
    if id(node) in counts:
        known = counts[id(node)]
        if known is None:
            raise RequestError(f"{what}, line {node.start_mark.line + 1}: what is anchored here (&name) holds itself")
        return known
    counts[id(node)] = None
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        _refuse_twice(node, what)
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    count = 1 + sum(_written_out(part, counts, what) for part in parts)
    if count > MAX_VALUES:
        raise RequestError(f"{what} holds more than {MAX_VALUES:,} values once its aliases (*name) are written out")
    counts[id(node)] = count
    return count


def _refuse_twice(mapping: yaml.MappingNode, what: str) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        this, line = (key.tag, key.value), key.start_mark.line + 1
        if this in lines:
            raise RequestError(f"{what}: key {shown(key.value)} stands twice, on lines {lines[this]} and {line}")
        lines[this] = line


def override(suite: Suite, assignments: tuple[str, ...]) -> Suite:
    """Return the suite with ``key=value`` applied: a key of the suite, of all comparisons, or a dotted path.

    Raises RequestError for an unknown key or a value that does not fit.
    """
    data = suite.model_dump(mode="json")
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise RequestError(f"--set {quoted(assignment)} is not of the form key=value")
        _assign(data, key, _read_yaml(value, f"--set {shown(key)}: {quoted(value)}"))
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        raise RequestError(f"--set: {_faults(error, data)}") from error


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
    raise RequestError(f"--set {shown(key)}: {nearest(last, [*Suite.model_fields, *Comparison.model_fields])}")


def _step_into(place: Any, part: str, key: str) -> Any:
    try:
        return place[int(part)] if isinstance(place, list) else place[part]
    except (KeyError, IndexError, ValueError, TypeError):
        known = [str(i) for i in range(len(place))] if isinstance(place, list) else list(place)
        raise RequestError(f"--set {shown(key)}: there is no {quoted(part)}: {nearest(part, known)}") from None


def _faults(error: ValidationError, data: Any) -> str:
    """Return what is wrong on one line: unknown keys first, because a misspelt one explains a missing one."""
    order = {"extra_forbidden": 0, "missing": 1}
    complaints_by_subject: dict[str, list[str]] = {}
    faults = error.errors(include_url=False)
    holders = {fault["loc"][:depth] for fault in faults for depth in range(len(fault["loc"]))}
    for fault in sorted(faults, key=lambda fault: order.get(fault["type"], 2)):
        if fault["type"] == "too_short" and fault["loc"] in holders:
            continue  # the list is short only of the items that are faulty themselves
        subject, *complaint = _explain(fault, data)
        complaints_by_subject.setdefault(subject, []).extend(complaint)
    sentences = [
        f"{subject}: {' or '.join(complaints)}" if complaints else subject
        for subject, complaints in complaints_by_subject.items()
    ]
    more = [f"and {len(sentences) - MAX_FAULTS} more"] if len(sentences) > MAX_FAULTS else []
    return "; ".join(sentences[:MAX_FAULTS] + more)


def _explain(fault: Any, data: Any) -> tuple[str, ...]:
    """Return one fault: what is wrong, or its subject and a complaint, which is joined with others of that subject."""
    where = ".".join(_path(fault["loc"], data)) or "suite"
    if fault["type"] == "extra_forbidden":
        return (f"unknown key {where}: {nearest(str(fault['loc'][-1]), _sibling_keys(fault['loc']))}",)
    if fault["type"] == "missing":
        return (f"key {where} is missing",)
    complaint = fault["msg"].removeprefix("Value error, ")
    # A whole mapping is no help to find a fault by: its place says enough.
    return (where if isinstance(fault["input"], dict | list) else f"{where} is {quoted(fault['input'])}", complaint)


def _path(location: tuple[int | str, ...], data: Any) -> list[str]:
    """Return the parts of a location that the suite has; pydantic appends which form of a value it tried."""
    parts = []
    for part in location:
        if not isinstance(data, dict | list) or part == "[key]":
            break
        parts.append(quoted(part) if "." in str(part) else shown(str(part)))
        try:
            data = data[part]  # type: ignore[index]
        except (LookupError, TypeError):
            break
    return parts


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
