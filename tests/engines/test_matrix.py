"""The breadth of the matrix on real engines: recipes, variants, models with peculiarities, one's own classes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.command_line import Cli
from support.records import ranks_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]

EXAMPLES = Path(__file__).parents[2] / "examples"

PECULIAR = '''
import torch
from paceline.workloads.contract import OptimiserSettings, Workload


class Model(torch.nn.Module):
    """Tied embeddings, a frozen layer, batch statistics, and a buffer that is computed when the model is made."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.frozen = torch.nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.block = torch.nn.Linear(8, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.head = torch.nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, tokens):
        hidden = self.frozen(self.embed(tokens)) * self.scale
        return self.head(self.norm(torch.tanh(self.block(hidden))))


class Peculiar(Workload):
    samples, global_batch = 100, 32
    optimiser = OptimiserSettings(learning_rate=1e-2, weight_decay=0.1, decay_from_dimensions=2)

    def build(self):
        return Model()

    def layers(self, model):
        return [model.block]

    def batch(self, indices):
        tokens = torch.from_numpy(indices % 16)
        return tokens, (tokens * 3 + 1) % 16

    def loss(self, model, batch):
        tokens, following = batch
        return torch.nn.functional.cross_entropy(model(tokens).float(), following)
'''


def comparison(workload: str, engines: str, more: str = "") -> str:
    return f"""
name: matrix
description: part of the matrix
proofs: false
comparisons:
  - category: moderate-complexity
    workload: {workload}
    tier: cpu
    engines: [{engines}]
    ranks: 2
    warm_up_steps: 0
    steps: 11
    {more}
"""


def same_losses(cli: Cli, tolerance: float) -> None:
    for cell in cli.document()["cells"]:
        assert cell["status"] == "ok", cell["cause"]
        difference = cell["same_work"]["max_relative_difference"]
        assert difference is None or difference < tolerance, cell["engine"]


def test_a_peculiar_model_trains_alike_under_every_strategy(cli: Cli) -> None:
    (cli.folder / "peculiar.py").write_text(PECULIAR)
    engines = "torchrun/ddp, torchrun/fsdp2, torchrun/zero2, torchrun/zero3"
    done = cli.suite(comparison("peculiar:Peculiar", engines, "incomplete_batch: pad"))
    assert done.returncode == 0, done.stdout + done.stderr
    same_losses(cli, 1e-5)
    for engine in ("torchrun/ddp", "torchrun/fsdp2", "torchrun/zero3"):
        ((rank, other),) = ranks_of(cli.folder / "run", engine)
        assert rank.live is not None
        assert rank.live.parameters_total == 16 * 8 + 2 * (8 * 8 + 8) + 2 * 8, "a tied weight counts once"
        assert np.mean(rank.losses[-3:]) < rank.losses[0]
        assert rank.samples is not None
        assert other.samples is not None
        assert sum(rank.samples.padded_per_step) + sum(other.samples.padded_per_step) == 3 * 28


@pytest.mark.parametrize("recipe", ["amp", "bf16-master"])
def test_recipes_are_what_they_say(cli: Cli, recipe: str) -> None:
    engines = "torchrun/fsdp2, torchrun/zero2"
    done = cli.suite(comparison("lenet5", engines, f"recipe: {recipe}\n    data: digits"))
    assert done.returncode == 0, done.stdout + done.stderr
    same_losses(cli, 2**-8)
    for engine in engines.split(", "):
        ((rank, _),) = ranks_of(cli.folder / "run", engine)
        assert rank.live is not None
        assert rank.live.compute_dtype == "bfloat16"
        assert rank.live.master_dtype == "float32"
        assert rank.live.optimiser_state_dtype == "float32"


def test_recomputation_changes_memory_not_work(cli: Cli) -> None:
    engines = "torchrun/ddp@recompute, torchrun/zero2@big-buckets"
    done = cli.suite(comparison("decoder", engines, "data: synthetic"), "--set", "steps=4")
    assert done.returncode == 0, done.stdout + done.stderr
    same_losses(cli, 1e-5)


def test_the_example_of_ones_own_workload_runs(cli: Cli) -> None:
    suite = EXAMPLES / "own_workload" / "suite.yaml"
    lines = [x for x in (EXAMPLES / "own_workload" / "spirals.py").read_text().splitlines() if x.strip()]
    assert len(lines) <= 22, "about twenty lines is the promise"
    done = cli("run", suite, "--engines", "torchrun/ddp", "--set", "steps=20", "--out", cli.folder / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = cli.document()["cells"]
    assert cell["workload"] == "spirals:Spirals"
    assert cell["same_work"]["outcome"] == "equal", cell["same_work"]["cause"]
    assert cell["metrics"]["samples_per_s"]["median"] > 0


@pytest.fixture(scope="module")
def own_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example package the way its users would, into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(folder), str(EXAMPLES / "own_engine")], check=True, cwd=folder)
    return folder


def test_ones_own_strategy_and_launcher_stand_beside_the_built_in_ones(cli: Cli, own_engine: Path) -> None:
    path = {"PYTHONPATH": str(own_engine)}
    listed = {row["name"] for row in json.loads(cli("list", "engines", "--json", **path).stdout)}
    assert {"torchrun/all-reduce", "ray-core/all-reduce", "spawn/all-reduce", "spawn/ddp"} <= listed
    assert "deepspeed/all-reduce" not in listed
    suite = EXAMPLES / "own_engine" / "suite.yaml"
    few = ("--engines", "torchrun/ddp,spawn/all-reduce", "--set", "steps=10", "--set", "tier=cpu")
    done = cli("run", suite, *few, "--out", cli.folder / "run", **path)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = cli.document()["cells"]
    assert [cell["same_work"]["outcome"] for cell in cells] == ["equal", "equal"], cells[1]["same_work"]["cause"]
    assert all(cell["same_work"]["steps"] == 12 for cell in cells)
    assert all(cell["same_work"]["max_relative_difference"] < 1e-5 for cell in cells)
    shown = " ".join(cli("show", cli.folder / "run", "--proof", "lenet5").stdout.split())
    assert "single process" in shown
    assert "norm of the gradient that enters the optimiser" in shown
    assert cli("verify", cli.folder / "run").returncode == 0
    (proof,) = cli.folder.glob("run/proofs/proof-*spawn*/proof.json")
    proof.write_text(proof.read_text().replace('"steps": 12', '"steps": 120'))
    assert "steps is 120 in proof.json, the records give 12" in cli("verify", cli.folder / "run").stdout
    ((rank, _),) = ranks_of(cli.folder / "run", "spawn/all-reduce")
    assert rank.live is not None
    assert rank.live.world_size == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("class Peculiar(Workload)", "class Peculiar"), "not a subclass"),
        (("return Model()", "return None"), "build() returned NoneType"),
        (("samples, global_batch = 100, 32", "samples, global_batch = 10, 32"), "at least global_batch"),
        (("return tokens, (tokens * 3 + 1) % 16", "return tokens"), "tuple of tensors"),
        (("import torch\n", "import torsch\n"), "No module named 'torsch'"),
        (("model(tokens).float(), following)", "model(tokens).detach(), following)"), "scalar tensor with a gradient"),
        (("self.frozen(self.embed(tokens))", "self.embed(tokens)"), "ok"),
    ],
)
def test_a_class_that_cannot_work_is_a_bad_request(cli: Cli, change: tuple[str, str], said: str) -> None:
    (cli.folder / "peculiar.py").write_text(PECULIAR.replace(*change))
    (cli.folder / "suite.yaml").write_text(comparison("peculiar:Peculiar", "torchrun/ddp"))
    done = cli("run", "suite.yaml", "--dry-run")
    if said == "ok":
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2
        assert said in done.stderr
    assert sys.modules.get("peculiar") is None
