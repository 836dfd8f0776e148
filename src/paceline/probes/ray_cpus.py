"""``python -m paceline.probes.ray_cpus``: print how many CPUs Ray takes when it is started without ``num_cpus``."""

import ray._private.utils

if __name__ == "__main__":
    print(ray._private.utils.get_num_cpus())
