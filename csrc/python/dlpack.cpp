// DLPack 1.x, both ways (https://dmlc.github.io/dlpack/latest/). The structs are the published C ABI.
#include <algorithm>
#include <cstdlib>

#include "python/function.h"
#include "python/interop.h"

namespace strided::python {
namespace {

constexpr int32_t kDLCPU = 1, kDLCUDA = 2;
constexpr uint64_t kReadOnly = 1, kIsCopied = 2;

struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

DLDataType to_dl(DType t) { return {info_of(t).dlpack_code, static_cast<uint8_t>(8 * size_of(t)), 1}; }
DType from_dl(DLDataType d) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType mine = to_dl(static_cast<DType>(i));
    if (mine.code == d.code && mine.bits == d.bits && d.lanes == 1) return static_cast<DType>(i);
  }
  STRIDED_THROW(BufferError, "from_dlpack: no dtype for DLPack type code ", int(d.code), " with ", int(d.bits),
                " bits and ", d.lanes, " lanes");
}

template <class Managed>
struct Exported {
  Managed managed;
  Tensor tensor;
  Dims shape, strides;
};

template <class Managed>
Managed* export_tensor(const Tensor& t) {
  STRIDED_CHECK(t.device().is_cpu() || t.device().is_cuda(), BufferError, "Cannot pack tensors on ",
                name_of(t.device().type));
  auto* e = new Exported<Managed>{};
  t.storage().set_exported();
  e->tensor = make_view(t, t.layout());
  e->shape = t.shape();
  e->strides = t.strides();
  for (int i = 0; i < t.ndim(); ++i)  // a stride that no element depends on is 1: some readers look at it
    if (t.size(i) < 2) e->strides[static_cast<size_t>(i)] = 1;
  DLTensor& dl = e->managed.dl_tensor;
  dl.data = t.numel() ? t.data() : nullptr;
  dl.device = {t.device().is_cuda() ? kDLCUDA : kDLCPU, t.device().is_cuda() ? t.device().index : 0};
  dl.ndim = t.ndim();
  dl.dtype = to_dl(t.dtype());
  dl.shape = e->shape.data();
  dl.strides = e->strides.data();
  dl.byte_offset = 0;
  e->managed.manager_ctx = e;
  e->managed.deleter = [](Managed* m) {  // from any thread of the consumer's
    const bool lock = Py_IsInitialized();
    const PyGILState_STATE state = lock ? PyGILState_Ensure() : PyGILState_UNLOCKED;
    delete static_cast<Exported<Managed>*>(m->manager_ctx);
    if (lock) PyGILState_Release(state);
  };
  return &e->managed;
}

template <class Managed>
void free_unconsumed(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // consumed: the consumer frees it
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m->deleter) m->deleter(m);
}

template <class Managed>
Tensor import_tensor(Managed* m, bool read_only) {
  const DLTensor& dl = m->dl_tensor;
  const bool on_cuda = dl.device.device_type == kDLCUDA;
  STRIDED_CHECK(on_cuda || dl.device.device_type == kDLCPU, BufferError,
                "from_dlpack: the memory is on a DLPack device of type ", dl.device.device_type,
                ", which this build cannot use");
  STRIDED_CHECK(dl.device.device_id >= 0 && dl.device.device_id < 128, BufferError, "from_dlpack: device number ",
                dl.device.device_id);
  const Device device =
      on_cuda ? resolve_device({DeviceType::CUDA, static_cast<int8_t>(dl.device.device_id)}) : Device{};
  STRIDED_CHECK(dl.ndim >= 0 && dl.ndim <= kMaxDims, BufferError, "from_dlpack: ", dl.ndim, " dimensions, at most ",
                kMaxDims, " are possible");
  const DType dtype = from_dl(dl.dtype);
  STRIDED_CHECK(dl.shape != nullptr || dl.ndim == 0, BufferError, "from_dlpack: the shape of ", dl.ndim,
                " dimensions is a null pointer");
  Layout layout;
  layout.shape = Dims(dl.shape, static_cast<size_t>(dl.ndim));
  checked_numel("from_dlpack", layout.shape);
  layout.strides =
      dl.strides ? Dims(dl.strides, static_cast<size_t>(dl.ndim)) : Layout::contiguous_strides(layout.shape);
  int64_t reach = 0;  // of all axes, in bytes: it must be far from overflow
  for (int i = 0; i < dl.ndim; ++i) {
    int64_t axis = 0;
    STRIDED_CHECK(
        !__builtin_mul_overflow(layout.strides[i], std::max<int64_t>(layout.shape[i] - 1, 1), &axis) &&
            axis != INT64_MIN && !__builtin_add_overflow(reach, std::abs(axis), &reach) && reach < (int64_t(1) << 59),
        BufferError, "from_dlpack: stride ", layout.strides[i], " of dimension ", i, " leads out of the address space");
  }
  int64_t first = 0, last = 0, bytes = 0;
  char* data = static_cast<char*>(dl.data) + dl.byte_offset;
  if (layout.extent(&first, &last)) {
    STRIDED_CHECK(dl.data != nullptr, BufferError, "from_dlpack: the memory is a null pointer");
    STRIDED_CHECK(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(std::min<int64_t>(size_of(dtype), 8)) == 0,
                  BufferError, "from_dlpack: the memory is not aligned to elements of ", size_of(dtype), " bytes");
    bytes = (last - first + 1) * size_of(dtype);
    data += first * size_of(dtype);
    layout.offset = -first;
  }
  auto storage = make_ref<Storage>(
      data, static_cast<size_t>(bytes), device, m,
      [](void* p) {
        auto* managed = static_cast<Managed*>(p);
        if (!managed->deleter || !Py_IsInitialized()) return;
        const PyGILState_STATE state = PyGILState_Ensure();  // the deleter may belong to Python objects
        managed->deleter(managed);
        PyGILState_Release(state);
      },
      read_only);
  return Tensor(make_ref<TensorImpl>(storage, std::move(layout), dtype));
}

}  // namespace

PyObject* to_dlpack(const Tensor& t, bool versioned, bool copied) {
  STRIDED_CHECK(!t.requires_grad(), BufferError, "Can't export tensors that require gradient, use tensor.detach()");
  if (versioned) {
    auto* m = export_tensor<DLManagedTensorVersioned>(t);
    m->major = 1;
    m->minor = 0;
    m->flags = (t.storage().read_only() ? kReadOnly : 0) | (copied ? kIsCopied : 0);
    return PyCapsule_New(m, "dltensor_versioned",
                         [](PyObject* c) { free_unconsumed<DLManagedTensorVersioned>(c, "dltensor_versioned"); });
  }
  STRIDED_CHECK(
      !t.storage().read_only(), BufferError,
      "__dlpack__: the tensor is read-only, which only DLPack 1.0 and later can tell; ask for max_version=(1, 0)");
  auto* m = export_tensor<DLManagedTensor>(t);
  return PyCapsule_New(m, "dltensor", [](PyObject* c) { free_unconsumed<DLManagedTensor>(c, "dltensor"); });
}

Tensor from_dlpack_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    STRIDED_CHECK(m->major <= 1, BufferError, "from_dlpack: DLPack version ", m->major, ".", m->minor,
                  " is newer than 1.x");
    Tensor t = import_tensor(m, m->flags & kReadOnly);
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
    return t;
  }
  STRIDED_CHECK(
      PyCapsule_IsValid(capsule, "dltensor"), ValueError,
      "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have already constructed a tensor from it once.");
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  Tensor t = import_tensor(m, false);
  PyCapsule_SetName(capsule, "used_dltensor");
  return t;
}

}  // namespace strided::python
