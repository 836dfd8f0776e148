"""What a suite file may hold: a mistake or an attack gets one line that names it, at once, and nothing is planned."""

from pathlib import Path

import pytest

from paceline.conductor.machine.inventory import inspect_machine
from paceline.conductor.planning import suites
from paceline.conductor.planning.filters import Filters, select
from paceline.conductor.planning.plan import make_plan
from paceline.conductor.planning.request import Request, default_directory, new_run, planned
from paceline.conductor.planning.suites import built_in_suites, load_suite, override, parse_suite
from paceline.conductor.planning.workload_facts import described_workloads
from paceline.errors import RequestError, nearest, quoted, shown
from paceline.schema.conditions import Conditions
from paceline.schema.suite import MAX_BLOCKS, MAX_TRIALS, Suite
from paceline.store.run_directory import RunDirectory
from support.builders import fake_suite

ROOT = Path(__file__).parents[3]
SUITE_FILES = [*(ROOT / "examples").glob("*/suite.yaml"), *(ROOT / "benchmarks").glob("*.yaml")]
PLAIN = fake_suite("{}")
LONGEST_MESSAGE = 900
"""Five faults of one line each."""


def refusal(text: str) -> str:
    """Return the message that a suite is refused with."""
    with pytest.raises(RequestError) as caught:
        parse_suite(text, "test")
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert len(message) < LONGEST_MESSAGE
    return message


@pytest.mark.parametrize("suite", [*built_in_suites(), *map(str, SUITE_FILES)])
def test_every_suite_that_comes_along_is_accepted(suite: str) -> None:
    assert len(SUITE_FILES) == 3
    assert isinstance(load_suite(suite), Suite)


def test_unknown_keys_are_named_before_missing_ones_and_bad_values() -> None:
    text = """
descriptoin: misspelt
blocks: many
comparisons:
  - catgory: high-load
    wrkload: lenet5
    engines: [torchrun/ddp]
    step: 3
"""
    message = refusal(text)
    assert "unknown key descriptoin: did you mean 'description'?" in message
    assert "unknown key comparisons.0.catgory: did you mean 'category'?" in message
    assert message.index("unknown key comparisons.0.step") < message.index("is missing")
    assert message.endswith("; and 5 more")  # four unknown, five missing and one bad value, of which five are told
    assert "blocks" not in message


def test_faults_that_were_cut_are_counted() -> None:
    message = refusal("name: x\ncomparisons: [{}]\nblocks: many")
    assert message == (
        "suite test: key description is missing; key comparisons.0.category is missing; key comparisons.0.workload is "
        "missing; key comparisons.0.engines is missing; key comparisons.0.steps is missing; and 1 more"
    )


def test_all_that_a_value_might_have_been_is_told_once() -> None:
    message = refusal(PLAIN.replace("ranks: 2", "ranks: two"))
    assert message.count("ranks") == 1
    assert "comparisons.0.ranks is 'two': Input should be a valid integer" in message
    assert "or Input should be 'all'" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blocks: 1\nname: x\nblocks: 8", "key blocks stands twice, on lines 1 and 3"),
        (PLAIN.replace("steps: 3", 'steps: 3\n    "steps": 4'), "key steps stands twice, on lines 14 and 15"),
        (PLAIN.replace("ranks: 2", "load: {jobs: 1, jobs: 1000}"), "key jobs stands twice, on lines 12 and 12"),
        ("a: &a {x: 1}\nb: &b {y: 1}\nc:\n  <<: *a\n  <<: *b", "key << stands twice, on lines 4 and 5"),
    ],
)
def test_a_key_that_stands_twice_is_refused(text: str, said: str) -> None:
    assert said in refusal(text)


def test_a_merged_key_may_be_overridden() -> None:
    second = PLAIN[PLAIN.index("  - category") :].replace("- category", "- &first\n    category")
    text = (
        PLAIN[: PLAIN.index("  - category")] + second + "\n  - <<: *first\n    steps: 7\n  - {<<: *first, steps: 9}\n"
    )
    assert [comparison.steps for comparison in parse_suite(text, "test").comparisons] == [3, 7, 9]


def bomb(item: str, levels: int = 30) -> str:
    """Return aliases to aliases: each line stands for ten times what the line before it does."""
    lines = [f"a0: &a0 {item}"]
    for level in range(1, levels):
        many = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} {{<<: [{many}]}}" if item == "{x: 1}" else f"a{level}: &a{level} [{many}]")
    return "\n".join(lines)


@pytest.mark.parametrize("item", ["[ha]", "{x: 1}"])
def test_aliases_without_bound_are_refused(item: str) -> None:
    assert "holds more than 500,000 values once its aliases" in refusal(bomb(item))


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {c: *a}}", "&a {<<: *a}"])
def test_an_alias_within_what_it_stands_for_is_refused(text: str) -> None:
    assert "line 1: what is anchored here (&name) holds itself" in refusal(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000])
def test_bottomless_nesting_is_refused(text: str) -> None:
    assert "nested too deeply" in refusal(text)


@pytest.mark.parametrize(
    "text",
    ["a: !!int x", "a: !!float ''", "a: !!bool x", "a: 2026-13-45", "a: !mine x", "a: *b", "{[a]: b}", "\0", "- {"],
)
def test_what_yaml_stumbles_over_is_told_on_one_line(text: str) -> None:
    assert "suite test is not YAML" in refusal(text)


def test_a_plain_suite_of_thousands_of_comparisons_loads() -> None:
    head, one = PLAIN[: PLAIN.index("  - category")], PLAIN[PLAIN.index("  - category") :]
    assert len(parse_suite(head + one * 2000, "test").comparisons) == 2000


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("#" * (suites.MAX_SUITE_BYTES + 1))
    with pytest.raises(RequestError, match="larger than 2 MiB"):
        load_suite(str(tmp_path / "suite.yaml"))


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\xfe", "is not UTF-8 text"), (None, "cannot be read: Is a directory")]
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "suite.yaml"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(RequestError, match=said):
        load_suite(str(path))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("blocks", "1000000", "less than or equal to 1000"),
        ("minimum_blocks", "1000000", "less than or equal to 1000"),
        ("load", "{jobs: 1000000}", "less than or equal to 10000"),
        ("ranks", "1000000", "less than or equal to 4096"),
        ("ranks", "0", "greater than or equal to 1"),
        ("steps", "1000000000", "less than or equal to 1000000"),
        ("warm_up_steps", "1000000000", "less than or equal to 1000000"),
        ("global_batch", "1000000000", "less than or equal to 1000000"),
        ("accumulation", "1000000000", "less than or equal to 1000000"),
        ("samples", "1000000000000", "less than or equal to 1000000000"),
        ("timeout_s", ".inf", "finite number"),
        ("timeout_s", ".nan", "finite number"),
        ("timeout_s", "1000000", "less than or equal to 604800"),
        ("peak", "{flops_per_s: .inf, source: -}", "finite number"),
        ("expect", "{torchrun/ddp: [{metric: step_p50_s, value: .nan}]}", "finite number"),
        ("expect", "{torchrun/ddp: [{metric: step_p50_s, at_least: -.inf}]}", "finite number"),
        ("expect", "{torchrun/ddp: [{metric: step_p50_s, value: 1, within: .inf}]}", "finite number"),
        ("variants", "{v: {settings: {a: [.inf]}}}", "cannot be handed on as JSON"),
        ("variants", "{v: {settings: {a: 2026-01-01}}}", "cannot be handed on as JSON"),
        ("variants", "{v: {launcher: {a: .nan}}}", "cannot be handed on as JSON"),
        ("variants", "{v: {cores_per_rank: 0}}", "greater than or equal to 1"),
    ],
)
def test_numbers_have_bounds_and_are_finite(key: str, value: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        override(load_suite("quick"), (f"{key}={value}",))


def test_blocks_on_the_command_line_are_bounded_too() -> None:
    with pytest.raises(RequestError, match=f"--blocks 1001 is not between 1 and {MAX_BLOCKS}"):
        planned(Request("quick", blocks=MAX_BLOCKS + 1))


def test_a_plan_of_too_many_trials_is_refused_by_its_numbers() -> None:
    head, one = PLAIN[: PLAIN.index("  - category")], PLAIN[PLAIN.index("  - category") :]
    suite = parse_suite(head + "".join(one + f"    title: t{i}\n" for i in range(101)), "test")
    suite = suite.model_copy(update={"blocks": MAX_BLOCKS})
    with pytest.raises(RequestError, match=f"101,000 trials .1,000 blocks of 101 engines., more than {MAX_TRIALS:,}"):
        make_plan(suite, described_workloads(suite), inspect_machine(), Conditions(), 0)


@pytest.mark.parametrize(
    "name", ["../up", "a/b", '"a\\0b"', ".hidden", "..", '"a\\nb"', '"a\\eb"', "two words", "-rf", "''", "a" * 65]
)
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    assert "letters, digits, dots, dashes and underscores" in refusal(PLAIN.replace("name: test", f"name: {name}"))


@pytest.mark.parametrize("name", ["../up", "a/b", '"a\\0b"', ".hidden", '"a\\eb"', "Big", "small_buckets", "a" * 65])
def test_a_variant_that_no_engine_can_name_is_refused(name: str) -> None:
    message = refusal(PLAIN.replace("variants:", f"variants:\n  {name}: {{}}"))
    assert "[key]" not in message
    assert "variants.../up" not in message
    assert "small letters, digits and dashes" in message
    assert message.isprintable()


def test_a_run_is_named_after_its_suite() -> None:
    run = new_run(planned(Request("quick", Filters(engines=("torchrun/ddp",)))), print)
    named = run.model_copy(update={"suite": run.suite.model_copy(update={"name": "mine.v1.2"})})
    assert default_directory(named).name.startswith("mine.v1.2-")


@pytest.mark.parametrize("workload", ['"a\\0:b"', "../../a:B", "''", "a b"])
def test_a_workload_is_a_name_or_a_class(workload: str) -> None:
    assert "workload" in refusal(PLAIN.replace("workload: fake", f"workload: {workload}"))


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("fake/fake@one", LONG),
        PLAIN.replace("fake/fake@one", f"{LONG}/fake"),
        PLAIN.replace("name: test", f"name: {LONG}"),
        PLAIN.replace("name: test", f"name: test\n? {LONG}\n: 1"),
        PLAIN.replace("name: test", f"name: test\nblocks: {LONG}"),
        PLAIN.replace("ranks: 2", f"ranks: {LONG}"),
        PLAIN.replace("steps: 3", f"steps: 3\n    data: {LONG}"),
        PLAIN.replace("steps: 3", f'steps: 3\n    peak: "{LONG}\\n{LONG}"'),
        f"a: !{LONG} b",
        f"? {LONG}\n: 1\n? {LONG}\n: 2",
        PLAIN.replace("one:", f"? {LONG}\n  :"),
    ],
)
def test_however_long_a_value_its_message_is_one_line(text: str) -> None:
    assert "xxx..." in refusal(text)


@pytest.mark.parametrize("name", [LONG, f"{LONG}.yaml", "a\nb", f"{'d/' * 3000}.yaml"])
def test_however_long_the_name_of_a_suite_its_message_is_one_line(name: str) -> None:
    with pytest.raises(RequestError) as caught:
        load_suite(name)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < LONGEST_MESSAGE


@pytest.mark.parametrize(
    "assignment",
    [
        LONG,
        f"{LONG}=1",
        f"blocks={LONG}",
        f"comparisons.{LONG}=1",
        f"comparisons.0.{LONG}=1",
        "blocks=[1, 2",
        "blocks={a: 1, a: 2}",
        f"blocks={bomb('[ha]')}",
        "name=../x",
    ],
)
def test_a_wrong_assignment_gets_one_line(assignment: str) -> None:
    with pytest.raises(RequestError, match="--set") as caught:
        override(load_suite("quick"), (assignment,))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < LONGEST_MESSAGE


@pytest.mark.parametrize(
    "filters",
    [
        Filters(engines=(LONG,)),
        Filters(engines=(f"a/{'b' * 60}",)),
        Filters(workloads=(LONG,)),
        Filters(category=LONG),
    ],
)
def test_a_wrong_filter_gets_one_line(filters: Filters) -> None:
    with pytest.raises(RequestError) as caught:
        select(load_suite("full"), filters)
    assert len(str(caught.value)) < LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1, 2]", "is not a JSON object"),
        ("{", "is not JSON"),
        ('{"a": NaN}', "cannot be handed on as JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_settings_file_is_checked_like_settings(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "settings.json").write_text(content)
    text = PLAIN.replace("one: {settings: {}}", "one: {settings_file: settings.json}")
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(RequestError, match=said):
        load_suite(str(tmp_path / "suite.yaml"))


def test_quoting_keeps_short_values_and_cuts_long_ones() -> None:
    assert quoted("a\nb") == r"'a\nb'"
    assert quoted("x" * 100) == "'" + "x" * 76 + "..."
    assert shown("plain") == "plain"
    assert shown("a\x1b[31m") == r"'a\x1b[31m'"
    assert nearest("zz", [f"name{i:03}" for i in range(30)]).endswith("name023 and 6 more")


def test_a_stored_run_is_read_whatever_its_suite_was_called(tmp_path: Path) -> None:
    run = new_run(planned(Request("quick", Filters(engines=("torchrun/ddp",)))), print)
    older = run.model_copy(update={"suite": run.suite.model_copy(update={"name": "my old suite"})})
    assert RunDirectory.create(tmp_path / "run", older).run().suite.name == "my old suite"
