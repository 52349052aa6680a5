#include <algorithm>

#include "files/crc32.h"
#include "files/zip.h"

namespace strided::files {
namespace {

constexpr uint32_t kEntryMark = 0x04034b50, kDirectoryMark = 0x02014b50, kEndMark = 0x06054b50;
constexpr uint32_t kEnd64Mark = 0x06064b50, kLocator64Mark = 0x07064b50;
constexpr size_t kEntryHeader = 30, kDirectoryRow = 46, kEnd = 22, kEnd64 = 56, kLocator64 = 20;
constexpr uint64_t kAll16 = 0xFFFF, kAll32 = 0xFFFFFFFF;
constexpr uint64_t kPiece = uint64_t(1) << 20;  // read and summed while it is in the cache
// What is unpacked without a question, and how many times its size an archive may hold beyond that.
constexpr uint64_t kLargestExpansion = uint64_t(1) << 30, kLargestRatio = 100;

// A number of `bytes` bytes, little-endian.
uint64_t number(const uint8_t* p, int bytes) {
  uint64_t n = 0;
  for (int i = bytes - 1; i >= 0; --i) n = n << 8 | p[i];
  return n;
}

// A name as an error shows it: what is no printable ASCII may be no text at all.
std::string shown(const std::string& name) {
  std::string s = name.substr(0, 80);
  for (char& c : s)
    if (c < 32 || c > 126) c = '?';
  return name.size() > 80 ? "'" + s + "...'" : "'" + s + "'";
}

// Sizes and offsets that do not fit 32 bits stand in an extra field, in a fixed order, those only that do not fit.
void read_wide_fields(const std::string& name, const uint8_t* extra, size_t n,
                      std::initializer_list<uint64_t*> fields) {
  const bool wide = std::any_of(fields.begin(), fields.end(), [](const uint64_t* f) { return *f == kAll32; });
  if (!wide) return;
  for (size_t at = 0; n - at >= 4;) {
    const size_t length = number(extra + at + 2, 2);
    STRIDED_CHECK(length <= n - at - 4, RuntimeError, "zip: an extra field of entry ", shown(name), " is too long");
    if (number(extra + at, 2) == 1) {
      size_t taken = 0;
      for (uint64_t* field : fields) {
        if (*field != kAll32) continue;
        STRIDED_CHECK(length - taken >= 8, RuntimeError, "zip: the 64-bit sizes of entry ", shown(name),
                      " are missing");
        *field = number(extra + at + 4 + taken, 8);
        taken += 8;
      }
      return;
    }
    at += 4 + length;
  }
}

// A name that would leave the folder that the archive is taken apart in.
bool leads_outside(const std::string& name) {
  if (name.empty() || name[0] == '/' || name.find('\\') != std::string::npos) return true;
  if (name.find('\0') != std::string::npos || (name.size() > 1 && name[1] == ':')) return true;
  return name == ".." || name.rfind("../", 0) == 0 || name.find("/../") != std::string::npos ||
         (name.size() > 2 && name.compare(name.size() - 3, 3, "/..") == 0);
}

}  // namespace

ZipReader::ZipReader(Source& source) : source_(source) {
  const Directory directory = find_directory();
  read_directory(directory);
  check_places(directory.begin);
}

ZipReader::Directory ZipReader::find_directory() const {
  // The last record of the file, before a comment of at most 65535 bytes.
  const size_t tail = static_cast<size_t>(std::min<uint64_t>(source_.size(), kEnd + kAll16));
  std::vector<uint8_t> bytes(tail);
  source_.read(source_.size() - tail, bytes.data(), tail);
  size_t at = tail < kEnd ? tail : tail - kEnd + 1;
  while (at-- > 0)
    if (tail >= kEnd && number(&bytes[at], 4) == kEndMark && at + kEnd + number(&bytes[at + 20], 2) == tail) break;
  STRIDED_CHECK(at < tail, RuntimeError, "zip: no end record: this is no zip archive, or its end is missing");
  const uint8_t* end = &bytes[at];
  const uint64_t end_at = source_.size() - tail + at;
  Directory d{number(end + 16, 4), number(end + 12, 4), number(end + 10, 2)};
  bool parts = number(end + 4, 2) != number(end + 6, 2) || number(end + 8, 2) != d.count;
  uint64_t after = end_at;
  // Writers may add the 64-bit record where nothing needs it, as PyTorch does.
  if (end_at >= kLocator64 + kEnd64) {
    uint8_t locator[kLocator64], wide[kEnd64];
    source_.read(end_at - kLocator64, locator, kLocator64);
    if (number(locator, 4) == kLocator64Mark) {
      after = number(locator + 8, 8);
      STRIDED_CHECK(after <= end_at - kLocator64 - kEnd64, RuntimeError, "zip: the 64-bit end record is out of place");
      source_.read(after, wide, kEnd64);
      STRIDED_CHECK(number(wide, 4) == kEnd64Mark && number(wide + 4, 8) == end_at - kLocator64 - after - 12,
                    RuntimeError, "zip: the 64-bit end record is damaged");
      const Directory full{number(wide + 48, 8), number(wide + 40, 8), number(wide + 32, 8)};
      STRIDED_CHECK((d.count == kAll16 || d.count == full.count) && (d.size == kAll32 || d.size == full.size) &&
                        (d.begin == kAll32 || d.begin == full.begin),
                    RuntimeError, "zip: the two end records contradict each other");
      d = full;
      parts = number(wide + 24, 8) != d.count;
    }
  }
  STRIDED_CHECK(!parts, RuntimeError, "zip: archives in several parts are not read");
  STRIDED_CHECK(d.begin <= after && d.size == after - d.begin, RuntimeError, "zip: the directory is said to be bytes ",
                d.begin, " to ", d.begin + d.size, ", but it ends at ", after);
  STRIDED_CHECK(d.count <= d.size / kDirectoryRow, RuntimeError, "zip: a directory of ", d.size, " bytes has no ",
                d.count, " entries");
  return d;
}

void ZipReader::read_directory(const Directory& directory) {
  std::vector<uint8_t> bytes(directory.size);
  source_.read(directory.begin, bytes.data(), bytes.size());
  entries_.reserve(directory.count);
  by_name_.reserve(directory.count);
  size_t at = 0;
  for (uint64_t i = 0; i < directory.count; ++i) {
    const uint8_t* row = bytes.data() + at;
    STRIDED_CHECK(bytes.size() - at >= kDirectoryRow && number(row, 4) == kDirectoryMark, RuntimeError, "zip: row ", i,
                  " of the directory is damaged");
    const size_t name = number(row + 28, 2), extra = number(row + 30, 2), comment = number(row + 32, 2);
    STRIDED_CHECK(bytes.size() - at - kDirectoryRow >= name + extra + comment, RuntimeError, "zip: row ", i,
                  " of the directory is longer than the directory");
    Entry e{std::string(reinterpret_cast<const char*>(row + kDirectoryRow), name),
            number(row + 42, 4),
            number(row + 20, 4),
            number(row + 24, 4),
            0,
            static_cast<uint32_t>(number(row + 16, 4)),
            static_cast<uint16_t>(number(row + 10, 2)),
            static_cast<uint16_t>(number(row + 8, 2))};
    read_wide_fields(e.name, row + kDirectoryRow + name, extra, {&e.size, &e.packed, &e.header});
    STRIDED_CHECK(!leads_outside(e.name), RuntimeError, "zip: the name of entry ", i,
                  " leads out of the archive: ", shown(e.name));
    STRIDED_CHECK((e.flags & 0x2041) == 0, RuntimeError, "zip: entry ", shown(e.name), " is encrypted");
    STRIDED_CHECK(e.method == kStored || e.method == kDeflated, RuntimeError, "zip: entry ", shown(e.name),
                  " is compressed by method ", e.method, "; stored (0) and deflated (8) ones are read");
    STRIDED_CHECK(e.method != kStored || e.packed == e.size, RuntimeError, "zip: entry ", shown(e.name),
                  " is stored, but has ", e.packed, " bytes here and ", e.size, " there");
    at += kDirectoryRow + name + extra + comment;
    entries_.push_back(std::move(e));
  }
  STRIDED_CHECK(at == bytes.size(), RuntimeError, "zip: ", bytes.size() - at, " bytes of the directory are no entries");
  for (size_t i = 0; i < entries_.size(); ++i)
    STRIDED_CHECK(by_name_.emplace(entries_[i].name, i).second, RuntimeError, "zip: two entries are called ",
                  shown(entries_[i].name));
}

// Entries may not overlap, nor reach into the directory: a few bytes would stand for many.
void ZipReader::check_places(uint64_t end) {
  std::vector<Entry*> order;
  order.reserve(entries_.size());
  for (Entry& e : entries_) order.push_back(&e);
  const auto before = [](const Entry* a, const Entry* b) { return a->header < b->header; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  for (size_t i = 0; i < order.size(); ++i) {
    Entry& e = *order[i];
    e.end = i + 1 < order.size() ? order[i + 1]->header : end;
    STRIDED_CHECK(e.header <= e.end && e.end <= end && e.end - e.header >= kEntryHeader &&
                      e.end - e.header - kEntryHeader >= e.packed,
                  RuntimeError, "zip: entry ", shown(e.name), " overlaps another one, or the end of the archive");
  }
}

const ZipReader::Entry* ZipReader::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

uint64_t ZipReader::begin_of(const Entry& entry) const {
  uint8_t header[kEntryHeader];
  source_.read(entry.header, header, kEntryHeader);
  STRIDED_CHECK(number(header, 4) == kEntryMark && number(header + 8, 2) == entry.method &&
                    number(header + 26, 2) == entry.name.size(),
                RuntimeError, "zip: the header of entry ", shown(entry.name), " is damaged");
  std::string name(entry.name.size(), '\0');
  source_.read(entry.header + kEntryHeader, name.data(), name.size());
  STRIDED_CHECK(name == entry.name, RuntimeError, "zip: entry ", shown(entry.name), " has another name in its header");
  const uint64_t begin = entry.header + kEntryHeader + name.size() + number(header + 28, 2);
  STRIDED_CHECK(begin <= entry.end && entry.packed <= entry.end - begin, RuntimeError, "zip: entry ", shown(entry.name),
                " overlaps another one, or the end of the archive");
  return begin;
}

void ZipReader::read(const Entry& entry, void* to) const {
  uint32_t crc = 0;
  read_part(entry, begin_of(entry), 0, to, entry.size, &crc);
  check_crc(entry, crc);
}

void ZipReader::read_part(const Entry& entry, uint64_t begin, uint64_t at, void* to, uint64_t n, uint32_t* crc) const {
  STRIDED_CHECK(entry.method == kStored, RuntimeError, "zip: entry ", shown(entry.name), " is compressed");
  auto* p = static_cast<uint8_t*>(to);
  while (n > 0) {
    const size_t piece = static_cast<size_t>(std::min(kPiece, n));
    source_.read(begin + at, p, piece);
    if (entry.crc != 0) *crc = crc32(*crc, p, piece);
    at += piece;
    p += piece;
    n -= piece;
  }
}

void ZipReader::check_expansion() const {
  uint64_t size = 0;
  for (const Entry& e : entries_) {
    if (e.method == kStored) continue;
    STRIDED_CHECK(e.size <= UINT64_MAX - size, RuntimeError, "zip: the sizes of the entries overflow");
    size += e.size;
  }
  STRIDED_CHECK(size <= kLargestExpansion || size / kLargestRatio <= source_.size(), RuntimeError,
                "zip: an archive of ", source_.size(), " bytes says that it holds ", size,
                ": more than a hundred times as many are not unpacked");
}

void ZipReader::check_crc(const Entry& entry, uint32_t found) {
  STRIDED_CHECK(entry.crc == 0 || entry.crc == found, RuntimeError, "zip: the content of entry ", shown(entry.name),
                " is damaged: its checksum is ", found, ", not ", entry.crc);
}

}  // namespace strided::files
