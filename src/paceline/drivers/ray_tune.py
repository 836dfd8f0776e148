"""``python -m paceline.drivers.ray_tune PLAN.json``: run every job of the plan as a Tune trial; Tune places them."""

import sys
from pathlib import Path
from typing import Any

from ray import tune

from paceline.drivers.events import Events
from paceline.drivers.ray_cluster import cluster
from paceline.schema.trial import LoadPlan


def train(config: dict[str, Any]) -> None:
    """Run one rank. Ray Tune executes this function in an actor."""
    import sys
    from time import perf_counter_ns

    started_ns = perf_counter_ns()
    reused = "paceline.rank.entry" in sys.modules

    from paceline.rank.entry import run_rank
    from paceline.strategies.contract import Membership

    run_rank(config["job"]["file"], Membership(reused_process=reused), started_ns)


class WriteReleases(tune.Callback):  # type: ignore[misc]
    """Writes down the release of each job as soon as Tune's controller knows that it has ended."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:  # noqa: ARG002
        """Write down a job that succeeded."""
        self._events.released(trial.config["job"]["id"])

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:  # noqa: ARG002
        """Write down a job that failed."""
        self._events.released(trial.config["job"]["id"], error="the Tune trial failed")


def main(plan_path: str) -> None:
    """Run all jobs, each as one Tune trial; write down when each was submitted and released."""
    plan = LoadPlan.model_validate_json(Path(plan_path).read_text())
    events = Events(plan.events_file)
    resources = {"gpu": 1} if plan.tier == "gpu" else {"cpu": plan.cores_per_rank}
    with cluster(plan):
        events.accepting()
        tuner = tune.Tuner(
            tune.with_resources(train, resources),
            param_space={"job": tune.grid_search([{"id": job.job_id, "file": job.file} for job in plan.jobs])},
            run_config=tune.RunConfig(
                storage_path=str(Path(plan.temp_dir) / "results"), callbacks=[WriteReleases(events)], verbose=0
            ),
        )
        for job in plan.jobs:
            events.submitted(job.job_id)
        tuner.fit()


if __name__ == "__main__":
    main(sys.argv[1])
