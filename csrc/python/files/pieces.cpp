#include "python/files/pieces.h"

#include <algorithm>
#include <cstring>

#include "python/files/device_fill.h"
#include "python/files/object.h"
#include "python/files/progress.h"
#include "python/function.h"

namespace strided::python {

Tensor read_piece(int64_t fd, int64_t begin, int64_t count, DType dtype) {
  return with_os_errors([&] {
    STRIDED_CHECK(begin >= 0 && count >= 0, ValueError, "read_piece: negative place ", begin, " or length ", count);
    files::FileSource source(static_cast<int>(fd), static_cast<uint64_t>(begin));
    STRIDED_CHECK(static_cast<uint64_t>(count) <= source.size() / static_cast<uint64_t>(size_of(dtype)), RuntimeError,
                  "the file ends too early: ", count, " elements of ", name_of(dtype), " are needed from byte ", begin,
                  ", it has ", source.size(), " bytes there");
    const Tensor t = empty(Dims{count}, dtype);
    const auto nbytes = static_cast<size_t>(count * size_of(dtype));
    Progress progress(nbytes);
    source.read(0, t.data(), nbytes);
    progress.finish();
    return t;
  });
}

PyObject* read_to_device(int64_t fd, PyObject* pieces, Device device) {
  return with_os_errors([&] {
    files::FileSource source(static_cast<int>(fd), 0);
    DeviceFill fill(device);
    const Object list = Object::made(PySequence_Fast(pieces, "read_to_device: a sequence is required"));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(list.get());
    Object made = Object::made(PyList_New(count));
    Progress progress(source.size());
    for (Py_ssize_t i = 0; i < count; ++i) {
      long long begin;
      PyObject *shape, *dtype;
      if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list.get(), i), "LOO", &begin, &shape, &dtype))
        throw PythonError{};
      const Dims sizes = detail::to_dims(shape);
      const DType t = to_dtype(dtype);
      const auto nbytes = static_cast<uint64_t>(checked_numel("read_to_device", sizes) * size_of(t));
      STRIDED_CHECK(begin >= 0 && static_cast<uint64_t>(begin) <= source.size() &&
                        nbytes <= source.size() - static_cast<uint64_t>(begin),
                    RuntimeError, "the file ends too early: bytes ", begin, " to ", begin, " + ", nbytes,
                    " are needed, it has ", source.size());
      const Ref<Storage> storage = fill.fill(
          nbytes, [&](uint64_t at, void* to, size_t n) { source.read(static_cast<uint64_t>(begin) + at, to, n); });
      PyList_SET_ITEM(made.get(), i, checked(wrap(Tensor(make_ref<TensorImpl>(storage, Layout(sizes), t)))));
    }
    progress.finish();
    return made.release();
  });
}

Tensor map_file(int64_t fd, bool shared) {
  return with_os_errors([&] {
    const auto mapping = make_ref<files::Mapping>(static_cast<int>(fd), shared);
    const Layout layout(Dims{static_cast<int64_t>(mapping->size())});
    return Tensor(make_ref<TensorImpl>(storage_in(mapping, 0, mapping->size()), layout, DType::UInt8));
  });
}

Tensor piece_of(const Tensor& whole, int64_t begin, const Dims& shape, DType dtype) {
  const int64_t numel = checked_numel("piece_of", shape), size = size_of(dtype);
  const Ref<Storage>& storage = whole.impl()->storage;
  STRIDED_CHECK(begin >= 0 && static_cast<uint64_t>(begin) <= storage->nbytes() &&
                    static_cast<uint64_t>(numel) <=
                        (storage->nbytes() - static_cast<uint64_t>(begin)) / static_cast<uint64_t>(size),
                RuntimeError, "the file ends too early: ", numel, " elements of ", name_of(dtype),
                " are needed from byte ", begin, ", it has ", storage->nbytes(), " bytes");
  char* data = static_cast<char*>(storage->data()) + begin;
  const auto nbytes = static_cast<size_t>(numel * size);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(std::min<int64_t>(size, 8)) != 0) {
    const Tensor copy = empty(shape, dtype);
    std::memcpy(copy.data(), data, nbytes);
    return copy;
  }
  auto release = [](void* owner) { delete static_cast<Ref<Storage>*>(owner); };
  auto part = make_ref<Storage>(data, nbytes, Device{}, new Ref<Storage>(storage), release, storage->read_only());
  return Tensor(make_ref<TensorImpl>(part, Layout(shape), dtype));
}

void write_tensors(PyObject* to, PyObject* head, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    STRIDED_CHECK(t.is_contiguous() && t.device().is_cpu(), ValueError,
                  "write_tensors: contiguous tensors on the CPU are needed");
  const HeldBuffer bytes(head);
  with_os_errors([&] {
    const std::unique_ptr<files::Sink> sink = sink_of(to);
    uint64_t total = bytes.size();
    for (const Tensor& t : tensors) total += static_cast<uint64_t>(t.numel() * t.itemsize());
    Progress progress(total);
    sink->write(bytes.data(), bytes.size());
    for (const Tensor& t : tensors) sink->write(t.data(), static_cast<size_t>(t.numel() * t.itemsize()));
    sink->flush();
    progress.finish();
  });
}

}  // namespace strided::python
