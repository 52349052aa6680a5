// einsum: every operand is brought to one common order of axes (output labels, then summed labels; size 1 where a label
// is missing), and operands are contracted from left to right by batched matrix products.
#include <algorithm>
#include <array>

#include "core/promotion.h"
#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

constexpr int kEllipsis = -1;

// A number for each label: letters, and -2 - j for the j-th axis of the dots, counted from the right.
class ByLabel {
 public:
  static constexpr int kFirst = -1 - kMaxDims, kLast = 'z';

  explicit ByLabel(int value) { numbers_.fill(value); }
  int& operator[](int label) { return numbers_[static_cast<size_t>(label - kFirst)]; }
  int operator[](int label) const { return numbers_[static_cast<size_t>(label - kFirst)]; }

 private:
  std::array<int, kLast - kFirst + 1> numbers_;
};

// "ab...c" -> labels, kEllipsis for the dots.
// `what` and `offset` (of the term in the equation) are for errors.
std::vector<int> parse_term(const std::string& term, const std::string& what, size_t offset) {
  std::vector<int> labels;
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c == '.') {
      STRIDED_CHECK(
          !dots, RuntimeError, "einsum(): found '.' for ", what,
          what == "output" ? " but an ellipsis (...) was already found" : " for which an ellipsis was already found");
      STRIDED_CHECK(term.compare(i, 3, "...") == 0, RuntimeError, "einsum(): found '.' for ", what,
                    " that is not part of any ellipsis", what == "output" ? " (...)" : "");
      dots = true;
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    STRIDED_CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), RuntimeError,
                  "einsum(): invalid subscript given at index ", offset + i,
                  " in the equation string, subscripts must be in [a-zA-Z]");
    labels.push_back(c);
  }
  return labels;
}

Tensor permuted(const Tensor& t, const Dims& axes) {
  int i = 0;
  while (i < axes.ndim() && axes[i] == i) ++i;
  return i == axes.ndim() ? t : permute(t, axes);
}

// Sums over `summed` (axes both share) and over the axes of one operand alone that are in it; keeps size 1 there.
Tensor contract(Tensor a, Tensor b, const std::vector<int>& summed) {
  const int n = a.ndim();
  std::vector<bool> is_summed(n, false);
  for (int axis : summed) is_summed[axis] = true;
  Dims batch, left, right, inner;  // axes
  for (int i = 0; i < n; ++i) {
    const bool in_a = a.size(i) != 1, in_b = b.size(i) != 1;
    if (is_summed[i]) {
      if (in_a && in_b) inner.push_back(i);
      else if (in_a) a = sum(a, Dims{i}, true);  // of integers: int64, as in PyTorch
      else if (in_b) b = sum(b, Dims{i}, true);
      continue;
    }
    if (in_a && in_b) batch.push_back(i);
    else if (in_a) left.push_back(i);
    else right.push_back(i);  // also axes of size 1 in both
  }
  if (inner.empty()) return a * b;  // nothing to sum: a plain product reads each element once, and promotes
  auto product = [](const Tensor& t, const Dims& axes) {
    int64_t p = 1;
    for (int64_t i : axes) p *= t.size(static_cast<int>(i));
    return p;
  };
  auto join = [](std::initializer_list<const Dims*> lists) {
    Dims all;
    for (const Dims* list : lists)
      for (int64_t i : *list) all.push_back(i);
    return all;
  };
  if (is_integral(a.dtype()) && is_integral(b.dtype())) {  // a sum above is wider
    const DType dtype = promote_types(a.dtype(), b.dtype());
    a = to_dtype(a, dtype), b = to_dtype(b, dtype);
  }
  const Dims order_a = join({&batch, &left, &inner, &right}), order_b = join({&batch, &inner, &right, &left});
  auto arranged = [&](const Tensor& t, const Dims& order, const Dims& shape) {
    Dims full = order;  // axes summed away above stand last, with size 1
    for (int i = 0; i < n; ++i)
      if (std::find(order.begin(), order.end(), i) == order.end()) full.push_back(i);
    return reshape(permuted(t, full), shape);
  };
  const int64_t nb = product(a, batch), nl = product(a, left), nr = product(b, right), ni = product(a, inner);
  // Many products of vectors that are short, or whose elements lie apart (the matrices would be read by columns).
  const int last = static_cast<int>(inner[inner.size() - 1]);
  const bool apart = a.strides()[last] != 1 || b.strides()[last] != 1, is_short = ni < 512;
  if (nb > 1 && nl == 1 && nr == 1 && (apart || is_short) && size_of(a.dtype()) >= 4 && !is_integral(a.dtype()))
    return sum(a * b, inner, true);
  const Tensor c = bmm(arranged(a, order_a, Dims{nb, nl, ni}), arranged(b, order_b, Dims{nb, ni, nr}));
  // Back to one axis for each label.
  const Dims order_c = join({&batch, &left, &right});
  Dims shape, full = order_c;
  for (int64_t i : batch) shape.push_back(a.size(static_cast<int>(i)));
  for (int64_t i : left) shape.push_back(a.size(static_cast<int>(i)));
  for (int64_t i : right) shape.push_back(b.size(static_cast<int>(i)));
  for (int i = 0; i < n; ++i)
    if (std::find(order_c.begin(), order_c.end(), i) == order_c.end()) {
      full.push_back(i);
      shape.push_back(1);
    }
  Dims inverse(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) inverse[full[i]] = i;
  return permuted(reshape(c, shape), inverse);
}

// The labels of an equation.
struct Labels {
  std::vector<std::vector<int>> terms;  // of each operand
  int dots = 0;                         // how many axes the dots stand for: the most of any operand
  ByLabel count{0}, position{-1};       // how often an operand has it; its place in the common order, -1: none
  std::vector<int> order;               // the common order: first the n_out labels of the result
  int n_out = 0;

  void place(int label) {
    position[label] = static_cast<int>(order.size());
    order.push_back(label);
  }
};

std::vector<std::vector<int>> parse_terms(const std::string& inputs) {
  std::vector<std::vector<int>> terms;
  for (size_t begin = 0;;) {
    const size_t comma = inputs.find(',', begin);
    terms.push_back(parse_term(inputs.substr(begin, comma == std::string::npos ? comma : comma - begin),
                               concat("operand ", terms.size()), begin));
    if (comma == std::string::npos) return terms;
    begin = comma + 1;
  }
}

void count_labels(Labels* labels, const std::vector<Tensor>& operands) {
  const size_t n_terms = labels->terms.size();
  STRIDED_CHECK(n_terms >= operands.size(), RuntimeError,
                "einsum(): more operands were provided than specified in the equation");
  STRIDED_CHECK(n_terms == operands.size(), RuntimeError,
                "einsum(): fewer operands were provided than specified in the equation");
  for (size_t k = 0; k < n_terms; ++k) {
    int named = 0;
    bool has_dots = false;
    for (int label : labels->terms[k]) {
      if (label == kEllipsis) has_dots = true;
      else ++named, ++labels->count[label];
    }
    const int rest = operands[k].ndim() - named;
    STRIDED_CHECK(
        has_dots ? rest >= 0 : rest == 0, RuntimeError, "einsum(): the number of subscripts in the equation (", named,
        has_dots ? ") is more than the number of dimensions (" : ") does not match the number of dimensions (",
        operands[k].ndim(), ") for operand ", k, has_dots ? "" : " and no ellipsis was given");
    if (has_dots) labels->dots = std::max(labels->dots, rest);
  }
}

// `output` is the term behind the arrow, which begins at `offset` in the equation; null: there is no arrow.
void order_labels(Labels* labels, const std::string* output, size_t offset) {
  if (!output) {
    // Implicit output: the dots, then labels that occur once, in alphabetical order (upper case first).
    for (int j = labels->dots - 1; j >= 0; --j) labels->place(-2 - j);
    for (int label = 'A'; label <= 'z'; ++label)
      if (labels->count[label] == 1) labels->place(label);
    labels->n_out = static_cast<int>(labels->order.size());
  } else {
    for (int label : parse_term(*output, "output", offset)) {
      if (label == kEllipsis) {
        for (int j = labels->dots - 1; j >= 0; --j) labels->place(-2 - j);
        continue;
      }
      STRIDED_CHECK(labels->position[label] < 0, RuntimeError, "einsum(): output subscript ", static_cast<char>(label),
                    " appears more than once in the output");
      STRIDED_CHECK(labels->count[label] > 0, RuntimeError, "einsum(): output subscript ", static_cast<char>(label),
                    " does not appear in the equation for any input operand");
      labels->place(label);
    }
    labels->n_out = static_cast<int>(labels->order.size());
    for (int j = labels->dots - 1; j >= 0; --j)
      if (labels->position[-2 - j] < 0) labels->place(-2 - j);
  }
  for (int label = 'A'; label <= 'z'; ++label)
    if (labels->count[label] > 0 && labels->position[label] < 0) labels->place(label);
  STRIDED_CHECK(labels->order.size() <= kMaxDims, RuntimeError, "einsum(): at most ", kMaxDims,
                " different subscripts, got ", labels->order.size());
}

// A label twice in operand k is its diagonal.
Tensor take_diagonals(Tensor x, std::vector<int>* labels, size_t k) {
  for (size_t i = 0; i < labels->size(); ++i)
    for (size_t j = i + 1; j < labels->size();) {
      if ((*labels)[i] != (*labels)[j]) {
        ++j;
        continue;
      }
      STRIDED_CHECK(x.size(static_cast<int>(i)) == x.size(static_cast<int>(j)), RuntimeError, "einsum(): subscript ",
                    static_cast<char>((*labels)[i]), " is repeated for operand ", k, " but the sizes don't match, ",
                    x.size(static_cast<int>(j)), " != ", x.size(static_cast<int>(i)));
      x = movedim(diagonal(x, 0, static_cast<int64_t>(i), static_cast<int64_t>(j)), Dims{-1},
                  Dims{static_cast<int64_t>(i)});
      labels->erase(labels->begin() + static_cast<std::ptrdiff_t>(j));
    }
  return x;
}

// What the operands have at each place of the common order.
struct Places {
  std::vector<int64_t> size;
  std::vector<size_t> last;  // the last operand that has the label
};

// Operand k in the common order, with an axis of size 1 for each label that it does not have.
Tensor in_common_order(Tensor x, const Labels& all, size_t k, Places* places) {
  const std::vector<int>& term = all.terms[k];
  const int n = static_cast<int>(all.order.size()), rest = x.ndim() - static_cast<int>(term.size()) + 1;
  std::vector<int> labels;
  for (int label : term) {
    if (label != kEllipsis) labels.push_back(label);
    else
      for (int j = rest - 1; j >= 0; --j) labels.push_back(-2 - j);
  }
  x = take_diagonals(std::move(x), &labels, k);
  Dims axes(static_cast<size_t>(n), -1), with_missing = x.shape();
  int missing = x.ndim();
  for (size_t i = 0; i < labels.size(); ++i) axes[all.position[labels[i]]] = static_cast<int64_t>(i);
  for (int i = 0; i < n; ++i) {
    if (axes[i] < 0) {
      with_missing.push_back(1);
      axes[i] = missing++;
      continue;
    }
    const int64_t s = x.size(static_cast<int>(axes[i]));
    int64_t& size = places->size[i];
    STRIDED_CHECK(s == size || s == 1 || size == 1, RuntimeError, "einsum(): subscript ",
                  all.order[i] < 0 ? '.' : static_cast<char>(all.order[i]), " has size ", s, " for operand ", k,
                  " which does not broadcast with previously seen size ", size);
    if (s != 1) size = s;
    places->last[i] = k;
  }
  return permuted(missing > x.ndim() ? view(x, with_missing) : x, axes);
}

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  STRIDED_CHECK(!operands.empty(), ValueError, "einsum(): must provide at least one operand");
  const size_t arrow = equation.find("->");
  const bool has_arrow = arrow != std::string::npos;
  const std::string output = has_arrow ? equation.substr(arrow + 2) : "";
  Labels labels;
  labels.terms = parse_terms(equation.substr(0, arrow));
  count_labels(&labels, operands);
  order_labels(&labels, has_arrow ? &output : nullptr, arrow + 2);
  const int n = static_cast<int>(labels.order.size());

  Places places{std::vector<int64_t>(n, 1), std::vector<size_t>(n, 0)};
  std::vector<Tensor> parts;
  for (size_t k = 0; k < operands.size(); ++k) parts.push_back(in_common_order(operands[k], labels, k, &places));

  // Axes of labels that the result has not, and no operand behind the k-th.
  const auto summed_at = [&](size_t k) {
    std::vector<int> axes;
    for (int i = labels.n_out; i < n; ++i)
      if (places.last[i] == k) axes.push_back(i);
    return axes;
  };
  Tensor result = parts[0];
  Dims alone;
  for (int i : summed_at(0))
    if (result.size(i) != 1 || operands.size() == 1) alone.push_back(i);
  if (!alone.empty()) result = sum(result, alone, true);
  for (size_t k = 1; k < parts.size(); ++k) result = contract(result, parts[k], summed_at(k));
  Dims shape;
  for (int i = 0; i < labels.n_out; ++i) shape.push_back(places.size[i]);
  const Tensor out = reshape(result, shape);
  for (const Tensor& x : operands)
    if (is_view_of(out, x)) return out;
  out.impl()->base = nullptr;  // a view of nothing that the caller has
  return out;
}

}  // namespace strided
