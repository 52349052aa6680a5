"""Recurrent networks as modules (``strided.nn.modules.rnn``)."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import TYPE_CHECKING

import strided

from .. import init
from ..functional import _rnn
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

if TYPE_CHECKING:
    from ..._typing import Any, Device, DType, Tensor

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _autocast(device: str) -> bool:
    return device in ("cpu", "cuda") and strided.is_autocast_enabled(device)


class RNNBase(Module):
    """What RNN, LSTM and GRU have in common.

    Args:
        mode: 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU'. input_size, hidden_size: features of input and state.
        num_layers: layers on top of each other. batch_first: input is (batch, length, features).
        dropout: probability between layers. bidirectional: a second network reads from the end.
        proj_size: LSTM only: features of the output, if not those of the state.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check(dropout)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        made = {"device": device, "dtype": dtype}
        gates, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        directions = 1 + bidirectional
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for d in range(directions):
                suffix = f"_l{layer}" + "_reverse" * d
                given = input_size if layer == 0 else out * directions
                shapes = {"weight_ih": (gates, given), "weight_hh": (gates, out)}
                if bias:
                    shapes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(strided.empty(*shape, **made)))
                self._all_weights.append([name + suffix for name in shapes])
        self.reset_parameters()

    def _check(self, dropout):
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("bias", "batch_first"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
        for name in ("input_size", "hidden_size"):
            size = getattr(self, name)
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    # Private names of PyTorch's that programs read.
    @property
    def _flat_weights_names(self):
        return [name for group in self._all_weights for name in group]

    @property
    def _flat_weights(self):
        given = self.__dict__.get("_given_weights")
        return [getattr(self, name) for name in self._flat_weights_names] if given is None else given

    @_flat_weights.setter
    def _flat_weights(self, weights):  # forward takes these in place of the parameters
        self.__dict__["_given_weights"] = weights

    def __setattr__(self, name, value):
        given = self.__dict__.get("_given_weights")
        if given is not None and name in (names := self._flat_weights_names):
            given[names.index(name)] = value
        super().__setattr__(name, value)

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.pop("_given_weights", None)

    def _apply(self, fn, recurse=True):
        self.__dict__.pop("_given_weights", None)
        return super()._apply(fn, recurse)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in group] for group in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need not stand together."""

    def reset_parameters(self) -> None:
        """Initial values: uniform, with the bound 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """ValueError for an input of another dtype than the weights, unless autocast casts; RuntimeError for a size
        that does not fit."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not _autocast(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        if input.dim() != (3 if batch_sizes is None else 2):
            raise RuntimeError(f"input must have {3 if batch_sizes is None else 2} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_size(self, input, batch_sizes, size):
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (1 + self.bidirectional), batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the hidden state of this input has."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError for a state of another shape; msg is its text."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """:meth:`check_input`, and :meth:`check_hidden_size` of each state."""
        self.check_input(input, batch_sizes)
        if isinstance(hidden, strided.Tensor):  # as derived classes of RNN and GRU hand it
            hidden = (hidden,)
        sizes = [self.proj_size or self.hidden_size, self.hidden_size]
        labels = ["hidden[0]", "hidden[1]"] if len(hidden) == 2 else ["hidden"]
        for state, size, label in zip(hidden, sizes, labels):
            want = self._state_size(input, batch_sizes, size)
            self.check_hidden_size(state, want, f"Expected {label} size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state, or states, with the samples in another order; None: as they are."""
        if permutation is None:
            return hx
        if isinstance(hx, strided.Tensor):
            return hx.index_select(1, permutation)
        return tuple(state.index_select(1, permutation) for state in hx)

    def _initial(self, batch, like):
        count = self.num_layers * (1 + self.bidirectional)
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        return tuple(like.new_zeros((count, batch, n)) for n in sizes)

    def _states(self, hx, batched, order):
        """Given states as a tuple with a batch, in the order of packed sequences."""
        states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        if batched is not None:
            for s in states:
                if s.dim() != (3 if batched else 2):
                    kind, axes = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
                    if self.mode == "LSTM":
                        raise RuntimeError(
                            f"For {kind} input, hx and cx should also be {axes}-D but got ({states[0].dim()}-D, {states[-1].dim()}-D) tensors"
                        )
                    raise RuntimeError(f"For {kind} input, hx should also be {axes}-D but got {s.dim()}-D tensor")
            if not batched:
                states = tuple(s.unsqueeze(1) for s in states)
        return self.permute_hidden(states, order)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(outputs of all steps, last states); input may be a PackedSequence, or have no batch."""
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, sizes, order, back = input
            states = self._initial(int(sizes[0]), data) if hx is None else self._states(hx, None, order)
            self.check_forward_args(data, states, sizes)
            rows, states = _rnn.layers(self.mode, data, sizes.tolist(), states, *options)
            output: Any = PackedSequence(rows, sizes, order, back)
            states = self.permute_hidden(states, back)
        else:
            if input.dim() not in (2, 3):
                name = "RNN" if self.mode.startswith("RNN") else self.mode
                raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
            batched = input.dim() == 3
            x = input if batched else input.unsqueeze(0 if self.batch_first else 1)
            batch = x.size(0 if self.batch_first else 1)
            states = self._initial(batch, x) if hx is None else self._states(hx, batched, None)
            self.check_forward_args(x, states, None)
            output, states = _rnn.sequences(self.mode, x, states, *options, self.batch_first)
            if not batched:
                output = output.squeeze(0 if self.batch_first else 1)
                states = tuple(s.squeeze(1) for s in states)
        return output, states if self.mode == "LSTM" else states[0]


def _refuse_projections(proj_size):
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman's network: h = tanh(W x + b + U h + c), or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device | None = None,
        dtype: DType | None = None,
        *,
        proj_size: None = None,
    ) -> None:
        _refuse_projections(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self_mode = "RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU"
        super().__init__(
            self_mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory.

    >>> y, (h, c) = strided.nn.LSTM(3, 4)(strided.ones(5, 2, 3))
    >>> y.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the cell state of this input has."""
        return self._state_size(input, batch_sizes, self.hidden_size)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device | None = None,
        dtype: DType | None = None,
        *,
        proj_size: None = None,
    ) -> None:
        _refuse_projections(proj_size)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


# ---------------------------------------------------------------- single steps


class RNNCellBase(Module):
    """What the cells have in common."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates, made = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(strided.empty(gates, input_size, **made))
        self.weight_hh = Parameter(strided.empty(gates, hidden_size, **made))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(strided.empty(gates, **made)) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self) -> None:
        """Initial values: uniform, with the bound 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, mode, input, hx):
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            zero = x.new_zeros((x.size(0), self.hidden_size))
            states = (zero,) * (1 + (mode == "LSTM"))
        else:
            states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
            for i, s in enumerate(states):
                if s.dim() not in (1, 2):
                    label = f"hx[{i}]" if mode == "LSTM" else "hidden"
                    raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {s.dim()}D instead")
            states = states if batched else tuple(s.unsqueeze(0) for s in states)
        if x.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.size(1)} expected {self.input_size}")
        for i, s in enumerate(states):
            if s.size(0) != x.size(0):
                raise RuntimeError(f"Input batch size {x.size(0)} doesn't match hidden{i} batch size {s.size(0)}")
            if s.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, expected {self.hidden_size}"
                )
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        made = _rnn.cell(mode, x, states, *weights)
        made = made if batched else tuple(s.squeeze(0) for s in made)
        return made if mode == "LSTM" else made[0]


class RNNCell(RNNCellBase):
    """One step of RNN."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step("RNN_" + self.nonlinearity.upper(), input, hx)


class LSTMCell(RNNCellBase):
    """One step of LSTM."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        return self._step("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of GRU."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, hx)
