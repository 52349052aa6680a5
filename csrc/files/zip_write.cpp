#include <algorithm>

#include "files/crc32.h"
#include "files/zip.h"

namespace strided::files {
namespace {

constexpr uint64_t kAlign = 64, kAll16 = 0xFFFF, kAll32 = 0xFFFFFFFF;
constexpr uint64_t kPiece = uint64_t(1) << 20;  // summed and written while it is in the cache
// A description with the checksum follows the content (bit 3), and names are UTF-8 (bit 11).
constexpr uint16_t kFlags = 0x0808;
constexpr uint16_t kPaddingId = 0x4246;  // of an extra field without meaning; PyTorch pads with the same
constexpr uint16_t kDosDate = 0x0021;    // 1980-01-01: the same content gives the same file

class Record {
 public:
  Record() { bytes_.reserve(256); }
  Record& put(uint64_t value, int bytes) {
    char text[8];
    for (int i = 0; i < bytes; ++i) text[i] = static_cast<char>(value >> 8 * i);
    bytes_.append(text, static_cast<size_t>(bytes));
    return *this;
  }
  Record& put(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  void pad(size_t n) { bytes_.append(n, 'Z'); }
  size_t size() const { return bytes_.size(); }
  void write_to(Sink& sink) const { sink.write(bytes_.data(), bytes_.size()); }

 private:
  std::string bytes_;
};

}  // namespace

void ZipWriter::write_header(std::string_view name, uint64_t size) {
  const bool wide = size >= kAll32;
  const uint64_t fixed = 30 + name.size() + (wide ? 20 : 0);
  const uint64_t padding = (kAlign - (sink_.written() + fixed + 4) % kAlign) % kAlign;
  Record r;
  r.put(0x04034b50, 4).put(wide ? 45 : 20, 2).put(kFlags, 2).put(0, 2).put(0, 2).put(kDosDate, 2).put(0, 4);
  r.put(wide ? kAll32 : size, 4).put(wide ? kAll32 : size, 4).put(name.size(), 2);
  r.put(fixed - 30 - name.size() + 4 + padding, 2).put(name);
  if (wide) r.put(1, 2).put(16, 2).put(size, 8).put(size, 8);
  r.put(kPaddingId, 2).put(padding, 2).pad(padding);
  r.write_to(sink_);
}

void ZipWriter::add(std::string_view name, const void* data, uint64_t size) {
  Entry e{std::string(name), sink_.written(), size, 0};
  write_header(name, size);
  auto* p = static_cast<const uint8_t*>(data);
  for (uint64_t at = 0; at < size; at += kPiece) {
    const size_t n = static_cast<size_t>(std::min(kPiece, size - at));
    if (checksums_) e.crc = crc32(e.crc, p + at, n);
    sink_.write(p + at, n);
  }
  const int width = size >= kAll32 ? 8 : 4;
  Record().put(0x08074b50, 4).put(e.crc, 4).put(size, width).put(size, width).write_to(sink_);
  entries_.push_back(std::move(e));
}

void ZipWriter::finish() {
  const uint64_t begin = sink_.written(), count = entries_.size();
  for (const Entry& e : entries_) {
    Record wide;
    if (e.size >= kAll32) wide.put(e.size, 8).put(e.size, 8);
    if (e.header >= kAll32) wide.put(e.header, 8);
    const size_t extra = wide.size() ? wide.size() + 4 : 0;
    const uint64_t size = std::min(e.size, kAll32);
    Record r;
    r.put(0x02014b50, 4).put(extra ? 45 : 20, 2).put(extra ? 45 : 20, 2).put(kFlags, 2).put(0, 2).put(0, 2);
    r.put(kDosDate, 2).put(e.crc, 4).put(size, 4).put(size, 4).put(e.name.size(), 2).put(extra, 2).put(0, 2);
    r.put(0, 2).put(0, 2).put(0, 4).put(std::min(e.header, kAll32), 4).put(e.name);
    if (extra) r.put(1, 2).put(wide.size(), 2);
    r.write_to(sink_);
    wide.write_to(sink_);
  }
  const uint64_t end = sink_.written(), size = end - begin;
  if (count >= kAll16 || size >= kAll32 || begin >= kAll32) {
    Record r;
    r.put(0x06064b50, 4).put(44, 8).put(45, 2).put(45, 2).put(0, 4).put(0, 4);
    r.put(count, 8).put(count, 8).put(size, 8).put(begin, 8);
    r.put(0x07064b50, 4).put(0, 4).put(end, 8).put(1, 4);
    r.write_to(sink_);
  }
  Record r;
  r.put(0x06054b50, 4).put(0, 2).put(0, 2).put(std::min(count, kAll16), 2).put(std::min(count, kAll16), 2);
  r.put(std::min(size, kAll32), 4).put(std::min(begin, kAll32), 4).put(0, 2);
  r.write_to(sink_);
  sink_.flush();
}

}  // namespace strided::files
