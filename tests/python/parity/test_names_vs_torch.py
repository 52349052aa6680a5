"""docs/left_out.md names what PyTorch has and strided has not, no more and no less."""

import pytest
import strided
import torch_names

torch = pytest.importorskip("torch")

# What cannot be the same: classes that are made by other means.
PARAMETERS = {
    "torch.enable_grad", "torch.autograd.enable_grad", "torch.autograd.graph.GradientEdge",
    "torch.utils.hooks.RemovableHandle", "torch.jit.Future", "torch.autograd.profiler.FunctionEvent",
    "torch.profiler.tensorboard_trace_handler",
}  # fmt: skip


@pytest.mark.parametrize("place", torch_names.PLACES)
def test_the_page_names_what_is_missing(place):
    missing = torch_names.missing(torch, strided).get(place, set())
    pending = torch_names.listed(torch_names.PENDING).get(place, set())
    assert missing | pending == torch_names.listed().get(place, set())


def test_functions_take_the_same_parameters():
    lacking = {k: v for k, v in torch_names.lacking_parameters(torch, strided).items() if k not in PARAMETERS}
    assert not lacking
