#include "ops/named_formula.h"

#include <string_view>

namespace strided {
namespace {

constexpr std::string_view kNotShown = "-";

template <class F>
void for_each_name(const char* names, F f) {
  for (std::string_view rest = names; !rest.empty();) {
    const size_t end = rest.find(' ');
    f(rest.substr(0, end));
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
}

}  // namespace

int place_of_name(const char* names, const char* name) {
  int place = 0, found = -1;
  for_each_name(names, [&](std::string_view each) {
    if (each == name && each != kNotShown) found = place;
    ++place;
  });
  return found;
}

std::vector<std::string> names_in(const char* names) {
  std::vector<std::string> out;
  for_each_name(names, [&](std::string_view each) {
    if (each != kNotShown) out.emplace_back(each);
  });
  return out;
}

}  // namespace strided
