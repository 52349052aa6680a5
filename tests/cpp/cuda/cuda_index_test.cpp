// Moves by index, combinations, masks: against plain loops in row-major order.
#include "cuda_test_util.h"

#include <algorithm>
#include <numeric>

#include "backend/op.h"
#include "cuda/pointwise/pointwise_run.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/report.h"

namespace strided {
namespace cuda {
namespace {

// A move over `shape`: dense side, indexed side with its axes' strides over `shape`, index tensors likewise.
struct Move {
  std::vector<int64_t> shape;
  Array dense, indexed;
  std::vector<int64_t> indexed_strides;  // elements of `indexed`, over shape
  struct Index {
    Array array;
    std::vector<int64_t> strides;
    int64_t size, step;  // step: elements of `indexed`
    int axis;
  };
  std::vector<Index> index;
  bool wrap = true;

  // Places of dense and indexed for element i, in elements; false when an index is bad.
  bool places(int64_t i, int64_t* indexed_at) const {
    int64_t at = indexed.offset;
    std::vector<int64_t> coordinate(shape.size());
    for (size_t k = shape.size(); k-- > 0;) {
      coordinate[k] = i % shape[k];
      i /= shape[k];
      at += coordinate[k] * indexed_strides[k];
    }
    for (const Index& x : index) {
      int64_t index_at = x.array.offset;
      for (size_t k = 0; k < shape.size(); ++k) index_at += coordinate[k] * x.strides[k];
      int64_t v;
      std::memcpy(&v, x.array.host.data() + 8 * index_at, 8);
      if (wrap && v < 0) v += x.size;
      if (v < 0 || v >= x.size) return false;
      at += v * x.step;
    }
    *indexed_at = at;
    return true;
  }

  template <class F>
  void run(F f) const {
    const int64_t item = size_of(indexed.dtype);
    std::vector<int64_t> dense_bytes, indexed_bytes;
    std::vector<std::vector<int64_t>> index_bytes(index.size());
    for (size_t k = 0; k < shape.size(); ++k) {
      dense_bytes.push_back(dense.strides[k] * item);
      indexed_bytes.push_back(indexed_strides[k] * item);
      for (size_t x = 0; x < index.size(); ++x) index_bytes[x].push_back(index[x].strides[k] * 8);
    }
    IndexPlan plan;
    plan.name = "move";
    plan.dtype = indexed.dtype;
    plan.wrap = wrap;
    plan.ndim = static_cast<int>(shape.size());
    plan.shape = shape.data();
    plan.dense = dense.data();
    plan.dense_strides = dense_bytes.data();
    plan.indexed = indexed.data();
    plan.indexed_strides = indexed_bytes.data();
    plan.n_indices = static_cast<int>(index.size());
    for (size_t x = 0; x < index.size(); ++x)
      plan.index[x] = {reinterpret_cast<const int64_t*>(index[x].array.data()), index_bytes[x].data(), index[x].size,
                       index[x].step * item, index[x].axis};
    f(static_cast<const IndexPlan&>(plan));
  }
};

Array random_index(std::vector<int64_t> shape, int64_t size, std::mt19937& random, int64_t low) {
  Array a(DType::Int64, std::move(shape));
  for (int64_t i = 0; i < a.numel(); ++i)
    a.set<int64_t>(i, low + static_cast<int64_t>(random() % static_cast<uint64_t>(size - low)));
  a.upload();
  return a;
}

// index_select along an axis of a contiguous 3-d tensor: one vector of indices.
Move select_axis(DType dtype, std::vector<int64_t> indexed_shape, int axis, int64_t n, std::mt19937& random,
                 int64_t low_index = 0) {
  Move m;
  m.indexed = Array(dtype, indexed_shape);
  m.shape = indexed_shape;
  m.shape[static_cast<size_t>(axis)] = n;
  m.dense = Array(dtype, m.shape);
  m.indexed_strides = m.indexed.strides;
  m.indexed_strides[static_cast<size_t>(axis)] = 0;
  Move::Index x{random_index({n}, indexed_shape[static_cast<size_t>(axis)], random, low_index),
                std::vector<int64_t>(indexed_shape.size(), 0), indexed_shape[static_cast<size_t>(axis)],
                m.indexed.strides[static_cast<size_t>(axis)], axis};
  x.strides[static_cast<size_t>(axis)] = 1;
  m.index.push_back(x);
  m.indexed.fill_random(random, 0, 9);
  m.dense.fill_random(random, 0, 9);
  return m;
}
// gather: an index for every element.
Move gather_axis(DType dtype, std::vector<int64_t> indexed_shape, int axis, int64_t n, std::mt19937& random) {
  Move m = select_axis(dtype, indexed_shape, axis, n, random);
  m.index[0].array = random_index(m.shape, indexed_shape[static_cast<size_t>(axis)], random, 0);
  m.index[0].strides = m.index[0].array.strides;
  return m;
}
// x[i, :, j]: two index vectors that go together.
Move two_indices(DType dtype, int64_t a, int64_t b, int64_t c, int64_t n, std::mt19937& random) {
  Move m;
  m.indexed = Array(dtype, {a, b, c});
  m.shape = {n, b};
  m.dense = Array(dtype, m.shape);
  m.indexed_strides = {0, c};
  m.index.push_back({random_index({n}, a, random, -a), {1, 0}, a, b * c, 0});
  m.index.push_back({random_index({n}, c, random, -c), {1, 0}, c, 1, 2});
  m.indexed.fill_random(random, 0, 9);
  m.dense.fill_random(random, 0, 9);
  return m;
}

void check_gather(Move m, const std::string& what) {
  m.run([](const IndexPlan& plan) { gather(plan); });
  m.dense.download();
  const int64_t item = size_of(m.indexed.dtype);
  for (int64_t i = 0; i < m.dense.numel(); ++i) {
    int64_t at;
    if (!m.places(i, &at)) continue;
    ASSERT_EQ(std::memcmp(m.dense.element(i), m.indexed.host.data() + at * item, static_cast<size_t>(item)), 0)
        << what << " element " << i;
  }
}
void check_scatter(Move m, const std::string& what) {
  const int64_t item = size_of(m.indexed.dtype);
  std::vector<char> want = m.indexed.host;
  for (int64_t i = 0; i < m.dense.numel(); ++i) {
    int64_t at;
    if (m.places(i, &at)) std::memcpy(want.data() + at * item, m.dense.element(i), static_cast<size_t>(item));
  }
  m.run([](const IndexPlan& plan) { scatter(plan); });
  m.indexed.download();
  ASSERT_EQ(m.indexed.host, want) << what;
}

TEST(CudaIndex, GatherAndScatter) {
  std::mt19937 random(1);
  for (DType t : {DType::UInt8, DType::Float16, DType::Float32, DType::Float64, DType::Complex128}) {
    for (int axis : {0, 1, 2})
      for (int64_t n : {1, 5, 300}) {
        const std::string what = std::string(name_of(t)) + " axis " + std::to_string(axis) + " n " + std::to_string(n);
        check_gather(select_axis(t, {6, 7, 16}, axis, n, random, -3), "select " + what);
        check_gather(gather_axis(t, {6, 7, 5}, axis, n, random), "gather " + what);
        check_scatter(select_axis(t, {6, 7, 16}, axis, n, random, -3), "select " + what);
        check_scatter(gather_axis(t, {6, 7, 5}, axis, n, random), "gather " + what);
        ASSERT_FALSE(HasFatalFailure());
      }
    check_gather(two_indices(t, 5, 6, 7, 100, random), "two");
    check_scatter(two_indices(t, 5, 6, 7, 100, random), "two");
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(CudaIndex, LastOneWinsForManyRows) {
  std::mt19937 random(2);
  for (uint64_t seed : {0, 1, 2}) {
    set_order(seed);
    check_scatter(select_axis(DType::Float32, {50, 3}, 0, 5000, random), "table");
    check_scatter(gather_axis(DType::Int16, {40, 9}, 0, 900, random), "table of elements");
    check_scatter(select_axis(DType::Float32, {200000, 1}, 0, 1500, random, 199900), "sorted");
  }
  set_order(1);
}

template <class T>
void check_reduce(Move m, ScatterOp op, const std::string& what) {
  using W = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
  const size_t n = m.indexed.host.size() / sizeof(T);
  const std::unique_ptr<W[]> values(new W[n]);  // (a vector of bool has no elements to refer to)
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<W>(load<T>(m.indexed.host.data() + i * sizeof(T)));
  for (int64_t i = 0; i < m.dense.numel(); ++i) {
    int64_t at;
    if (!m.places(i, &at)) continue;
    W& v = values[static_cast<size_t>(at)];
    const W x = static_cast<W>(m.dense.template get<T>(i));
    if constexpr (is_complex_v<T>) {
      v = op == ScatterOp::Add ? v + x : v * x;
    } else {
      v = static_cast<W>(op == ScatterOp::Add   ? v + x
                         : op == ScatterOp::Mul ? v * x
                         : op == ScatterOp::Max ? std::max(v, x)
                                                : std::min(v, x));
    }
  }
  m.run([op](const IndexPlan& plan) { scatter_reduce(plan, op); });
  m.indexed.download();
  for (size_t i = 0; i < n; ++i)
    ASSERT_TRUE(agrees(load<T>(m.indexed.host.data() + i * sizeof(T)), T(values[i]))) << what << " place " << i;
}
template <class T>
void check_reductions() {
  std::mt19937 random(3);
  const DType t = dtype_of<T>;
  for (ScatterOp op : {ScatterOp::Add, ScatterOp::Mul, ScatterOp::Max, ScatterOp::Min}) {
    if (is_complex_v<T> && (op == ScatterOp::Max || op == ScatterOp::Min)) continue;
    const std::string what = std::string(name_of(t)) + " op " + std::to_string(static_cast<int>(op));
    check_reduce<T>(select_axis(t, {7, 5}, 0, op == ScatterOp::Mul ? 20 : 1100, random), op, "select " + what);
    check_reduce<T>(select_axis(t, {7, 5}, 1, 11, random), op, "select 1 " + what);
    check_reduce<T>(gather_axis(t, {7, 5}, 0, 13, random), op, "gather " + what);
    check_reduce<T>(two_indices(t, 3, 4, 5, 17, random), op, "two " + what);
  }
}
TEST(CudaIndex, ScatterOp) {
  for_each(List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, Half, BFloat16, float,
                double, Complex<float>, Complex<double>>{},
           [](auto tag, int) { check_reductions<typename decltype(tag)::type>(); });
}

TEST(CudaIndex, BadIndicesAreLeftOutAndReported) {
  std::mt19937 random(4);
  for (int kind = 0; kind < 3; ++kind) {
    Move m = select_axis(DType::Float32, {5, 4}, 0, 6, random);
    m.index[0].array.set<int64_t>(2, 7);
    m.index[0].array.upload();
    if (kind == 0) check_gather(m, "take");
    else if (kind == 1) check_scatter(m, "put");
    else check_reduce<float>(m, ScatterOp::Add, "combine");
    try {
      synchronize(0);
      ADD_FAILURE() << "no error";
    } catch (const IndexError& e) {
      EXPECT_STREQ(e.what(), "move: index 7 at position 2 is out of bounds for dimension 0 with size 5 on 'cuda:0'");
    }
    synchronize(0);  // and it works on
    check_gather(select_axis(DType::Float32, {5, 4}, 0, 6, random), "afterwards");
    synchronize(0);
  }
  Move m = select_axis(DType::Float32, {5, 4}, 0, 6, random);
  m.wrap = false;
  m.index[0].array.set<int64_t>(0, -1);
  m.index[0].array.upload();
  check_gather(m, "no wrapping");
  EXPECT_THROW(synchronize(0), IndexError);
}

// Raised before anything is launched, so there need be no memory of that size.
TEST(CudaIndex, LimitsAreErrors) {
  std::vector<int64_t> shape{int64_t(1) << 31}, still(20, 0), step{1};
  IndexPlan p;
  p.name = "move";
  p.dtype = DType::UInt8;
  p.shape = shape.data();
  p.dense_strides = step.data();
  p.indexed_strides = still.data();
  p.index[0] = {nullptr, still.data(), 1, 1, 0};
  auto message = [&] {
    try {
      gather(p);
    } catch (const NotImplementedError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  p.ndim = 1;
  EXPECT_EQ(message(), "move: an indexed copy of 2147483648 elements on device 'cuda'");
  shape[0] = int64_t(1) << 32;
  EXPECT_EQ(message(), "move: an indexed copy of 4294967296 elements on device 'cuda'");
  shape.assign(13, 2);
  step.clear();
  for (int i = 0; i < 13; ++i) step.push_back(int64_t(1) << i);  // the innermost last in memory: no two merge
  p.ndim = 13;
  p.shape = shape.data();
  p.dense_strides = step.data();
  EXPECT_EQ(message(), "move: more than 12 axes on device 'cuda'");
  p.n_indices = IndexPlan::kMaxIndices + 1;
  EXPECT_EQ(message(), "move: more than 8 index tensors on device 'cuda'");
}

TEST(CudaMask, NonzeroElements) {
  std::mt19937 random(5);
  for (int64_t n : {0, 1, 15, 16, 17, 4095, 4096, 4097, 30001})
    for (int kind : {0, 1, 2, 3}) {
      Array mask(DType::Bool, {n + 3}), from(DType::Float32, {n + 3});
      const int64_t shift = kind == 3 ? 3 : 0;  // not aligned
      std::vector<int64_t> want;
      for (int64_t i = 0; i < n; ++i) {
        const bool set = kind == 0 ? false : kind == 1 ? true : random() % 3 == 0;
        mask.set<uint8_t>(i + shift, set ? static_cast<uint8_t>(1 + i % 2) : 0);
        if (set) want.push_back(i);
      }
      mask.upload();
      from.fill_random(random);
      const NonzeroElements set({"nonzero", 0}, mask.data() + shift, n);
      ASSERT_EQ(set.count(), static_cast<int64_t>(want.size()));
      Array positions(DType::Int64, {set.count()}), taken(DType::Float32, {set.count()});
      set.positions(reinterpret_cast<int64_t*>(positions.data()));
      set.compress(taken.data(), from.data(), 4);
      positions.download();
      taken.download();
      for (int64_t i = 0; i < set.count(); ++i) {
        ASSERT_EQ(positions.get<int64_t>(i), want[static_cast<size_t>(i)]);
        ASSERT_EQ(taken.get<float>(i), from.get<float>(want[static_cast<size_t>(i)]));
      }
    }
}

TEST(CudaMask, Select) {
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> shape;
    for (unsigned d = random() % 4; d > 0; --d) shape.push_back(1 + static_cast<int64_t>(random() % (d == 1 ? 70 : 9)));
    const DType t = static_cast<DType>(random() % kNumDTypes),
                other = is_complex(t) ? t : static_cast<DType>(random() % kNumDTypes);
    Array condition = random_layout(DType::Bool, shape, random, true), a = random_layout(t, shape, random, true),
          b = random_layout(round % 3 ? t : other, shape, random, true), out = random_layout(t, shape, random, false);
    condition.fill_random(random);
    a.fill_random(random, 0, 9);
    b.fill_random(random, 0, 9);
    Plan plan("where", {&out, &condition, &a, &b}, random() % 3 != 0);
    const bool number = random() % 4 == 0;
    if (number) plan.immediate(3, 3.0);
    where(plan.plan);
    out.download();
    for (int64_t i = 0; i < out.numel(); ++i) {
      alignas(16) char want[16];
      const double three = 3;
      if (condition.get<uint8_t>(i)) std::memcpy(want, a.element(i), static_cast<size_t>(size_of(t)));
      else if (number) convert_value(t, want, DType::Float64, &three);
      else convert_value(t, want, b.dtype, b.element(i));
      ASSERT_TRUE(agrees(t, out.element(i), want)) << "round " << round << " element " << i;
    }
  }
}

TEST(CudaMask, UnravelAndDivide) {
  Array position(DType::Int64, {600}), out(DType::Int64, {600}), counts(DType::Int64, {600}),
      values(DType::Int32, {600}), floats(DType::Float32, {600});
  for (int64_t i = 0; i < 600; ++i) {
    position.set<int64_t>(i, i - 100);
    counts.set<int64_t>(i, i % 5);
    values.set<int32_t>(i, static_cast<int32_t>(i - 300));
    floats.set<float>(i, static_cast<float>(i));
  }
  for (Array* a : {&position, &counts, &values, &floats}) a->upload();
  unravel({"unravel_index", 0}, reinterpret_cast<int64_t*>(out.data()),
          reinterpret_cast<const int64_t*>(position.data()), 600, 7, 5);
  divide_by_counts(Plan("mean", {&values, &counts}).plan);
  divide_by_counts(Plan("mean", {&floats, &counts}).plan);
  out.download();
  values.download();
  floats.download();
  for (int64_t i = 0; i < 600; ++i) {
    const int64_t outer = (i - 100 - (((i - 100) % 7) + 7) % 7) / 7, c = std::max<int64_t>(i % 5, 1);
    EXPECT_EQ(out.get<int64_t>(i), ((outer % 5) + 5) % 5);
    EXPECT_EQ(values.get<int32_t>(i),
              static_cast<int32_t>(std::floor(static_cast<double>(i - 300) / static_cast<double>(c))));
    EXPECT_EQ(floats.get<float>(i), static_cast<float>(i) / static_cast<float>(c));
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
