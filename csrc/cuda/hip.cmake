# libstrided_cuda.so by hipcc, for AMD GPUs (STRIDED_HIP), and a test that compiles some units wherever there is a hipcc. Not
# through CMake's language HIP, which looks for ROCm's CMake files in places where Debian does not have them: each unit is a
# command.
find_program(hipcc hipcc HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES bin)
mark_as_advanced(hipcc)
list(TRANSFORM STRIDED_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE hip_targets)
# HIP_PLATFORM: where there is an nvcc too, hipcc would hand the source to that one.
set(hip_compile ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd ${hipcc} ${hip_targets} -x hip -std=c++17 -O3 -DNDEBUG -fPIC
    -fvisibility=hidden -fvisibility-inlines-hidden -Wno-unused-result -Wno-bitwise-conditional-parentheses -Wno-pass-failed
    -I${PROJECT_SOURCE_DIR}/csrc)

if(STRIDED_BUILD_TESTS)
  # Of all the words that portability_hip.h translates these two use most: the run time's, and those of kernels.
  foreach(unit runtime/allocator index/mask)
    cmake_path(GET unit FILENAME name)
    if(hipcc)
      add_test(NAME hip_compiles_${name} COMMAND ${hip_compile} -c ${CMAKE_CURRENT_SOURCE_DIR}/${unit}.cu
               -o ${CMAKE_CURRENT_BINARY_DIR}/hip_check_${name}.o)
    else()
      add_test(NAME hip_compiles_${name} COMMAND ${CMAKE_COMMAND} -E echo "there is no hipcc here")
      set_tests_properties(hip_compiles_${name} PROPERTIES SKIP_REGULAR_EXPRESSION "there is no hipcc here")
    endif()
  endforeach()
endif()

if(NOT STRIDED_HIP)
  return()
endif()
find_library(hip_runtime amdhip64 HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES lib)
if(NOT hipcc OR NOT hip_runtime OR STRIDED_CUDA STREQUAL "ON")
  message(FATAL_ERROR "strided: STRIDED_HIP needs hipcc (found: ${hipcc}) and the library amdhip64 (found: ${hip_runtime}), "
                      "and makes the same library as STRIDED_CUDA (${STRIDED_CUDA})")
endif()
message(STATUS "strided: the CUDA backend is built by ${hipcc} for ${STRIDED_HIP_ARCHITECTURES}")
set(hip_objects)
foreach(unit ${cuda_units})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${unit}.cu)
  string(REPLACE / _ name ${unit})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/hip_${name}.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d VERBATIM
                     COMMAND ${hip_compile} -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
                     COMMENT "Building HIP object ${unit}.o")
  list(APPEND hip_objects ${object})
endforeach()
add_library(strided_cuda SHARED ${hip_objects})
set_target_properties(strided_cuda PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(strided_cuda PRIVATE ${hip_runtime})
