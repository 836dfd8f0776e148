"""A custom workload: everything that Paceline needs to know of a plain torch model."""

import torch

from paceline.workloads.contract import OptimiserSettings, Workload


class Spirals(Workload):
    samples, global_batch = 4096, 64
    optimiser = OptimiserSettings(name="adamw", learning_rate=5e-3)

    def build(self):
        return torch.nn.Sequential(torch.nn.Linear(2, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2))

    def batch(self, indices):
        index = torch.from_numpy(indices)
        label, turn = index % 2, (index // 2) / (self.samples / 2)
        angle = 6.28 * turn + 3.14 * label
        return torch.stack([turn * angle.cos(), turn * angle.sin()], dim=1), label

    def loss(self, model, batch):
        points, labels = batch
        return torch.nn.functional.cross_entropy(model(points), labels)
