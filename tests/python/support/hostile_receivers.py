"""Objects whose methods are called with anything: the calls of hostile_calls.py have functions and classes only."""

import inspect


def makers(strided):
    """name -> a function that makes the object anew."""
    nn, optim, schedulers, d = strided.nn, strided.optim, strided.optim.lr_scheduler, strided.distributions
    ones = strided.ones

    def parameter():
        p = nn.Parameter(ones(3, 3))
        p.grad = ones(3, 3)
        return p

    def sgd():
        return optim.SGD([parameter()], lr=0.1, momentum=0.9)

    class Twice(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return {
        "Linear": lambda: nn.Linear(3, 3),
        "LSTM": lambda: nn.LSTM(3, 3),
        "MultiheadAttention": lambda: nn.MultiheadAttention(4, 2),
        "Transformer": lambda: nn.Transformer(4, 2, 1, 1, 8),
        "BatchNorm1d": lambda: nn.BatchNorm1d(3),
        "Embedding": lambda: nn.Embedding(5, 3),
        "AdaptiveLogSoftmaxWithLoss": lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2]),
        "LazyLinear": lambda: nn.LazyLinear(3),
        "Sequential": lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU()),
        "ModuleList": lambda: nn.ModuleList([nn.Linear(3, 3)]),
        "ModuleDict": lambda: nn.ModuleDict({"a": nn.Linear(3, 3)}),
        "ParameterList": lambda: nn.ParameterList([ones(3)]),
        "ParameterDict": lambda: nn.ParameterDict({"a": ones(3)}),
        "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)),
        "UninitializedParameter": lambda: nn.UninitializedParameter(),
        "PackedSequence": lambda: nn.utils.rnn.pack_sequence([ones(3), ones(2)]),
        "AveragedModel": lambda: optim.swa_utils.AveragedModel(nn.Linear(3, 3)),
        **{name: lambda name=name: getattr(optim, name)([parameter()], lr=0.1) for name in "SGD Adam LBFGS".split()},
        "StepLR": lambda: schedulers.StepLR(sgd(), 1),
        "OneCycleLR": lambda: schedulers.OneCycleLR(sgd(), 0.1, 10),
        "CosineAnnealingWarmRestarts": lambda: schedulers.CosineAnnealingWarmRestarts(sgd(), 2),
        "ReduceLROnPlateau": lambda: schedulers.ReduceLROnPlateau(sgd()),
        "GradScaler": lambda: strided.amp.GradScaler("cpu"),
        "Categorical": lambda: d.Categorical(ones(3)),
        "Multinomial": lambda: d.Multinomial(5, ones(3)),
        "MultivariateNormal": lambda: d.MultivariateNormal(strided.zeros(3), strided.eye(3)),
        "LowRankMultivariateNormal": lambda: d.LowRankMultivariateNormal(ones(3), ones(3, 1), ones(3)),
        "MixtureSameFamily": lambda: d.MixtureSameFamily(d.Categorical(ones(2)), d.Normal(ones(2), 1.0)),
        "TransformedDistribution": lambda: d.TransformedDistribution(d.Normal(ones(3), 1.0), [d.ExpTransform()]),
        "Wishart": lambda: d.Wishart(4.0, strided.eye(3)),
        "LKJCholesky": lambda: d.LKJCholesky(3),
        "VonMises": lambda: d.VonMises(ones(3), 1.0),
        "CorrCholeskyTransform": lambda: d.CorrCholeskyTransform(),
        "ComposeTransform": lambda: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)]),
        "CatTransform": lambda: d.CatTransform([d.ExpTransform()]),
        "UntypedStorage": lambda: strided.UntypedStorage(12),
        "FloatStorage": lambda: strided.FloatStorage(3),
        "Generator": lambda: strided.Generator(),
        "Size": lambda: strided.Size([2, 3]),
        "device": lambda: strided.device("cpu"),
        "finfo": lambda: strided.finfo(strided.float32),
        "grad_fn": lambda: (ones(3, requires_grad=True) * 2).grad_fn,
        "AccumulateGrad": lambda: (ones(3, requires_grad=True) * 2).grad_fn.next_functions[0][0],
        "context": lambda: Twice.apply(ones(3, requires_grad=True)).grad_fn,
        "hook": lambda: ones(3, requires_grad=True).register_hook(lambda g: None),
        "GraphModule": lambda: strided.fx.symbolic_trace(nn.Linear(3, 3)),
        "Graph": lambda: strided.fx.symbolic_trace(nn.Linear(3, 3)).graph,
        "FxNode": lambda: list(strided.fx.symbolic_trace(nn.Linear(3, 3)).graph.nodes)[1],
        "compiled": lambda: strided.compile(lambda x: (x * 2).sum()),
        "DataLoader": lambda: strided.utils.data.DataLoader(strided.utils.data.TensorDataset(ones(4, 3)), 2),
        "SobolEngine": lambda: strided.quasirandom.SobolEngine(3),
        "Future": lambda: strided.futures.Future(),
        "NestedTensor": lambda: strided.nested.nested_tensor([ones(2, 3), ones(1, 3)], layout=strided.jagged),
        "COO": lambda: strided.eye(3).to_sparse(),
        "CSR": lambda: strided.eye(3).to_sparse_csr(),
        "MaskedTensor": lambda: strided.masked.masked_tensor(ones(3), strided.tensor([True, False, True])),
    }


# What waits for somebody else, ends the process, or is no call of a user.
LEFT_OUT = {"wait", "mro", "__getattribute__", "__subclasshook__", "__init_subclass__", "__reduce__", "__reduce_ex__"}
# Of tensors some methods only: the table and `Tensor.` of hostile_calls.py have them all.
TENSORS = {"COO", "CSR", "NestedTensor", "MaskedTensor", "UninitializedParameter"}
OF_TENSORS = "__getitem__ __setitem__ __len__ __iter__ __contains__ __deepcopy__ to sum add mul view reshape".split()


def method_names(strided):
    """ "object().method" for each method of the objects, but one that another object has from the same class."""
    seen = []
    for name, make in makers(strided).items():
        receiver = make()
        for method in OF_TENSORS if name in TENSORS else sorted(dir(receiver)):
            special = method.startswith("__") and method.endswith("__")
            if method in LEFT_OUT or (method.startswith("_") and not special):
                continue
            if not callable(getattr(type(receiver), method, None)):  # a property, for one
                continue
            function = inspect.getattr_static(type(receiver), method, None)
            if name not in TENSORS:
                if function is None or any(function is other for other in seen) or hasattr(object, method):
                    continue
                seen.append(function)
            yield f"{name}().{method}"
