#include "xla/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace strided::xla {
namespace {

using namespace pjrt;

std::string (*find_plugin)() = nullptr;

struct Plugin {
  const Api* api = nullptr;
  Client* client = nullptr;
  Device* const* devices = nullptr;
  int count = 0;
  pid_t process = getpid();  // a fork has none of the plugin's threads: a call would wait for ever
  std::string why_not;

  Plugin() {
    const char* named = std::getenv("STRIDED_PJRT_PLUGIN");
    const std::string path = named && *named ? named : find_plugin ? find_plugin() : "";
    if (path.empty()) {
      why_not = "no PJRT plugin is installed: pip install xla-cpu-pjrt, or name one in STRIDED_PJRT_PLUGIN";
      return;
    }
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* error = dlerror();
      why_not = "the PJRT plugin could not be opened (" + std::string(error ? error : path.c_str()) + ")";
      return;
    }
    using Entry = const Api* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(handle, "GetPjrtApi"));
    api = entry ? entry() : nullptr;
    if (!api) {
      why_not = path + " is no PJRT plugin: it has no function GetPjrtApi";
      return;
    }
    if (api->version.major != 0 ||
        api->struct_size < offsetof(Api, function) + sizeof(void*) * (kBufferReadyEvent + 1)) {
      why_not = path + " has version " + std::to_string(api->version.major) + "." + std::to_string(api->version.minor) +
                " of PJRT's interface, which strided does not know";
      api = nullptr;
      return;
    }
    start();
  }

  void start() {
    const char* wanted = std::getenv("STRIDED_XLA_CPU_DEVICES");
    if (wanted && !*wanted) wanted = nullptr;
    char* end = nullptr;
    const long number = wanted ? std::strtol(wanted, &end, 10) : 0;
    if (wanted && (*end || number < 1 || number > kMostDevices)) {
      why_not =
          "STRIDED_XLA_CPU_DEVICES is a number from 1 to " + std::to_string(kMostDevices) + ", not '" + wanted + "'";
      return;
    }
    InitializeArgs initialize;
    if (failed(kPluginInitialize, &initialize)) return;
    ClientCreateArgs create;
    NamedValue count_option;
    if (wanted) {
      count_option.name = "cpu_device_count";
      count_option.name_size = std::strlen(count_option.name);
      count_option.value = number;
      create.options = &count_option;
      create.num_options = 1;
    }
    if (failed(kClientCreate, &create)) return;
    DevicesArgs list;
    list.client = create.client;
    if (failed(kClientAddressableDevices, &list)) return;
    client = create.client;
    devices = list.devices;
    count = static_cast<int>(std::min<size_t>(list.num_devices, kMostDevices));
  }

  bool has(Function f) const {
    return api->struct_size >= offsetof(Api, function) + sizeof(void*) * (f + 1) && api->function[f] != nullptr;
  }
  Error* call(Function f, void* arguments) const {
    return reinterpret_cast<Error* (*)(void*)>(api->function[f])(arguments);
  }
  // The text of an error, which is freed.
  std::string text_of(Error* error, int* code = nullptr) const {
    ErrorMessageArgs message;
    message.error = error;
    reinterpret_cast<void (*)(void*)>(api->function[kErrorMessage])(&message);
    std::string text(message.message, message.message_size);
    if (code) {
      ErrorCodeArgs get;
      get.error = error;
      call(kErrorGetCode, &get);
      *code = get.code;
    }
    ErrorArgs destroy;
    destroy.error = error;
    reinterpret_cast<void (*)(void*)>(api->function[kErrorDestroy])(&destroy);
    return text;
  }

 private:
  bool failed(Function f, void* arguments) {
    Error* error = call(f, arguments);
    if (error) why_not = "the PJRT plugin finds no device: " + text_of(error);
    return error != nullptr;
  }
};

const Plugin& plugin() {
  static const Plugin* p = new Plugin;  // open until the process ends: tensors may be freed last
  return *p;
}
const Plugin& working() {
  const Plugin& p = plugin();
  STRIDED_CHECK(p.client, RuntimeError, "XLA is not available: ", p.why_not, ". Use device='cpu'.");
  STRIDED_CHECK(p.process == getpid(), RuntimeError,
                "XLA cannot be used in a forked process, as it was used before the fork. Start processes by the method "
                "'spawn'.");
  return p;
}

void check(const Plugin& p, Error* error, const char* what) {
  if (!error) return;
  int code = 0;
  const std::string text = p.text_of(error, &code);
  // A program that fails when its results are read says so in words only.
  const bool no_memory = code == kResourceExhausted || text.find("Out of memory") != std::string::npos;
  if (no_memory) STRIDED_THROW(OutOfMemoryError, "XLA out of memory while it ", what, ": ", text);
  STRIDED_THROW(RuntimeError, "XLA error while it ", what, ": ", text);
}

void wait(const Plugin& p, Event* event, const char* what) {
  if (!event) return;
  EventArgs arguments;
  arguments.event = event;
  Error* error = p.call(kEventAwait, &arguments);
  EventArgs destroy;
  destroy.event = event;
  p.call(kEventDestroy, &destroy);
  check(p, error, what);
}

constexpr struct ElementType {
  DType dtype;
  const char* name;  // in StableHLO
  BufferType type;
} kElementTypes[] = {
    {DType::Bool, "i1", kPred},
    {DType::UInt8, "ui8", kU8},
    {DType::Int8, "i8", kS8},
    {DType::Int16, "i16", kS16},
    {DType::Int32, "i32", kS32},
    {DType::Int64, "i64", kS64},
    {DType::UInt16, "ui16", kU16},
    {DType::UInt32, "ui32", kU32},
    {DType::UInt64, "ui64", kU64},
    {DType::Float8_e4m3fn, "f8E4M3FN", kF8E4M3FN},
    {DType::Float8_e5m2, "f8E5M2", kF8E5M2},
    {DType::Float16, "f16", kF16},
    {DType::BFloat16, "bf16", kBF16},
    {DType::Float32, "f32", kF32},
    {DType::Float64, "f64", kF64},
    {DType::Complex64, "complex<f32>", kC64},
    {DType::Complex128, "complex<f64>", kC128},
};
const ElementType& element_of(DType dtype) {
  for (const ElementType& each : kElementTypes)
    if (each.dtype == dtype) return each;
  STRIDED_THROW(NotImplementedError, "device 'xla' has no elements of ", dtype);
}

}  // namespace

const char* element_type(DType dtype) { return element_of(dtype).name; }

void set_plugin_finder(std::string (*find)()) { find_plugin = find; }

int device_count() { return working().count; }
int device_count_or_zero() { return plugin().client ? plugin().count : 0; }
std::string why_no_plugin() { return plugin().client ? "" : plugin().why_not; }

std::string platform_name() {
  const Plugin& p = working();
  PlatformNameArgs arguments;
  arguments.client = p.client;
  check(p, p.call(kClientPlatformName, &arguments), "named its platform");
  return {arguments.name, arguments.name_size};
}
std::string device_kind(int device) {
  const Plugin& p = working();
  DescriptionArgs description;
  description.device = p.devices[device];
  check(p, p.call(kDeviceGetDescription, &description), "described a device");
  KindArgs kind;
  kind.description = description.description;
  check(p, p.call(kDescriptionKind, &kind), "described a device");
  return {kind.kind, kind.kind_size};
}

namespace {

// A CompileOptionsProto: executable_build_options { num_replicas: 1, num_partitions: 1 },
// compile_portable_executable: true, so that one program runs on any of the devices; of a mesh { num_replicas: 1,
// num_partitions: its size, use_spmd_partitioning: true }. On the CPU also env_option_overrides { key:
// "xla_cpu_enable_fast_min_max" value { bool_field: false } }: else the larger of a number and NaN is the number.
std::string compile_options(int mesh) {
  const std::string one("\x1a\x04\x20\x01\x28\x01\x20\x01", 8);
  std::string text = one;
  if (mesh) {
    std::string size;
    for (int rest = mesh; rest; rest >>= 7) size += static_cast<char>((rest & 127) | (rest >> 7 ? 128 : 0));
    const std::string build = std::string("\x20\x01\x28") + size + "\x30\x01";
    text = std::string("\x1a") + static_cast<char>(build.size()) + build;
  }
  if (platform_name() != "cpu") return text;
  const std::string name = "xla_cpu_enable_fast_min_max", no("\x12\x02\x10\x00", 4);
  const std::string entry = std::string("\x0a") + static_cast<char>(name.size()) + name + no;
  return text + "\x3a" + static_cast<char>(entry.size()) + entry;
}

}  // namespace

Executable* compile(const std::string& text, int mesh) {
  const Plugin& p = working();
  const std::string options = compile_options(mesh);
  Program program;
  program.code = text.data();
  program.code_size = text.size();
  CompileArgs arguments;
  arguments.client = p.client;
  arguments.program = &program;
  arguments.options = options.data();
  arguments.options_size = options.size();
  check(p, p.call(kClientCompile, &arguments), "compiled a program");
  return arguments.executable;
}

Buffer* upload(const void* data, DType dtype, const int64_t* shape, int ndim, int device) {
  const Plugin& p = working();
  FromHostArgs arguments;
  arguments.client = p.client;
  arguments.data = data;
  arguments.type = element_of(dtype).type;
  arguments.dims = shape;
  arguments.num_dims = static_cast<size_t>(ndim);
  arguments.device = p.devices[device];
  check(p, p.call(kBufferFromHostBuffer, &arguments), "copied to a device");
  try {
    wait(p, arguments.done_with_host, "copied to a device");
  } catch (...) {
    destroy(arguments.buffer);
    throw;
  }
  return arguments.buffer;
}

void execute(Executable* program, const BufferLists& in, BufferLists* out, int device) {
  const Plugin& p = working();
  ExecuteOptions options;
  ExecuteArgs arguments;
  std::vector<Buffer* const*> lists;
  std::vector<Buffer**> results;
  for (const auto& list : in) lists.push_back(list.data());
  for (auto& list : *out) results.push_back(list.data());
  arguments.executable = program;
  arguments.options = &options;
  arguments.argument_lists = lists.data();
  arguments.num_devices = lists.size();
  arguments.num_args = in[0].size();
  arguments.output_lists = results.data();
  arguments.device = lists.size() == 1 ? p.devices[device] : nullptr;
  check(p, p.call(kExecutableExecute, &arguments), "ran a program");
}

void wait_for(Buffer* buffer) {
  const Plugin& p = working();
  ReadyEventArgs ready;
  ready.buffer = buffer;
  check(p, p.call(kBufferReadyEvent, &ready), "waited for a program");
  wait(p, ready.event, "ran a program");
}

// Where the elements of an array are, if that is this process's memory. Arrays are flat: their layout is plain.
const char* host_bytes(const Plugin& p, Buffer* buffer) {
  if (!p.has(kBufferUnsafePointer)) return nullptr;
  IsOnCpuArgs where;
  where.buffer = buffer;
  check(p, p.call(kBufferIsOnCpu, &where), "asked where an array is");
  if (!where.is_on_cpu) return nullptr;
  UnsafePointerArgs at;
  at.buffer = buffer;
  check(p, p.call(kBufferUnsafePointer, &at), "asked where an array is");
  return reinterpret_cast<const char*>(at.pointer);
}

void download(Buffer* buffer, void* to, size_t offset, size_t size, size_t total) {
  const Plugin& p = working();
  // A copy by the plugin goes through one of its threads, which has to be woken first. An array whose program failed
  // has no place: that is raised before it is asked for.
  wait_for(buffer);
  if (const char* from = host_bytes(p, buffer)) {
    std::memcpy(to, from + offset, size);
    return;
  }
  if (size != total && p.has(kBufferCopyRawToHost)) {
    RawToHostArgs arguments;
    arguments.buffer = buffer;
    arguments.to = to;
    arguments.offset = static_cast<int64_t>(offset);
    arguments.size = static_cast<int64_t>(size);
    if (Error* error = p.call(kBufferCopyRawToHost, &arguments)) p.text_of(error);  // not every plugin can: see below
    else return wait(p, arguments.event, "copied from a device");
  }
  std::vector<char> whole(size == total ? 0 : total);
  ToHostArgs arguments;
  arguments.buffer = buffer;
  arguments.to = size == total ? to : whole.data();
  arguments.size = total;
  check(p, p.call(kBufferToHostBuffer, &arguments), "copied from a device");
  wait(p, arguments.event, "copied from a device");
  if (size != total) std::memcpy(to, whole.data() + offset, size);
}

Buffer* copy_to_device(Buffer* buffer, int device) {
  const Plugin& p = working();
  CopyToDeviceArgs arguments;
  arguments.buffer = buffer;
  arguments.device = p.devices[device];
  check(p, p.call(kBufferCopyToDevice, &arguments), "copied between devices");
  return arguments.copy;
}

void destroy(Buffer* buffer) {
  const Plugin& p = plugin();
  if (p.process != getpid()) return;
  BufferArgs arguments;
  arguments.buffer = buffer;
  if (Error* error = p.call(kBufferDestroy, &arguments)) p.text_of(error);
}

}  // namespace strided::xla
