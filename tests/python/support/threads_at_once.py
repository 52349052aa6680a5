"""Works that run at the same time."""

import threading


def run_at_once(works):
    """Runs all at once and raises what any of them raised."""
    errors, start = [], threading.Barrier(len(works))

    def one(work):
        try:
            start.wait()
            work()
        except BaseException as error:  # noqa: BLE001  (raised again below)
            errors.append(error)

    threads = [threading.Thread(target=one, args=(w,)) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    if errors:
        raise errors[0]
