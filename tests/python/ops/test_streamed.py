"""Results that are written past the caches, against the same ones written as usual, in processes of their own."""

import os
import subprocess
import sys
import textwrap

CALLS = """
    import hashlib
    import numpy as np
    import strided as torch

    rng = np.random.default_rng(0)
    for dtype in (np.uint8, np.float16, np.float32, np.int64, np.float64, np.complex128):
        made = [torch.tensor(rng.integers(1, 50, (301, 199)).astype(dtype)) for _ in range(2)]
        a, b = made
        row, column, mask = b[0], b[:, :1], a.real < 25
        results = dict(
            sum=a + b, number=a * 3, row=a + row, column=a + column, outer=row + column, odd=a[:, 1:] + b[:, 1:],
            steps=a[::2, ::-1] + 1, turned=a + torch.flip(b, (0, 1)), transposed=a.T * b.T, clone=a.clone(),
            where=torch.where(mask, a, b), one=torch.where(mask, a, b[0, 0]), mask=mask, wide=a.to(torch.complex64),
            cast=mask.to(a.dtype), mixed=a + torch.ones(301, 199, dtype=torch.int16), flip=torch.flip(a, (0, 1)),
            short=torch.cat([a, b]).reshape(-1, 2) + b[0, :2], all=torch.full((70001,), 3).to(a.dtype) + a[0, 0],
        )
        order = torch.tensor(rng.permutation(301))
        results |= dict(
            cat=torch.cat([a, b]), side=torch.cat([a, column, b], 1), roll=torch.roll(a, (5, 7), (0, 1)),
            part=a[:, 3:180].clone(), rows=a[order], select=a[:, 1:].index_select(0, order), tile=a.repeat(2, 2),
            block=a.reshape(7, 43, 199)[:, 1:].contiguous(), stack=torch.stack([a, b], 1), tril=torch.tril(a),
        )
        into = torch.empty(70001, dtype=a.dtype)[1:59900]
        results["out"] = torch.add(a.flatten()[:59899], b.flatten()[:59899], out=into)
        c = a.clone()
        c += b
        c[1:] = c[1:] + c[:-1]
        results["in place"] = c
        for name, x in results.items():
            print(np.dtype(dtype).name, name, hashlib.sha256(x.contiguous().numpy().tobytes()).hexdigest())
"""


def outputs(length, threads):
    environment = os.environ | {"STRIDED_STREAM_BYTES": str(length), "STRIDED_NUM_THREADS": str(threads)}
    code = textwrap.dedent(CALLS)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_results_are_the_same():
    plain = outputs(2**62, 1)
    assert len(plain) > 100
    assert outputs(0, 1) == plain
    assert outputs(0, 2) == plain
