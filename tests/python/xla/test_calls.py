"""Calls are found again by their numbers (Note [Calls] in csrc/xla/calls.h): what may not be taken for the same."""

from __future__ import annotations

import pytest
import strided as torch
from xla_calls import metrics


def compiled():
    return metrics.counter_value("UncachedCompile")


def test_numbers_are_no_part_of_a_call_but_zero_and_one_are():
    x = torch.arange(4.0)
    d = x.to("xla")
    for number in (0.5, 1.0, 0.0, 0.25, -0.0, 1.0, 0.5, float("nan")):
        assert torch.equal((d * number + number).cpu().nan_to_num(7), (x * number + number).nan_to_num(7))
    before = compiled()
    assert (d * 0.75 + 0.75).cpu().tolist() == (x * 0.75 + 0.75).tolist()
    assert compiled() == before


@pytest.mark.parametrize("slope", [0.1, 0.3, 0.1, 1.0])
def test_parameters_of_an_operation_are_part_of_a_call(slope):
    x = torch.tensor([-2.0, 3.0])
    got = torch.nn.functional.leaky_relu(x.to("xla"), slope)
    assert torch.equal(got.cpu(), torch.nn.functional.leaky_relu(x, slope))


def test_operands_of_one_storage_are_told_from_operands_of_two():
    for same in (False, True, False):
        a = torch.arange(6.0).to("xla")
        b = a if same else torch.ones(6).to("xla")
        a[:3] += b[3:]
        want = torch.arange(6.0)
        want[:3] += want[3:] if same else 1
        assert a.cpu().tolist() == want.tolist()


def test_a_result_that_is_written_in_parts_keeps_the_others():
    for start in (0.0, 5.0):
        a = torch.full((2, 3), start).to("xla")
        a[0].mul_(2).add_(1)
        a[:, 1] = torch.tensor([7.0, 8.0]).to("xla")
        want = torch.full((2, 3), start)
        want[0].mul_(2).add_(1)
        want[:, 1] = torch.tensor([7.0, 8.0])
        assert torch.equal(a.cpu(), want)


def test_storages_that_were_freed_and_used_again():
    total = torch.zeros(8).to("xla")
    for i in range(20):
        t = torch.full((8,), float(i)).to("xla")
        total += t * t
        del t
    assert total.cpu().tolist() == [float(sum(i * i for i in range(20)))] * 8


def test_one_storage_in_two_dtypes():
    x = torch.tensor([1.0, -2.0]).to("xla")
    for _ in range(2):
        assert (x.view(torch.int32) + 0).cpu().tolist() == x.cpu().view(torch.int32).tolist()
        x.view(torch.int32).bitwise_xor_(torch.tensor(-(2**31), dtype=torch.int32).to("xla"))
    assert x.cpu().tolist() == [1.0, -2.0]


def test_more_operands_than_a_call_has():
    parts = [torch.full((2,), float(i)) for i in range(30)]
    for _ in range(2):
        assert torch.equal(torch.cat([p.to("xla") for p in parts]).cpu(), torch.cat(parts))


def test_each_call_has_its_own_check():
    t, good, bad = (v.to("xla") for v in (torch.arange(4.0), torch.tensor([1, 2]), torch.tensor([1, 9])))
    for _ in range(2):
        assert t[good].cpu().tolist() == [1.0, 2.0]
        with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 4"):
            t[bad].cpu()
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            torch.gather(t, 0, bad).cpu()
    assert t[good].cpu().tolist() == [1.0, 2.0]


def test_the_first_call_and_later_ones_lead_to_one_program():
    x, w = torch.rand(8, 4).to("xla"), torch.rand(4, 3).to("xla")

    def step():
        y = torch.softmax(x @ w, 1)
        return y.amax(0).sum().item()

    step()
    before = compiled()
    assert step() == step()
    assert compiled() == before
