// Which names a pickle would look up. The opcodes are stepped over, and of their values only texts are kept.

#include "python/files/opcodes.h"
#include "python/files/unpickle.h"

namespace strided::python {
namespace {

class Scanner {
 public:
  Scanner(const uint8_t* data, size_t n) : at_(data), end_(data + n) {}

  std::vector<std::string> run() {
    while (at_ < end_ && step(*at_++)) continue;
    return std::move(names_);
  }

 private:
  // The text that an opcode puts on the stack is remembered; the last two of them name a global.
  void text(std::string s) {
    before_ = std::move(last_);
    last_ = std::move(s);
  }
  uint64_t number(int bytes) {
    uint64_t n = 0;
    for (int i = 0; i < bytes; ++i) n |= static_cast<uint64_t>(i < end_ - at_ ? at_[i] : 0) << 8 * i;
    skip(static_cast<uint64_t>(bytes));
    return n;
  }
  void skip(uint64_t n) { at_ += n < static_cast<uint64_t>(end_ - at_) ? static_cast<ptrdiff_t>(n) : end_ - at_; }
  std::string sized(int bytes) {
    const uint64_t n = number(bytes);
    const auto* from = reinterpret_cast<const char*>(at_);
    skip(n);
    return std::string(from, reinterpret_cast<const char*>(at_));
  }
  std::string line() {
    std::string s;
    while (at_ < end_ && *at_ != '\n') s.push_back(static_cast<char>(*at_++));
    skip(1);
    return s;
  }
  void put(uint64_t index) {
    if (index < memo_.size() + 4096) {
      if (index >= memo_.size()) memo_.resize(index + 1);
      memo_[index] = last_;
    }
  }
  void get(uint64_t index) {
    if (index < memo_.size()) text(memo_[index]);
  }

  bool step(uint8_t opcode) {
    switch (opcode) {
      case op::Stop: return false;
      case op::Global:
      case op::Inst: {
        const std::string module = line();
        names_.push_back(module + "." + line());
        return true;
      }
      case op::StackGlobal: names_.push_back(before_ + "." + last_); return true;
      case op::ShortBinUnicode: text(sized(1)); return true;
      case op::BinUnicode: text(sized(4)); return true;
      case op::BinUnicode8: text(sized(8)); return true;
      case op::Unicode: text(line()); return true;
      case op::BinGet: get(number(1)); return true;
      case op::LongBinGet: get(number(4)); return true;
      case op::BinPut: put(number(1)); return true;
      case op::LongBinPut: put(number(4)); return true;
      case op::Memoize: put(memo_.size()); return true;
      case op::Int:
      case op::Long:
      case op::Float:
      case op::String:
      case op::PersId:
      case op::Get:
      case op::Put: line(); return true;
      case op::Proto:
      case op::BinInt1:
      case op::Ext1: skip(1); return true;
      case op::BinInt2:
      case op::Ext2: skip(2); return true;
      case op::BinInt:
      case op::Ext4: skip(4); return true;
      case op::BinFloat:
      case op::Frame: skip(8); return true;
      case op::Long1:
      case op::ShortBinString:
      case op::ShortBinBytes: skip(number(1)); return true;
      case op::Long4:
      case op::BinString:
      case op::BinBytes: skip(number(4)); return true;
      case op::BinBytes8:
      case op::ByteArray8: skip(number(8)); return true;
      default: return true;
    }
  }

  const uint8_t *at_, *end_;
  std::string last_, before_;
  std::vector<std::string> memo_, names_;
};

}  // namespace

std::vector<std::string> names_in_pickle(const uint8_t* data, size_t n) { return Scanner(data, n).run(); }

}  // namespace strided::python
