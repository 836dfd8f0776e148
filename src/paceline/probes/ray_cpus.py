"""``python -m paceline.probes.ray_cpus``: print how many CPUs Ray would take if nobody told it."""

import ray._private.utils

if __name__ == "__main__":
    print(ray._private.utils.get_num_cpus())
