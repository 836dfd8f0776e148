"""The built-in workloads, described without torch. Entry points register them, as for workloads of other packages."""

from paceline.workloads.datasets import GENERATED
from paceline.workloads.descriptor import WorkloadDescriptor, WorkloadTier

_IMAGES = ("fashion-mnist", "digits")

LENET5 = WorkloadDescriptor(
    name="lenet5",
    implementation="paceline.workloads.lenet5:LeNet5Workload",
    modules=("torch", "sklearn"),
    tiers={
        "cpu": WorkloadTier(_IMAGES, 64, 2.5e6, "61,706 parameters, images scaled to 32x32"),
        "gpu": WorkloadTier(_IMAGES, 1024, 2.5e6, "61,706 parameters, images scaled to 32x32"),
    },
)

VIT = WorkloadDescriptor(
    name="vit",
    implementation="paceline.workloads.vit:ViTWorkload",
    modules=("torch", "transformers", "sklearn"),
    tiers={
        "cpu": WorkloadTier(("digits",), 16, 2.2e9, "ViT-Tiny, 5.4 M parameters, images scaled to 64x64x3, patch 8"),
        "gpu": WorkloadTier((GENERATED,), 256, 1.06e11, "ViT-B/16, 86 M parameters, 224x224x3"),
    },
)

RESNET = WorkloadDescriptor(
    name="resnet",
    implementation="paceline.workloads.resnet:ResNetWorkload",
    modules=("torch", "transformers", "sklearn"),
    tiers={
        "cpu": WorkloadTier(_IMAGES, 32, 8.7e8, "ResNet-18, 11.2 M parameters, images scaled to 64x64x3"),
        "gpu": WorkloadTier((GENERATED,), 256, 2.46e10, "ResNet-50, 25.6 M parameters, 224x224x3"),
    },
)

DECODER = WorkloadDescriptor(
    name="decoder",
    implementation="paceline.workloads.decoder:DecoderWorkload",
    modules=("torch", "transformers"),
    tiers={
        "cpu": WorkloadTier(("python-stdlib",), 8, 3.9e9, "LLaMA-style, 4.9 M parameters, sequences of 128 bytes"),
        "gpu": WorkloadTier(("python-stdlib",), 16, 7.2e12, "LLaMA-style, 1.07 B parameters, sequences of 1,024 bytes"),
    },
)

FAKE = WorkloadDescriptor(
    name="fake",
    implementation="paceline.workloads.fake:FakeWorkload",
    modules=(),
    tiers={"cpu": WorkloadTier((GENERATED,), 32, 1e3, "sample numbers only; for the self-tests of the harness")},
    selftest_only=True,
)
