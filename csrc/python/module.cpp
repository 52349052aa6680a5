// The extension module: types, functions of every family, and the classes that pybind11 binds.
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <algorithm>

#include "base/cpu_features.h"
#include "base/parallel.h"
#include "base/warning.h"
#include "core/allocator.h"
#include "core/profile.h"
#include "core/random.h"
#include "cpu/backend.h"
#include "cuda/runtime/library.h"
#include "lapack/library.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "python/autograd_modes.h"
#include "python/bind/bind.h"
#include "python/files/object.h"
#include "python/function_node.h"
#include "python/fused.h"
#include "python/interop.h"
#include "python/kept_object.h"
#include "python/overridable.h"
#include "python/overrides.h"
#include "python/py_hook.h"
#include "python/py_node.h"
#include "python/py_storage.h"
#include "python/size.h"
#include "python/tensor_subclass.h"
#include "xla/backend.h"

namespace py = pybind11;
using namespace strided;
using namespace strided::python;

namespace {

py::object own(PyObject* o) {
  if (o == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}
const Tensor& tensor_of(py::handle o) {
  STRIDED_CHECK(is_tensor(o.ptr()), TypeError, "expected a Tensor, got ", Py_TYPE(o.ptr())->tp_name);
  return unwrap(o.ptr());
}

// The path of a library that Python finds, from any thread; empty where there is none. What Python raises (Ctrl-C) is
// raised here, if this thread is one of Python's and `raises`.
template <class... Arguments>
std::string found(bool raises, const char* finder, Arguments... arguments) {
  raises = raises && PyGILState_GetThisThreadState() != nullptr;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* path = PyObject_CallFunction(hook(finder), sizeof...(arguments) ? "si" : nullptr, arguments...);
  const char* text = path ? PyUnicode_AsUTF8(path) : nullptr;
  const std::string result = text ? text : "";
  const bool failed = !text;
  if (failed && !raises) PyErr_WriteUnraisable(nullptr);  // the caller says that there is none
  Py_XDECREF(path);
  PyGILState_Release(state);
  if (failed && raises) throw PythonError{};
  return result;
}

py::dict stats() {
  const MemoryStats s = cpu_memory_stats();
  py::dict d;
  d["allocated_bytes"] = s.allocated;
  d["peak_allocated_bytes"] = s.peak_allocated;
  d["cached_bytes"] = s.cached;
  d["allocations"] = s.allocations;
  d["cache_hits"] = s.cache_hits;
  return d;
}

py::list ops_table() {
  py::list rows;
  for (int i = 0; i < num_elementwise_ops(); ++i) {
    const OpDef& op = op_def(i);
    py::dict row, out;
    for (int t = 0; t < kNumDTypes; ++t)
      if (op.supported[t]) out[kDTypeInfo[t].name] = kDTypeInfo[index_of(op.out_dtype[t])].name;
    row["name"] = op.info->name;
    row["arity"] = op.arity;
    row["operands"] = op.info->operands ? op.info->operands : "";
    row["params"] = op.info->params;
    row["aliases"] = op.info->aliases;
    row["promotes_to_float"] = op.info->promote == Promote::Floating;
    row["inplace"] = op.info->inplace;
    row["method"] = op.info->method;
    row["differentiable"] = op.vjp != nullptr;
    // What the gradient for each operand reads: bit k stands for operand k.
    py::list reads;
    for (int k = 0; k < op.arity; ++k)
      reads.append(saves_inputs(op.info->saves) ? op.reads[k] & ((1 << op.arity) - 1) : 0);
    row["reads"] = reads;
    row["reads_output"] = saves_output(op.info->saves);
    row["out_dtypes"] = out;
    row["doc"] = op.info->doc;
    rows.append(row);
  }
  return rows;
}

// `T.__new__(T)` without __init__ would leave pybind11's object without a value, and methods would read memory that
// nobody wrote. With a tp_new that is not the base's, CPython refuses that call.
PyObject* new_instance(PyTypeObject* type, PyObject*, PyObject*) { return py::detail::make_new_instance(type); }
void refuse_bare_new(py::handle type) { reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new = new_instance; }

}  // namespace

namespace strided::python::detail {
bool accepts_ignored(PyObject* o) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  return PyBool_Check(o) || type == hook("layout") || type == hook("memory_format");
}
void check_ignored(PyObject* o) {
  const bool sparse = reinterpret_cast<PyObject*>(Py_TYPE(o)) == hook("layout") && o != hook("strided");
  STRIDED_CHECK(!sparse, NotImplementedError, "this function makes no tensor of layout ", std::string(py::str(o)),
                ": sparse_coo_tensor and sparse_compressed_tensor do, and to_sparse()");
}
bool accepts_generator(PyObject* o) { return py::isinstance<Generator>(o); }
Generator* to_generator(PyObject* o) { return py::handle(o).cast<Generator*>(); }
}  // namespace strided::python::detail

PYBIND11_MODULE(checked, m) {
  m.doc() = "The compiled core of strided.";
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const PythonError&) {
      set_python_error();
    } catch (const Error&) {
      set_python_error();
    }
  });
  init_types(m.ptr());
  init_size(m.ptr());
  init_tensor(m.ptr());
  init_storage(m.ptr());
  init_kept_objects();
  init_nodes(m.ptr());
  init_function_nodes(m.ptr());
  init_hooks(m.ptr());
  init_autograd_modes(m.ptr());
  init_functions(m.ptr());
  init_overrides(m.ptr());
  init_overridable(m.ptr());
  init_subclasses(m.ptr());
  init_fused(m.ptr());
  register_cpu_backend();
  register_cuda_backend([](const char* name, int cuda) { return found(false, "find_nvidia_library", name, cuda); });
  register_lapack([] { return found(true, "find_lapack"); });
  register_small_decompositions();
  register_xla_backend([] { return found(true, "find_pjrt_plugin"); });
  set_host_lock({[]() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; },
                 [](void* state) {
                   // A daemon thread that comes back after the interpreter's end is unwound by PyEval_RestoreThread
                   // (before Python 3.14), which our frames do not survive: it sleeps until the process is gone.
                   try {
                     PyEval_RestoreThread(static_cast<PyThreadState*>(state));
                   } catch (...) {
                     for (;;) pause();
                   }
                 },
                 [] {
                   const PyGILState_STATE state = PyGILState_Ensure();
                   const bool raised = PyErr_CheckSignals() < 0;
                   PyGILState_Release(state);
                   if (raised) throw PythonError{};  // the exception stays with this thread
                 }});
  m.def("check_counts",
        [](bool on) { check_counts(on ? +[] { return PyGILState_Check() != 0; } : static_cast<bool (*)()>(nullptr)); });
  set_warning([](const std::string& text) {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError{};
  });
  m.def("first_time", &first_time);
  m.def("set_warn_always", &set_warn_always);
  m.def("warn_always", &warn_always);
  m.def("set_hook", [](const std::string& name, py::handle value) { set_hook(name, value.ptr()); });

  py::class_<Generator>(
      m, "Generator",
      "Generator(device='cpu'): a stream of random numbers of its own, on the CPU (mt19937) with PyTorch's numbers for the same seed.\n\n"
      ">>> g = strided.Generator().manual_seed(3)\n>>> strided.rand(2, generator=g).shape\ntorch.Size([2])")
      .def(py::init([](py::object device) {
             STRIDED_CHECK(device.is_none() || is_device(device.ptr()), TypeError,
                           "Generator: device must be a device or its name");
             return new Generator(Generator::kDefaultSeed,
                                  device.is_none() ? Device{} : resolve_device(to_device(device.ptr())));
           }),
           py::arg("device") = "cpu")
      .def("manual_seed",
           [](py::object self, py::handle seed) {
             STRIDED_CHECK(is_integer_like(seed.ptr()), TypeError, "manual_seed expected a long, but got ",
                           Py_TYPE(seed.ptr())->tp_name);
             // Negative seeds count from 2^64, as in PyTorch.
             const py::int_ number(py::reinterpret_steal<py::object>(checked(PyNumber_Index(seed.ptr()))));
             uint64_t value = 0;
             const bool negative = number < py::int_(0);
             if (negative) value = static_cast<uint64_t>(PyLong_AsLongLong(number.ptr()));
             else value = PyLong_AsUnsignedLongLong(number.ptr());
             const bool fits = PyErr_Occurred() == nullptr;
             PyErr_Clear();
             STRIDED_CHECK(fits, ValueError, "Overflow when unpacking long long");
             self.cast<Generator&>().manual_seed(value);
             return self;
           })
      .def(
          "seed", [](Generator& g) { return g.seed(); }, "Seeds from the operating system, and returns the seed.")
      .def("initial_seed", [](Generator& g) { return g.initial_seed(); })
      .def("get_state",
           [](Generator& g) {
             const auto bytes = g.get_state();
             Tensor t = empty(Dims{static_cast<int64_t>(bytes.size())}, DType::UInt8);
             std::memcpy(t.data(), bytes.data(), bytes.size());
             return own(wrap(t));
           })
      .def("set_state",
           [](py::object self, py::handle state) {
             const Tensor& t = tensor_of(state);
             STRIDED_CHECK(t.dtype() == DType::UInt8 && t.ndim() == 1, TypeError,
                           "RNG state must be a torch.ByteTensor");
             const Tensor c = contiguous(t);
             self.cast<Generator&>().set_state(c.data_as<uint8_t>(), static_cast<size_t>(c.numel()));
             return self;
           })
      .def(
          "clone_state",
          [](Generator& g) {
            const auto bytes = g.get_state();
            auto* copy = new Generator(Generator::kDefaultSeed, g.device);
            copy->set_state(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
            return copy;
          },
          py::return_value_policy::take_ownership, "A new generator in the state of this one.")
      .def_property_readonly("device", [](const Generator& g) { return own(wrap(g.device)); });
  m.def(
      "default_generator",
      [](py::handle device) -> Generator& { return default_generator(resolve_device(to_device(device.ptr()))); },
      py::arg("device") = "cpu", py::return_value_policy::reference);
  m.def(
      "default_generators",
      [] {
        py::list all;
        for (Generator* g : default_generators()) all.append(py::cast(g, py::return_value_policy::reference));
        return all;
      },
      "The CPU's, and those of accelerators that somebody has asked for.");
  refuse_bare_new(m.attr("Generator"));
  m.def("seed_accelerators",
        [](py::handle seed) { seed_accelerators(static_cast<uint64_t>(to_scalar(seed.ptr()).to_int())); });

  bind_elementwise();
  bind_activations();
  bind_losses();
  bind_images();
  bind_copies();
  bind_autograd();
  bind_cuda();
  bind_xla();
  bind_files();
  bind_factories();
  bind_views();
  bind_joining();
  bind_indexing();
  bind_reductions();
  bind_sorting();
  bind_matrices();
  bind_decompositions();
  bind_statistics();
  bind_random();
  bind_fft();

  m.def("warn_of_copy",
        [](py::handle o, const std::string& function, int level) { warn_of_copy(o.ptr(), function, level); });
  m.def("tensor_from_object", [](py::handle o, py::object dtype) {
    return own(wrap(
        tensor_from_object(o.ptr(), dtype.is_none() ? std::nullopt : std::optional<DType>(to_dtype(dtype.ptr())))));
  });
  m.def("is_dtype", [](py::handle o) { return is_dtype(o.ptr()); });
  m.def("is_device", [](py::handle o) { return is_device(o.ptr()); });
  m.def("to_dtype", [](py::handle o) { return own(wrap(to_dtype(o.ptr()))); });
  m.def("from_numpy", [](py::handle a) { return own(wrap(from_numpy(a.ptr(), false))); });
  m.def("to_numpy", [](py::handle t, bool force) { return own(to_numpy(tensor_of(t), force)); });
  m.def("from_buffer", [](py::handle o, py::handle dtype, int64_t count, int64_t offset) {
    STRIDED_CHECK(is_dtype(dtype.ptr()), TypeError, "frombuffer(): argument 'dtype' must be torch.dtype");
    return own(wrap(from_buffer(o.ptr(), to_dtype(dtype.ptr()), count, offset)));
  });
  m.def("to_dlpack",
        [](py::handle t, bool versioned, bool copied) { return own(to_dlpack(tensor_of(t), versioned, copied)); });
  m.def("from_dlpack_capsule", [](py::handle c) { return own(wrap(from_dlpack_capsule(c.ptr()))); });
  m.def("is_set_to", [](py::handle a, py::handle b) {
    const Tensor &x = tensor_of(a), &y = tensor_of(b);
    return &x.storage() == &y.storage() && x.offset() == y.offset() && x.shape() == y.shape() &&
           x.strides() == y.strides();
  });

  // The profiler. Functions of the table would be recorded themselves.
  m.def("profile_start", &profile_start);
  m.def("profile_stop", [] {
    py::list calls;  // (name, thread, begin, end, bytes, user)
    for (const ProfileEvent& e : profile_stop())
      calls.append(py::make_tuple(e.name, e.thread, e.begin, e.end, e.bytes, e.user));
    return calls;
  });
  m.def("profile_begin", [](const std::string& name) {
    const bool on = profile_on;
    if (on) profile_begin(name, true);
    return on;
  });
  m.def("profile_end", &profile_end);
  m.def("get_num_threads", [] { return num_threads(); });
  m.def("set_num_threads", [](py::handle number) {
    STRIDED_CHECK(is_integer_like(number.ptr()), RuntimeError, "set_num_threads expects an int, but got ",
                  Py_TYPE(number.ptr())->tp_name);
    const int64_t n = to_int(number.ptr());
    STRIDED_CHECK(n > 0, RuntimeError, "set_num_threads expects a positive integer");
    set_num_threads(static_cast<int>(std::min<int64_t>(n, 1024)));
  });
  m.def(
      "_signature_mismatches",
      [](const char* name, const char* text) {
        py::list found;
        for (const std::string& one : name ? signature_mismatches(name, text) : signature_mismatches())
          found.append(one);
        return found;
      },
      py::arg("name") = py::none(), py::arg("text") = py::none());
  m.def("memory_stats", &stats);
  m.def("empty_cache", &cpu_empty_cache);
  m.def("reset_peak_memory_stats", &cpu_reset_peak);
  m.def("set_cache_limit", &cpu_set_cache_limit);
  m.def("ops_table", &ops_table);
  m.def("build_info", [] {
    py::dict d;
    d["version"] = STRIDED_VERSION;
    d["compiler"] = STRIDED_COMPILER;
    d["instruction sets built"] = STRIDED_BUILT_ISAS;
    d["instruction set chosen"] = isa_name(chosen_isa());
    d["products of bfloat16 and bytes"] = products_name(chosen_products());
    return d;
  });
}

// Types, hooks and the default generator exist once in a process, and pybind11 waits for the main interpreter's lock: a
// sub-interpreter would hang in it.
extern "C" PYBIND11_EXPORT PyObject* PyInit__C() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit_checked();
  PyErr_SetString(PyExc_ImportError, "strided cannot be imported in a sub-interpreter: use threads or processes");
  return nullptr;
}
