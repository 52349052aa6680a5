// The part of PJRT's C API that is used here: the interface of XLA's plugins (OpenXLA, xla/pjrt/c/pjrt_c_api.h, major
// version 0). Declared here because plugins are opened at run time; tests/python/xla/test_abi.py compares it with the
// header that a plugin's wheel brings. Structs only grow at their ends, and begin with the size that the caller knows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strided::xla::pjrt {

struct Error;
struct Event;
struct Client;
struct Device;
struct Memory;
struct Executable;
struct Buffer;

// Functions by their place in the plugin's table.
enum Function : int {
  kErrorDestroy = 0,
  kErrorMessage = 1,
  kErrorGetCode = 2,
  kPluginInitialize = 3,
  kEventDestroy = 5,
  kEventAwait = 8,
  kClientCreate = 10,
  kClientPlatformName = 12,
  kClientAddressableDevices = 16,
  kClientCompile = 20,
  kBufferFromHostBuffer = 22,
  kDescriptionKind = 26,
  kDeviceGetDescription = 29,
  kExecutableDestroy = 50,
  kExecutableExecute = 55,
  kBufferDestroy = 58,
  kBufferCopyToDevice = 69,
  kBufferToHostBuffer = 70,
  kBufferIsOnCpu = 71,
  kBufferReadyEvent = 72,
  kBufferUnsafePointer = 73,
  kBufferCopyRawToHost = 100,
  kNumFunctions = 101,
};
constexpr int kResourceExhausted = 8;  // of the error codes

struct Api {
  size_t struct_size;
  void* extension;
  struct {
    size_t struct_size;
    void* extension;
    int major, minor;
  } version;
  void* function[kNumFunctions];
};

enum BufferType : int {
  kPred = 1,
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kC64,
  kC128,
  kF8E5M2,
  kF8E4M3FN,
};

// Every struct of arguments begins like this.
template <class Derived>
struct Arguments {
  size_t struct_size = sizeof(Derived);
  void* extension = nullptr;
};

struct ErrorArgs : Arguments<ErrorArgs> {
  Error* error = nullptr;
};
struct ErrorMessageArgs : Arguments<ErrorMessageArgs> {
  const Error* error = nullptr;
  const char* message = nullptr;
  size_t message_size = 0;
};
struct ErrorCodeArgs : Arguments<ErrorCodeArgs> {
  const Error* error = nullptr;
  int code = 0;
};
struct InitializeArgs : Arguments<InitializeArgs> {};
struct EventArgs : Arguments<EventArgs> {
  Event* event = nullptr;
};

struct NamedValue : Arguments<NamedValue> {
  const char* name = nullptr;
  size_t name_size = 0;
  int type = 1;  // an int64
  int64_t value = 0;
  size_t value_size = 1;
};
struct ClientCreateArgs : Arguments<ClientCreateArgs> {
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  void *get = nullptr, *get_arg = nullptr, *put = nullptr, *put_arg = nullptr;
  Client* client = nullptr;
  void *try_get = nullptr, *try_get_arg = nullptr;
};
struct PlatformNameArgs : Arguments<PlatformNameArgs> {
  Client* client = nullptr;
  const char* name = nullptr;
  size_t name_size = 0;
};
struct DevicesArgs : Arguments<DevicesArgs> {
  Client* client = nullptr;
  Device* const* devices = nullptr;
  size_t num_devices = 0;
};
struct DescriptionArgs : Arguments<DescriptionArgs> {
  Device* device = nullptr;
  void* description = nullptr;
};
struct KindArgs : Arguments<KindArgs> {
  void* description = nullptr;
  const char* kind = nullptr;
  size_t kind_size = 0;
};

struct Program : Arguments<Program> {
  const char* code = nullptr;
  size_t code_size = 0;
  const char* format = "mlir";
  size_t format_size = 4;
};
struct CompileArgs : Arguments<CompileArgs> {
  Client* client = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;  // a CompileOptionsProto
  size_t options_size = 0;
  Executable* executable = nullptr;
};
struct ExecutableArgs : Arguments<ExecutableArgs> {
  Executable* executable = nullptr;
};

struct FromHostArgs : Arguments<FromHostArgs> {
  Client* client = nullptr;
  const void* data = nullptr;
  int type = 0;
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* byte_strides = nullptr;
  size_t num_byte_strides = 0;
  int semantics = 0;  // the data is not read after the call
  Device* device = nullptr;
  Memory* memory = nullptr;
  void* layout = nullptr;
  Event* done_with_host = nullptr;
  Buffer* buffer = nullptr;
};

struct ExecuteOptions : Arguments<ExecuteOptions> {
  void *send_callbacks = nullptr, *receive_callbacks = nullptr;
  size_t num_send = 0, num_receive = 0;
  int launch_id = 0;
  const int64_t* non_donatable = nullptr;
  size_t num_non_donatable = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
};
struct ExecuteArgs : Arguments<ExecuteArgs> {
  Executable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* argument_lists = nullptr;
  size_t num_devices = 1, num_args = 0;
  Buffer** const* output_lists = nullptr;
  Event** complete = nullptr;
  Device* device = nullptr;
};

struct BufferArgs : Arguments<BufferArgs> {
  Buffer* buffer = nullptr;
};
struct ReadyEventArgs : Arguments<ReadyEventArgs> {
  Buffer* buffer = nullptr;
  Event* event = nullptr;
};
struct CopyToDeviceArgs : Arguments<CopyToDeviceArgs> {
  Buffer* buffer = nullptr;
  Device* device = nullptr;
  Buffer* copy = nullptr;
};
struct ToHostArgs : Arguments<ToHostArgs> {
  Buffer* buffer = nullptr;
  void* layout = nullptr;
  void* to = nullptr;
  size_t size = 0;
  Event* event = nullptr;
};
struct IsOnCpuArgs : Arguments<IsOnCpuArgs> {
  Buffer* buffer = nullptr;
  bool is_on_cpu = false;
};
struct UnsafePointerArgs : Arguments<UnsafePointerArgs> {
  Buffer* buffer = nullptr;
  uintptr_t pointer = 0;
};
struct RawToHostArgs : Arguments<RawToHostArgs> {
  Buffer* buffer = nullptr;
  void* to = nullptr;
  int64_t offset = 0, size = 0;
  Event* event = nullptr;
};

}  // namespace strided::xla::pjrt
