// Results that are written past the caches.
#pragma once

#include <cstdint>

namespace strided {
namespace cpu {

// Note [Streamed results]
// An ordinary store reads its cache line first, from memory where the result is longer than the caches: a sum of two
// arrays moves four arrays instead of three. A streaming store does not, and leaves nothing in the caches. It pays
// where what is written will have left them before somebody reads it. Measured on Emerald Rapids, one thread, on a busy
// machine: a + b of 8 MB in 0.82 of the time, a + column of 16 MB in 0.54, a copy of 16 MB in 0.56. A chain of four
// operations, or of two and a sum, takes 1.4 to 1.6 times as long at 4 MB, 0.9 and 1.15 at 8 MB, 0.9 from 20 MB on.
// Loops stay as they are: they write into a block in the first-level cache, which is streamed from there (a + b of
// 8 MB: 1.15 of the time of a loop that has streaming stores itself).

// Bytes of a result from which on it is streamed, where one thread computes it. At first what suits the caches, or
// STRIDED_STREAM_BYTES in the environment.
int64_t streamed_from();
void set_streamed_from(int64_t bytes);
// Whether a result of so many bytes is streamed: more threads have more caches.
bool is_streamed(int64_t bytes);

// memcpy by streaming stores, from any place to any place. The caller ends with end_stream(). Few bytes are mostly the
// ends of lines, which are written as usual.
constexpr int64_t kLeastStreamed = 256;
void stream(char* to, const char* from, int64_t bytes);
// What was streamed is seen by other threads before anything that is written later.
void end_stream();

// A stretch of memory that is written from front to back, through a block that stays in the cache. What is put into the
// block leaves it with flush(), finish() or the destructor.
class Stream {
 public:
  static constexpr int64_t kBytes = 8192;
  explicit Stream(char* to);
  ~Stream() { finish(); }
  Stream(const Stream&) = delete;
  // Where the next bytes are put, and how many fit.
  char* next() { return block_ + filled_; }
  int64_t capacity() const { return kBytes - filled_; }
  void advance(int64_t bytes) {
    filled_ += bytes;
    if (filled_ > kBytes / 2) flush();
  }
  void flush();  // whole lines
  void finish();

 private:
  alignas(64) char block_[kBytes];
  char* to_;      // of the block's first byte, aligned to a line
  int64_t head_;  // bytes of the first line that are not ours
  int64_t filled_;
};

}  // namespace cpu
}  // namespace strided
