"""Learns to read handwritten digits: a network of two layers, trained by plain gradient descent, written in tensors.

    pip install strided[examples]
    python examples/digits.py                 # trains, prints the accuracy, writes digits_loss.png
    python examples/digits.py --lib torch     # the same program on PyTorch, if it is installed: the same random numbers

The data are the 1797 pictures of 8 x 8 pixels that come with scikit-learn (E. Alpaydin and C. Kaynak, "Optical
Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998).
"""

import argparse
import importlib
import math
import sys
import time


def read_options():
    parser = argparse.ArgumentParser(description="Trains a two-layer network on handwritten digits.")
    parser.add_argument(
        "--lib", choices=["strided", "torch"], default="strided", help="the tensor library (default: strided)"
    )
    parser.add_argument("--epochs", type=int, default=40, help="times to go through the data (default: 40)")
    parser.add_argument("--batch", type=int, default=32, help="pictures for one step (default: 32)")
    parser.add_argument("--hidden", type=int, default=64, help="width of the hidden layer (default: 64)")
    parser.add_argument("--rate", type=float, default=0.1, help="step length (default: 0.1)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    parser.add_argument(
        "--plot",
        default="digits_loss.png",
        metavar="FILE",
        help="picture of the loss; '' for none (default: digits_loss.png)",
    )
    return parser.parse_args()


def load(torch):
    """Pictures as rows of 64 numbers in [0, 1], and digits: ((training), (test)), every fifth picture for the test."""
    from sklearn.datasets import load_digits

    data = load_digits()
    pictures = torch.from_numpy(data.data).float() / 16
    digits = torch.from_numpy(data.target).long()
    order = torch.randperm(len(digits))
    pictures, digits = pictures[order], digits[order]
    held_back = torch.arange(len(digits)) % 5 == 0
    return (pictures[~held_back], digits[~held_back]), (pictures[held_back], digits[held_back])


def parameters(torch, sizes):
    """A matrix and a row for each layer; the scale keeps the size of signals through a relu (He et al., "Delving Deep
    into Rectifiers", ICCV 2015)."""
    made = []
    for n, m in zip(sizes, sizes[1:]):
        made += [torch.randn(n, m) * math.sqrt(2 / n), torch.zeros(m)]
    return [p.requires_grad_() for p in made]


def scores(x, w1, b1, w2, b2):
    """One number for each picture and digit; the largest is the guess."""
    return (x @ w1 + b1).relu() @ w2 + b2


def cross_entropy(torch, s, digits):
    """Mean of minus the logarithm of the probability given to the right digit."""
    return -s.log_softmax(1)[torch.arange(len(digits)), digits].mean()


def accuracy(torch, pictures, digits, params):
    with torch.no_grad():
        return (scores(pictures, *params).argmax(1) == digits).float().mean().item()


def show(done, total, text):
    """A bar that fills up; only on a terminal."""
    if sys.stderr.isatty():
        full = 30 * done // total
        print(
            f"\r[{'#' * full}{'.' * (30 - full)}] {done}/{total}  {text}",
            end="\n" if done == total else "",
            file=sys.stderr,
            flush=True,
        )


def train(torch, options, pictures, digits, params):
    """Changes params step by step; returns the loss of every step."""
    losses = []
    for epoch in range(options.epochs):
        order = torch.randperm(len(digits))
        for batch in order.split(options.batch):
            loss = cross_entropy(torch, scores(pictures[batch], *params), digits[batch])
            loss.backward()
            with torch.no_grad():
                for p in params:
                    p -= options.rate * p.grad
                    p.grad = None
            losses.append(loss.item())
        show(epoch + 1, options.epochs, f"loss {losses[-1]:.4f}")
    return losses


def plot(losses, steps_per_epoch, options):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    means = [sum(losses[i : i + steps_per_epoch]) / steps_per_epoch for i in range(0, len(losses), steps_per_epoch)]
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.semilogy([(i + 1) / steps_per_epoch for i in range(len(losses))], losses, color="0.8", label="each step")
    axes.semilogy([i + 1 for i in range(len(means))], means, label="mean of the epoch")
    axes.set(xlabel="epoch", ylabel="loss", title=f"Digits, {options.lib}")
    axes.legend()
    figure.savefig(options.plot, dpi=120)
    print(f"loss curve: {options.plot}")


def main():
    options = read_options()
    torch = importlib.import_module(options.lib)
    torch.manual_seed(options.seed)
    (pictures, digits), (others, answers) = load(torch)
    params = parameters(torch, [64, options.hidden, 10])
    start = time.perf_counter()
    losses = train(torch, options, pictures, digits, params)
    seconds = time.perf_counter() - start
    print(f"{options.lib}: {len(losses)} steps in {seconds:.2f} s, last loss {losses[-1]:.4f}")
    print(
        f"accuracy: training {accuracy(torch, pictures, digits, params):.2%}, test {accuracy(torch, others, answers, params):.2%}"
    )
    if options.plot:
        plot(losses, math.ceil(len(digits) / options.batch), options)


if __name__ == "__main__":
    main()
