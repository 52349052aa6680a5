// Running reductions and softmax against a loop over each row.
#include "cuda_test_util.h"

#include "backend/scan_steps.h"
#include "cuda/runtime/operations.h"

namespace strided {
namespace cuda {
namespace {

struct Rows {
  int64_t outer, n, inner;
  int64_t numel() const { return outer * n * inner; }
};
// Short rows of every kind; around the edges of warps, tiles (3328 floats, 1792 of eight bytes) and parts.
const std::vector<Rows> kShapes = {{1, 1, 1},    {3, 0, 2},    {0, 5, 1},    {700, 1, 1},   {9, 2, 1},
                                   {50, 13, 1},  {33, 256, 1}, {3, 1791, 1}, {2, 1792, 1},  {2, 1793, 1},
                                   {1, 3328, 1}, {2, 3329, 1}, {1, 9001, 1}, {1, 20000, 1}, {1, 7, 5},
                                   {2, 33, 300}, {3, 64, 2},   {1, 2500, 3}, {2, 31, 257}};

// Values of a row's scan, one element after the other.
template <class Op, class T>
void scan_host(const Array& in, Array& out, Array* index, const Rows& r) {
  for (int64_t o = 0; o < r.outer; ++o)
    for (int64_t c = 0; c < r.inner; ++c) {
      auto s = Op::template State<T>::first();
      for (int64_t i = 0; i < r.n; ++i) {
        const int64_t at = (o * r.n + i) * r.inner + c;
        if constexpr (std::is_same_v<T, bool>) s.add(*in.element(at) != 0, i);
        else s.add(in.get<T>(at), i);
        out.set<T>(at, s.value());
        if constexpr (Op::positions) index->set<int64_t>(at, s.position());
      }
    }
}

template <class T>
double size_of_value(T v) {
  if constexpr (is_complex_v<T>) return std::abs(static_cast<double>(v.re)) + std::abs(static_cast<double>(v.im));
  else return std::abs(static_cast<double>(static_cast<compute_t<T>>(v)));
}
template <class T>
bool near(T got, T want, double epsilon) {
  if (agrees(got, want)) return true;
  if constexpr (is_complex_v<T>) return size_of_value(got - want) <= epsilon * (1 + size_of_value(want));
  else if constexpr (std::is_integral_v<T>) return false;
  else {
    const double a = static_cast<double>(static_cast<compute_t<T>>(got)),
                 b = static_cast<double>(static_cast<compute_t<T>>(want));
    return std::abs(a - b) <= epsilon * (1 + std::abs(b));
  }
}
template <class T>
constexpr double epsilon_of = sizeof(T) == 2                                                  ? 0.02
                              : std::is_same_v<T, float> || std::is_same_v<T, Complex<float>> ? 2e-6
                                                                                              : 1e-12;

// Numbers whose sums and products stay in range, with what is special.
template <class T>
Array values(const Rows& r, std::mt19937& random, bool specials, bool product) {
  Array a(dtype_of<T>, {std::max<int64_t>(r.numel(), 1)});
  a.fill_random(random);
  if constexpr (!std::is_integral_v<T>) {
    if (product)
      for (int64_t i = 0; i < a.numel(); ++i)
        a.set<T>(i, T(static_cast<real_t<compute_t<T>>>(random() % 2 ? 1.0625 : -0.9375)));
    if constexpr (!is_complex_v<T>)
      if (specials)
        for (int k = 0; k < 3; ++k) {
          const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f};
          a.set<T>(static_cast<int64_t>(random() % static_cast<uint64_t>(a.numel())), T(special[random() % 5]));
        }
  } else if (std::is_same_v<T, bool>) {
    if (specials) a.host[random() % a.host.size()] = 7;  // a byte viewed as bool
  }
  a.upload();
  return a;
}

template <class Op, class T>
void expect_scan(ScanOp op, const Rows& r, std::mt19937& random, bool specials) {
  const Array in = values<T>(r, random, specials, op == ScanOp::Product);
  Array out(in.dtype, in.shape), want(in.dtype, in.shape), index(DType::Int64, in.shape),
      want_index(DType::Int64, in.shape);
  scan({"scan", 0, in.dtype, r.outer, r.n, r.inner, in.data(), out.data(), reinterpret_cast<int64_t*>(index.data())},
       op);
  out.download();
  index.download();
  scan_host<Op, T>(in, want, &want_index, r);
  for (int64_t i = 0; i < r.numel(); ++i) {
    ASSERT_TRUE(near(out.get<T>(i), want.get<T>(i), epsilon_of<T>))
        << name_of(in.dtype) << " scan " << static_cast<int>(op) << " of " << r.outer << "x" << r.n << "x" << r.inner
        << " at " << i;
    if constexpr (Op::positions) {
      ASSERT_EQ(index.get<int64_t>(i), want_index.get<int64_t>(i)) << name_of(in.dtype) << " at " << i << " of " << r.n;
    }
  }
}

template <class Op>
void expect_scans(ScanOp op) {
  std::mt19937 random(3);
  for (uint64_t order : {0, 1, 2}) {
    set_order(order);
    for (const Rows& r : kShapes)
      for_each(typename Op::Types{}, [&](auto tag, int i) {
        using T = typename decltype(tag)::type;
        if (i % 3 != static_cast<int>(order)) return;  // each dtype in one of them
        if (Op::positions && r.numel() > 8000 && i % 4 != 0) return;
        expect_scan<Op, T>(op, r, random, op != ScanOp::Product && r.n % 2);
      });
  }
  set_order(1);
}

TEST(CudaScan, SumsAreThoseOfALoop) { expect_scans<strided::scan::Sum>(ScanOp::Sum); }
TEST(CudaScan, ProductsAreThoseOfALoop) { expect_scans<strided::scan::Product>(ScanOp::Product); }
TEST(CudaScan, LogSumsAreThoseOfALoop) { expect_scans<strided::scan::LogSum>(ScanOp::LogSumExp); }
TEST(CudaScan, MaximaAreThoseOfALoopWithTiesAndNaN) { expect_scans<strided::scan::Max>(ScanOp::Max); }
TEST(CudaScan, MinimaAreThoseOfALoopWithTiesAndNaN) { expect_scans<strided::scan::Min>(ScanOp::Min); }

TEST(CudaScan, InPlace) {
  std::mt19937 random(4);
  for (const Rows& r : kShapes) {
    if (r.numel() == 0) continue;
    Array a = values<int64_t>(r, random, false, false), want(a.dtype, a.shape);
    scan_host<strided::scan::Sum, int64_t>(a, want, nullptr, r);
    scan({"scan", 0, a.dtype, r.outer, r.n, r.inner, a.data(), a.data(), nullptr}, ScanOp::Sum);
    a.download();
    for (int64_t i = 0; i < r.numel(); ++i) ASSERT_EQ(a.get<int64_t>(i), want.get<int64_t>(i));
  }
}

TEST(CudaScan, SameBitsInEveryOrderOfThreads) {
  std::mt19937 random(5);
  const Rows r{1, 60000, 1};
  const Array in = values<float>(r, random, false, false);
  Array first(in.dtype, in.shape), out(in.dtype, in.shape);
  for (uint64_t order : {0, 1, 2, 3}) {
    set_order(order);
    Array& to = order == 0 ? first : out;
    scan({"scan", 0, in.dtype, r.outer, r.n, r.inner, in.data(), to.data(), nullptr}, ScanOp::Sum);
    to.download();
    if (order > 0) {
      ASSERT_EQ(first.host, out.host);
    }
  }
  set_order(1);
}

template <class T>
void expect_softmax(const Rows& r, std::mt19937& random, int special, bool logarithm) {
  Array in(dtype_of<T>, {std::max<int64_t>(r.numel(), 1)}), out(in.dtype, in.shape);
  in.fill_random(random, -60, 60);
  if (special == 1)
    for (int64_t i = 0; i < in.numel(); ++i) in.set<T>(i, T(-INFINITY));
  if (special == 2)
    for (float v : {NAN, INFINITY, -INFINITY})
      in.set<T>(static_cast<int64_t>(random() % static_cast<uint64_t>(in.numel())), T(v));
  in.upload();
  scan({"softmax", 0, in.dtype, r.outer, r.n, r.inner, in.data(), out.data(), nullptr},
       logarithm ? ScanOp::LogSoftmax : ScanOp::Softmax);
  out.download();
  for (int64_t o = 0; o < r.outer; ++o)
    for (int64_t c = 0; c < r.inner; ++c) {
      auto at = [&](int64_t i) { return (o * r.n + i) * r.inner + c; };
      auto x = [&](int64_t i) { return static_cast<double>(static_cast<compute_t<T>>(in.get<T>(at(i)))); };
      double max = -INFINITY, sum = 0;
      for (int64_t i = 0; i < r.n; ++i) max = std::isnan(max) || max > x(i) ? max : x(i);
      for (int64_t i = 0; i < r.n; ++i) sum += std::exp(x(i) - max);
      for (int64_t i = 0; i < r.n; ++i) {
        const double want = logarithm ? x(i) - max - std::log(sum) : std::exp(x(i) - max) / sum;
        ASSERT_TRUE(near(out.get<T>(at(i)), T(static_cast<compute_t<T>>(want)), 4 * epsilon_of<T>))
            << name_of(in.dtype) << " " << r.outer << "x" << r.n << "x" << r.inner << " at " << i << ": " << want;
      }
    }
}

TEST(CudaScan, SoftmaxIsThatOfALoop) {
  std::mt19937 random(6);
  for (const Rows& r : kShapes)
    for (const bool logarithm : {false, true}) {
      set_order(random() % 3);
      expect_softmax<float>(r, random, 0, logarithm);
      expect_softmax<float>(r, random, 1, logarithm);
      expect_softmax<float>(r, random, 2, logarithm);
      expect_softmax<double>(r, random, 0, logarithm);
      expect_softmax<Half>(r, random, 2, logarithm);
      expect_softmax<BFloat16>(r, random, 0, logarithm);
    }
  set_order(1);
}

TEST(CudaScan, RefusesDtypesThatHaveNone) {
  Array a(DType::Int32, {4});
  for (const ScanOp op : {ScanOp::Sum, ScanOp::LogSumExp, ScanOp::Softmax}) try {
      scan({"cumsum", 0, a.dtype, 1, 4, 1, a.data(), a.data(), nullptr}, op);
      ADD_FAILURE() << "taken";
    } catch (const NotImplementedError& e) {
      EXPECT_STREQ(e.what(), "\"cumsum\" not implemented for 'Int'");
    }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
