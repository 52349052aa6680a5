// Zip archives, as PyTorch's files are: entries stored as they are, each at a multiple of 64 bytes, with the extensions
// for more than 65535 entries and 4 GiB (PKWARE, ".ZIP File Format Specification", version 6.3.10).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/io.h"

namespace strided::files {

class ZipReader {
 public:
  struct Entry {
    std::string name;
    uint64_t header;        // where its own header is
    uint64_t packed, size;  // bytes in the archive, and of the content
    uint64_t end;           // where the next entry, or the directory, begins
    uint32_t crc;
    uint16_t method, flags;
  };
  static constexpr uint16_t kStored = 0, kDeflated = 8;

  // Reads the directory and checks it: RuntimeError for what is no archive, and for a damaged or hostile one.
  explicit ZipReader(Source& source);
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  // Where the entry's bytes begin, from its own header, which must agree with the directory.
  uint64_t begin_of(const Entry& entry) const;
  // Reads a stored entry, of which `to` has room for `size` bytes, and compares its checksum.
  void read(const Entry& entry, void* to) const;
  // Reads n bytes of a stored entry that begins at `begin`; the checksum of those before them is taken further.
  void read_part(const Entry& entry, uint64_t begin, uint64_t at, void* to, uint64_t n, uint32_t* crc) const;
  // The checksum that the directory has, against that of the content. Zero in the directory means that there is none:
  // PyTorch writes it where checksums were switched off.
  static void check_crc(const Entry& entry, uint32_t found);
  // RuntimeError if the content is far larger than the archive: what a few bytes claim would fill the memory.
  void check_expansion() const;
  Source& source() const { return source_; }

 private:
  struct Directory {
    uint64_t begin, size, count;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  void check_places(uint64_t end);

  Source& source_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

class ZipWriter {
 public:
  explicit ZipWriter(Sink& sink, bool checksums = true) : sink_(sink), checksums_(checksums) {}
  void add(std::string_view name, const void* data, uint64_t size);
  void finish();  // the directory; nothing may be added after it

 private:
  struct Entry {
    std::string name;
    uint64_t header, size;
    uint32_t crc;
  };
  void write_header(std::string_view name, uint64_t size);

  Sink& sink_;
  bool checksums_;
  std::vector<Entry> entries_;
};

}  // namespace strided::files
