// Signature texts: parsed, and compared with what C++ takes and returns.
#include "python/signature.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace strided::python {
namespace {

std::string trim(const std::string& s) {
  const size_t a = s.find_first_not_of(" \n\t"), b = s.find_last_not_of(" \n\t");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::vector<std::string> split_commas(const std::string& s) {
  std::vector<std::string> out;
  int depth = 0;
  std::string part;
  for (char c : s) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      out.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) out.push_back(trim(part));
  return out;
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

PyObject* parse_default(const std::string& text) {
  if (text == "None") return Py_NewRef(Py_None);
  if (text == "True") return Py_NewRef(Py_True);
  if (text == "False") return Py_NewRef(Py_False);
  if (text == "()") return PyTuple_New(0);
  if (text == "inf") return PyFloat_FromDouble(HUGE_VAL);
  if (text[0] == '\'' || text[0] == '"') return PyUnicode_FromString(text.substr(1, text.size() - 2).c_str());
  if (text[0] == '(') {
    Dims d;
    for (const std::string& part : split_commas(text.substr(1, text.size() - 2))) d.push_back(std::stoll(part));
    return wrap_tuple(d);
  }
  if (text.find_first_of(".e") != std::string::npos) return PyFloat_FromDouble(std::stod(text));
  return PyLong_FromLongLong(std::stoll(text));
}

}  // namespace

Overload parse_signature(const char* signature, bool with_out) {
  Overload o;
  const std::string text = signature;
  const size_t open = text.find('(');
  o.name = text.substr(0, open);
  int depth = 0;
  size_t close = open;
  for (; close < text.size(); ++close) {
    if (text[close] == '(') ++depth;
    if (text[close] == ')' && --depth == 0) break;
  }
  std::vector<std::string> parts = split_commas(text.substr(open + 1, close - open - 1));
  if (!with_out) parts.pop_back();
  if (!parts.empty() && parts.back() == "*") parts.pop_back();  // no keyword is left
  o.signature = o.name + "(" + join(parts) + text.substr(close);
  bool keyword_only = false;
  for (std::string part : parts) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    Param p;
    p.keyword_only = keyword_only;
    const size_t equal = part.find('=');
    if (equal != std::string::npos) {
      p.default_value = parse_default(trim(part.substr(equal + 1)));
      part = trim(part.substr(0, equal));
    }
    const size_t blank = part.rfind(' ');
    p.type = blank == std::string::npos ? "" : trim(part.substr(0, blank));
    p.name = blank == std::string::npos ? part : part.substr(blank + 1);
    if (p.name[0] == '*') {
      p.variadic = true;
      p.name = p.name.substr(1);
      o.variadic = static_cast<int>(o.params.size());
    }
    p.optional = !p.type.empty() && p.type.back() == '?';
    if (p.name == "pin_memory") o.pins = static_cast<int>(o.params.size());
    p.name_object = PyUnicode_InternFromString(p.name.c_str());
    if (!keyword_only) ++o.positional;
    o.params.push_back(std::move(p));
  }
  const size_t arrow = text.find("->", close);
  if (arrow != std::string::npos) {
    const std::string result = trim(text.substr(arrow + 2));
    if (result[0] == '(') o.fields = split_commas(result.substr(1, result.size() - 2));
    else o.result = result;
  }
  return o;
}

namespace {

// The types that a text may name.
bool is_type(const std::string& text) {
  static const char* known[] = {"Tensor",  "Tensor[]",      "Tensor?[]", "TensorOrNumber", "Number", "int",   "int[]",
                                "int[][]", "float",         "float[]",   "bool",           "str",    "dtype", "device",
                                "layout",  "memory_format", "Generator", "Size",           "None",   "Any",   "dict"};
  return std::any_of(std::begin(known), std::end(known), [&](const char* name) { return text == name; });
}

bool contains(const char* words, const std::string& word) {
  std::istringstream stream(words);
  for (std::string one; stream >> one;)
    if (one == word) return true;
  return false;
}

// What is wrong with the text of parameter k; empty if nothing is.
std::string mismatch(const Overload& o, int k) {
  const Param& p = o.params[static_cast<size_t>(k)];
  const std::string type = p.optional ? p.type.substr(0, p.type.size() - 1) : p.type;
  const bool last_out = o.writes_out && k == static_cast<int>(o.params.size()) - 1;
  std::istringstream stream(type);
  for (std::string one; std::getline(stream, one, '|');)
    if (!is_type(one)) return "'" + one + "' is no type of a signature";
  if (type.empty()) return "has no type";
  if (last_out) {
    // One tensor, or as many as there are results; a function that decides itself gives either.
    const bool many = o.given.parts > 0 || std::string(o.given.type) == "Tensor[]";
    const bool either = o.given.type[0] == 0;
    if (type != (many ? "Tensor[]" : "Tensor") && !either) return many ? "must be Tensor[]?" : "must be Tensor?";
    return p.optional && p.default_value == Py_None ? "" : "must be optional, and None by default";
  }
  const Notation notation = o.notation(o, k);
  const bool free = notation.types[0] == 0;
  if (!free && !contains(notation.types, type))
    return std::string("C++ takes ") + notation.types + (notation.optional ? ", or None" : "");
  if (!free && notation.optional != p.optional)
    return notation.optional ? "C++ takes None too: a ? is missing" : "C++ does not take None";
  if (p.default_value == Py_None && !p.optional) return "is None by default, but does not take None";
  if (p.default_value && !o.accepts(o, k, p.default_value)) return "does not take its own default";
  return "";
}

std::string mismatch_of_result(const Overload& o) {
  const std::string given = o.given.type;
  if (given.empty()) {
    std::istringstream stream(o.result);
    for (std::string one; std::getline(stream, one, ';');)
      if (!is_type(trim(one.substr(0, one.find(" if "))))) return "'" + one + "' is no type of a signature";
    return o.result.empty() && o.fields.empty() ? "the result's type is not said, as in `-> Tensor`" : "";
  }
  if (o.given.parts == 0 && o.result != given) return "C++ returns " + given;
  if (!o.fields.empty() && given != "Tensor[]" && static_cast<int>(o.fields.size()) != o.given.parts)
    return "C++ returns " + std::to_string(o.given.parts) + " parts";
  return "";
}

}  // namespace

void list_mismatches(const Overload& o, std::vector<std::string>* found) {
  auto note = [&](const std::string& what, const std::string& why) {
    if (!why.empty()) found->push_back(what + why + ": " + o.signature);
  };
  for (size_t k = 0; k < o.params.size(); ++k) note(o.params[k].name + " ", mismatch(o, static_cast<int>(k)));
  note("", mismatch_of_result(o));
}

}  // namespace strided::python
