// Texts of operations, each kept once: Note [Texts] in graph.h.
#include <unordered_map>
#include <unordered_set>

#include "xla/graph.h"

namespace strided::xla {
namespace {

struct Found {
  std::vector<int64_t> words;
  Text text;
};
std::unordered_map<uint64_t, std::vector<Found>>& table() {
  static auto* kept = new std::unordered_map<uint64_t, std::vector<Found>>;
  return *kept;
}

const std::string* empty_text() {
  static const auto* text = new std::string;
  return text;
}

const std::string* kept_text(const std::string& text) {
  if (text.empty()) return empty_text();
  static auto* kept = new std::unordered_set<std::string>;  // whose elements stay where they are
  return &*kept->insert(text).first;
}

}  // namespace

Text::Text() : text_(empty_text()) {}
Text::Text(const std::string& text) : text_(kept_text(text)) {}

uint64_t Words::hash() const {
  uint64_t hash = 0x9E3779B97F4A7C15;
  for (int i = 0; i < count_; ++i) {
    hash = (hash ^ static_cast<uint64_t>(words_[i])) * 0xD6E8FEB86659FD93;
    hash ^= hash >> 32;
  }
  return hash;
}

const Text* Words::find(uint64_t hash) const {
  const auto at = table().find(hash);
  if (at == table().end()) return nullptr;
  for (const Found& found : at->second)
    if (*this == found.words) return &found.text;
  return nullptr;
}

Text Words::keep(uint64_t hash, const Text& text) const {
  table()[hash].push_back({list(), text});
  return text;
}

}  // namespace strided::xla
