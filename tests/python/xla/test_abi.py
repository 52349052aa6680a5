"""csrc/xla/pjrt.h declares what PJRT's header declares: a plugin's wheel brings that header."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Their structs and ours: the size that the caller tells, and where fields are.
STRUCTS = """
PJRT_Error_Destroy_Args ErrorArgs
  error
PJRT_Error_Message_Args ErrorMessageArgs
  error message message_size
PJRT_Error_GetCode_Args ErrorCodeArgs
  error code
PJRT_Plugin_Initialize_Args InitializeArgs
PJRT_Event_Await_Args EventArgs
  event
PJRT_Event_Destroy_Args EventArgs
  event
PJRT_NamedValue NamedValue
  name name_size type int64_value=value value_size
PJRT_Client_Create_Args ClientCreateArgs
  create_options=options num_options kv_get_callback=get client kv_try_get_user_arg=try_get_arg
PJRT_Client_PlatformName_Args PlatformNameArgs
  client platform_name=name platform_name_size=name_size
PJRT_Client_AddressableDevices_Args DevicesArgs
  client addressable_devices=devices num_addressable_devices=num_devices
PJRT_Device_GetDescription_Args DescriptionArgs
  device device_description=description
PJRT_DeviceDescription_Kind_Args KindArgs
  device_description=description device_kind=kind device_kind_size=kind_size
PJRT_Program Program
  code code_size format format_size
PJRT_Client_Compile_Args CompileArgs
  client program compile_options=options compile_options_size=options_size executable
PJRT_LoadedExecutable_Destroy_Args ExecutableArgs
  executable
PJRT_Client_BufferFromHostBuffer_Args FromHostArgs
  client data type dims num_dims byte_strides num_byte_strides host_buffer_semantics=semantics
  device memory device_layout=layout done_with_host_buffer=done_with_host buffer
PJRT_ExecuteOptions ExecuteOptions
  launch_id num_non_donatable_input_indices=num_non_donatable context incarnation_ids
PJRT_LoadedExecutable_Execute_Args ExecuteArgs
  executable options argument_lists num_devices num_args output_lists
  device_complete_events=complete execute_device=device
PJRT_Buffer_Destroy_Args BufferArgs
  buffer
PJRT_Buffer_ReadyEvent_Args ReadyEventArgs
  buffer event
PJRT_Buffer_IsOnCpu_Args IsOnCpuArgs
  buffer is_on_cpu
PJRT_Buffer_UnsafePointer_Args UnsafePointerArgs
  buffer buffer_pointer=pointer
PJRT_Buffer_CopyToDevice_Args CopyToDeviceArgs
  buffer dst_device=device dst_buffer=copy
PJRT_Buffer_ToHostBuffer_Args ToHostArgs
  src=buffer host_layout=layout dst=to dst_size=size event
PJRT_Buffer_CopyRawToHost_Args RawToHostArgs
  buffer dst=to offset transfer_size=size event
"""
FUNCTIONS = """
kErrorDestroy PJRT_Error_Destroy
kErrorMessage PJRT_Error_Message
kErrorGetCode PJRT_Error_GetCode
kPluginInitialize PJRT_Plugin_Initialize
kEventDestroy PJRT_Event_Destroy
kEventAwait PJRT_Event_Await
kClientCreate PJRT_Client_Create
kClientPlatformName PJRT_Client_PlatformName
kClientAddressableDevices PJRT_Client_AddressableDevices
kClientCompile PJRT_Client_Compile
kBufferFromHostBuffer PJRT_Client_BufferFromHostBuffer
kDescriptionKind PJRT_DeviceDescription_Kind
kDeviceGetDescription PJRT_Device_GetDescription
kExecutableDestroy PJRT_LoadedExecutable_Destroy
kExecutableExecute PJRT_LoadedExecutable_Execute
kBufferDestroy PJRT_Buffer_Destroy
kBufferCopyToDevice PJRT_Buffer_CopyToDevice
kBufferToHostBuffer PJRT_Buffer_ToHostBuffer
kBufferReadyEvent PJRT_Buffer_ReadyEvent
kBufferCopyRawToHost PJRT_Buffer_CopyRawToHost
"""
DTYPES = "Pred S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 BF16 C64 C128 F8E5M2 F8E4M3FN".split()
CONSTANTS = {
    "kResourceExhausted": "PJRT_Error_Code_RESOURCE_EXHAUSTED",
    **{f"k{t}": f"PJRT_Buffer_Type_{t.upper()}" for t in DTYPES},
}


def header() -> Path | None:
    try:
        spec = importlib.util.find_spec("xla_plugins.xla_cpu_pjrt")
    except ModuleNotFoundError:
        return None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (found := Path(folder, "include", "pjrt_c_api.h")).exists():
            return found
    return None


def test_declarations_agree(tmp_path):
    theirs, compiler = header(), os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if theirs is None:
        pytest.skip("no PJRT plugin that brings its header: pip install 'strided[xla]'")
    if compiler is None:
        pytest.skip("no C++ compiler")
    lines = [f'#include "{theirs}"', '#include "xla/pjrt.h"', "namespace p = strided::xla::pjrt;"]
    for line in STRUCTS.strip().split("\n"):
        if not line.startswith(" "):
            a, b = line.split()
            lines.append(f'static_assert(sizeof({a}) == sizeof(p::{b}), "{a}");')
            continue
        for field in line.split():
            x, _, y = field.partition("=")
            lines.append(f'static_assert(offsetof({a}, {x}) == offsetof(p::{b}, {y or x}), "{a} {x}");')
    for line in FUNCTIONS.strip().split("\n"):
        ours, name = line.split()
        lines.append(
            f'static_assert(offsetof(PJRT_Api, {name}) == offsetof(p::Api, function) + 8 * p::{ours}, "{name}");'
        )
    for ours, name in CONSTANTS.items():
        lines.append(f'static_assert(int(p::{ours}) == int({name}), "{name}");')
    lines.append("static_assert(offsetof(PJRT_Api, pjrt_api_version) == offsetof(p::Api, version));")
    lines.append("static_assert(PJRT_API_MAJOR == 0);")
    source = tmp_path / "abi.cpp"
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [compiler, "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{ROOT / 'csrc'}", str(source)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[:3000]
