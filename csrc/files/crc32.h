// The checksum of zip archives: CRC-32 with the reflected polynomial 0xEDB88320.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strided::files {

// The checksum of what `crc` is the checksum of, followed by n more bytes; 0 is that of nothing.
uint32_t crc32(uint32_t crc, const void* data, size_t n);

}  // namespace strided::files
