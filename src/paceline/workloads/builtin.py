"""The built-in workloads, described without torch. Registered as entry points like anybody's."""

from paceline.workloads.descriptor import WorkloadDescriptor, WorkloadTier

LENET5 = WorkloadDescriptor(
    name="lenet5",
    implementation="paceline.workloads.lenet5:LeNet5Workload",
    modules=("torch", "sklearn"),
    tiers={
        "cpu": WorkloadTier("real", 64, 2.5e6, "61,706 parameters, scikit-learn's digits scaled to 32x32, batch 64"),
        "gpu": WorkloadTier(
            "real", 1024, 2.5e6, "61,706 parameters, scikit-learn's digits scaled to 32x32, batch 1024"
        ),
    },
)

VIT = WorkloadDescriptor(
    name="vit",
    implementation="paceline.workloads.vit:ViTWorkload",
    modules=("torch", "transformers", "sklearn"),
    tiers={
        "cpu": WorkloadTier(
            "real", 16, 2.2e9, "ViT-Tiny, 5.4 M parameters, digits scaled to 64x64x3, patch 8, batch 16"
        ),
        "gpu": WorkloadTier("synthetic", 256, 1.06e11, "ViT-B/16, 86 M parameters, generated 224x224x3, batch 256"),
    },
)

FAKE = WorkloadDescriptor(
    name="fake",
    implementation="paceline.workloads.fake:FakeWorkload",
    modules=(),
    tiers={"cpu": WorkloadTier("synthetic", 32, 1e3, "sample numbers only; for the self-tests of the harness")},
    selftest_only=True,
)
