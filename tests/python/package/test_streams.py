"""Streams and events without a GPU: those of the CPU."""

import pytest
import strided


def test_a_stream_of_the_cpu():
    stream = strided.Stream("cpu")
    assert stream.query() and stream.synchronize() is None and stream.wait_stream(stream) is None
    assert (stream.device.type, stream.device_index, stream.stream_id) == ("cpu", -1, 0)
    assert stream == strided.Stream(device=strided.device("cpu")) and hash(stream) == hash(strided.Stream("cpu"))
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    with stream as entered:
        assert entered is stream
    for call in (stream.record_event, lambda: stream.wait_event(strided.Event("cpu"))):
        with pytest.raises(RuntimeError, match=r"cpu backend doesn't support events\."):
            call()


def test_an_event_of_the_cpu():
    event = strided.Event("cpu", enable_timing=True)
    assert event.query() and event.wait() is None and event.synchronize() is None
    with pytest.raises(RuntimeError, match=r"cpu backend doesn't support events\."):
        event.record()
    with pytest.raises(ValueError, match="must be recorded"):
        event.elapsed_time(event)


@pytest.mark.skipif(strided.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_cpu_is_meant():
    assert strided.Stream().device.type == strided.Event().device.type == "cpu"
    with pytest.raises(RuntimeError, match="CUDA"):
        strided.Stream("cuda")
    assert issubclass(strided.cuda.Stream, strided.Stream) and issubclass(strided.cuda.Event, strided.Event)
