// Numbers that NVIDIA's libraries have in common. The tests of declarations compare them with NVIDIA's headers.
#pragma once

namespace strided {
namespace cuda {

constexpr int kMajorVersion = 0, kMinorVersion = 1;  // libraryPropertyType
constexpr int kDataTypes[4] = {0, 1, 4, 5};          // cudaDataType: float, double and their complex numbers

}  // namespace cuda
}  // namespace strided
