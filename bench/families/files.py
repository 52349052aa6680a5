"""Files of one large tensor and of many small ones, in memory's cache; nothing waits for the disk."""

from case import Case, arrays

PLACE = """
import io, os, tempfile
folder = tempfile.mkdtemp(prefix="bench")
os.fsync = lambda descriptor: None
path = os.path.join(folder, "a.pt")
many = {f"layer.{k}.weight": a[4 * k : 4 * k + 4].clone() for k in range(2000)}
import atexit, shutil
atexit.register(shutil.rmtree, folder, True)
"""


def cases():
    large = arrays(a=("f4", 1 << 24))
    saved = PLACE + "xp.save(a, path)\n"
    yield Case("save 64 MB", large, "xp.save(a, path)", None, setup=PLACE, moved=64 << 20)
    yield Case("load 64 MB", large, "xp.load(path)", None, setup=saved, moved=64 << 20)
    yield Case("load 64 MB, mmap", large, "xp.load(path, mmap=True)", None, setup=saved)
    yield Case("save 2000 small", large, "xp.save(many, path)", None, setup=PLACE)
    yield Case("load 2000 small", large, "xp.load(path)", None, setup=PLACE + "xp.save(many, path)\n")


def curves():
    return ()
