// Sorting, selecting, grouping and searching against std::stable_sort and plain loops.
#include "cuda_test_util.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "backend/op.h"
#include "cuda/runtime/operations.h"
#include "cuda/sort/sort_rows.h"

namespace strided {
namespace cuda {
namespace {

using Real =
    List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, Half, BFloat16, float, double>;

// The order of elements: NaN greatest, zeros equal.
template <class T>
bool before(T a, T b) {
  const auto x = static_cast<compute_t<T>>(a), y = static_cast<compute_t<T>>(b);
  return x < y || (x == x && y != y);
}
template <class T>
bool same_place(T a, T b) {
  return !before(a, b) && !before(b, a);
}

enum class Kind {
  Few,
  Many,
  Equal,
  Specials,
  Small
};  // Small: the higher digits of integers, the lower ones of floats are equal
template <class T>
Array values(std::vector<int64_t> shape, std::mt19937& random, Kind kind) {
  Array a(dtype_of<T>, std::move(shape));
  for (int64_t i = 0; i < a.numel(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      a.set<T>(i, kind != Kind::Equal && random() % 2);
    } else if constexpr (std::is_integral_v<T>) {
      const uint64_t bits = uint64_t{random()} << 32 | random();
      a.set<T>(i, kind == Kind::Equal   ? T(3)
                  : kind == Kind::Many  ? static_cast<T>(bits)
                  : kind == Kind::Small ? static_cast<T>((bits % 50) << (sizeof(T) == 8 ? 20 : 0))
                                        : static_cast<T>(bits % 7 - 3));
    } else {
      const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1.0f, -1.0f};
      const double v = kind == Kind::Equal   ? 3
                       : kind == Kind::Many  ? std::ldexp(static_cast<double>(random()) - 2147483648.0,
                                                          static_cast<int>(random() % 20) - 34)
                       : kind == Kind::Small ? random() % 50
                                             : random() % 7 - 3.0;
      a.set<T>(i, kind == Kind::Specials ? T(special[random() % 7]) : T(static_cast<compute_t<T>>(v)));
    }
  }
  if (std::is_same_v<T, bool> && kind == Kind::Specials) a.host[0] = 5;  // a byte viewed as bool
  a.upload();
  return a;
}
template <class T>
T at(const Array& a, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) return *a.element(i) != 0;
  else return a.get<T>(i);
}
// Positions of row r in sorted order.
template <class T>
std::vector<int64_t> order_of(const Array& a, int64_t r, int64_t n, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const T x = at<T>(a, r * n + i), y = at<T>(a, r * n + j);
    return descending ? before(y, x) : before(x, y);
  });
  return order;
}

SortPlan plan_of(const Array& in, int64_t n, int64_t rows, const Array& values, const Array& index) {
  return {"sort", 0, in.dtype, in.data(), n, rows, values.data(), reinterpret_cast<int64_t*>(index.data())};
}

template <class T>
void expect_sorted(int64_t n, int64_t rows, int64_t keep, bool descending, std::mt19937& random, Kind kind) {
  const Array in = values<T>({rows, n}, random, kind);
  Array out(in.dtype, {rows, std::max<int64_t>(keep, 1)}), index(DType::Int64, out.shape);
  sort(plan_of(in, n, rows, out, index), keep, descending);
  out.download();
  index.download();
  for (int64_t r = 0; r < rows; ++r) {
    const std::vector<int64_t> order = order_of<T>(in, r, n, descending);
    for (int64_t k = 0; k < keep; ++k) {
      const int64_t from = order[static_cast<size_t>(k)];
      ASSERT_EQ(index.get<int64_t>(r * keep + k), from) << name_of(in.dtype) << " " << rows << "x" << n << " the first "
                                                        << keep << (descending ? " descending" : "") << " at " << k;
      const T want = at<T>(in, r * n + from);
      ASSERT_EQ(std::memcmp(out.element(r * keep + k), &want, sizeof(T)), 0)
          << name_of(in.dtype) << " value " << k;  // -0.0 and NaN too
    }
  }
}

TEST(CudaSort, RowsAreSortedStably) {
  std::mt19937 random(1);
  uint64_t order = 0;
  // Around powers of two, the longest short row (2048) and the tiles of the radix sort (3072 of eight bytes, else
  // 4096).
  for (const auto& [n, rows] : std::vector<std::pair<int64_t, int64_t>>{{1, 5},
                                                                        {2, 300},
                                                                        {3, 3},
                                                                        {31, 40},
                                                                        {32, 2},
                                                                        {33, 2},
                                                                        {64, 3},
                                                                        {65, 3},
                                                                        {200, 17},
                                                                        {1024, 2},
                                                                        {2047, 1},
                                                                        {2048, 2},
                                                                        {2049, 2},
                                                                        {3072, 2},
                                                                        {3073, 1},
                                                                        {4096, 1},
                                                                        {4097, 2},
                                                                        {9001, 1}})
    for_each(Real{}, [&, n = n, rows = rows](auto tag, int i) {
      using T = typename decltype(tag)::type;
      if (n > 2048 && sizeof(T) > 2 && (i + n) % 3 != 0) return;  // long rows: some of the dtypes each
      set_order(order++ % 3);
      const Kind kind = static_cast<Kind>(random() % 5);
      expect_sorted<T>(n, rows, n, random() % 2, random, kind);
      if (n < 100) expect_sorted<T>(n, rows, n, random() % 2, random, Kind::Specials);
    });
  set_order(1);
}

TEST(CudaSort, LongRowsWhoseKeysAgreeInSomeDigits) {
  std::mt19937 random(9);
  for (const Kind kind : {Kind::Small, Kind::Equal, Kind::Many})
    for (const bool descending : {false, true}) {
      expect_sorted<int32_t>(4097, 2, 4097, descending, random, kind);
      expect_sorted<int64_t>(4097, 2, 4097, descending, random, kind);
      expect_sorted<double>(2500, 3, 2500, descending, random, kind);
    }
}

TEST(CudaSort, TheFirstOfEachRow) {
  std::mt19937 random(2);
  uint64_t order = 0;
  for (const auto& [n, rows, keep] : std::vector<std::array<int64_t, 3>>{{1, 3, 1},
                                                                         {40, 9, 7},
                                                                         {2048, 1, 5},
                                                                         {2100, 2, 1},
                                                                         {2100, 2, 525},
                                                                         {2100, 1, 526},
                                                                         {4096, 1, 64},
                                                                         {8193, 2, 10},
                                                                         {9000, 1, 2200}})
    for_each(Real{}, [&, n = n, rows = rows, keep = keep](auto tag, int i) {
      using T = typename decltype(tag)::type;
      if (n > 2048 && (i + rows) % 2 != 0) return;
      set_order(order++ % 3);
      for (const Kind kind : {Kind::Specials, Kind::Equal, Kind::Many})
        expect_sorted<T>(n, rows, keep, random() % 2, random, kind);
    });
  set_order(1);
}

TEST(CudaSort, ManyMoreEqualFirstOnes) {
  std::mt19937 random(3);
  expect_sorted<float>(20000, 1, 3000, true, random, Kind::Few);
  expect_sorted<int64_t>(9000, 2, 2049, false, random, Kind::Few);
}

TEST(CudaSort, ValuesOrPositionsAlone) {
  std::mt19937 random(4);
  for (int64_t n : {100, 3000}) {
    const Array in = values<float>({n}, random, Kind::Many);
    Array out(in.dtype, {n}), index(DType::Int64, {n});
    SortPlan plan = plan_of(in, n, 1, out, index);
    plan.index = nullptr;
    sort(plan, n, false);
    plan = plan_of(in, n, 1, out, index);
    plan.values = nullptr;
    sort(plan, n, false);
    out.download();
    index.download();
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(out.get<float>(i), in.get<float>(index.get<int64_t>(i)));
      if (i > 0) {
        ASSERT_LE(out.get<float>(i - 1), out.get<float>(i));
      }
    }
  }
}

TEST(CudaSort, KeysOfFewBitsWithPositionsOfTheirOwn) {
  std::mt19937 random(5);
  for (int64_t n : {1, 1500, 5000})
    for (int bits : {1, 8, 13, 64}) {
      Array keys(DType::UInt64, {n}), sorted(DType::UInt64, {n}), position(DType::Int64, {n}), index(DType::Int64, {n});
      std::vector<int64_t> want(static_cast<size_t>(n));
      std::iota(want.begin(), want.end(), 0);
      for (int64_t i = 0; i < n; ++i) {
        keys.set(i, (uint64_t{random()} << 32 | random()) >> (64 - bits));
        position.set<int64_t>(i, 7 * i);
      }
      keys.upload();
      position.upload();
      std::stable_sort(want.begin(), want.end(),
                       [&](int64_t a, int64_t b) { return keys.get<uint64_t>(a) < keys.get<uint64_t>(b); });
      RowSort plan;
      plan.in = keys.data();
      plan.n = plan.keep = n;
      plan.values = sorted.data();
      plan.index = reinterpret_cast<int64_t*>(index.data());
      plan.bits = bits;
      plan.position = reinterpret_cast<const int64_t*>(position.data());
      sort_rows(plan);
      sorted.download();
      index.download();
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(index.get<int64_t>(i), 7 * want[static_cast<size_t>(i)]) << n << ' ' << bits << ' ' << i;
        ASSERT_EQ(sorted.get<uint64_t>(i), keys.get<uint64_t>(want[static_cast<size_t>(i)]));
      }
    }
}

template <class T>
int64_t selected(const Array& a, int64_t r, int64_t n, OrderStatistic what, int64_t k) {
  const std::vector<int64_t> order = order_of<T>(a, r, n, false);
  auto value = [&](int64_t i) { return at<T>(a, r * n + order[static_cast<size_t>(i)]); };
  if (what == OrderStatistic::Mode) {
    int64_t best = 0, place = 0;
    for (int64_t i = 0, j; i < n; i = j) {
      for (j = i; j < n && same_place(value(i), value(j)); ++j) {
      }
      if (j - i > best) best = j - i, place = j - 1;
    }
    return order[static_cast<size_t>(place)];
  }
  int64_t nans = 0;
  for (int64_t i = 0; i < n; ++i) nans += value(i) != value(i);
  if (what != OrderStatistic::Kth)
    k = nans > 0 && (what == OrderStatistic::Median || nans == n) ? n - 1 : (n - nans - 1) / 2;
  int64_t i = k;
  while (i > 0 && same_place(value(i - 1), value(k))) --i;
  return order[static_cast<size_t>(i)];
}

TEST(CudaSort, SelectedElements) {
  std::mt19937 random(6);
  uint64_t order = 0;
  for (const auto& [n, rows] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {2, 700}, {33, 5}, {2048, 1}, {2049, 2}, {4097, 1}})
    for_each(Real{}, [&, n = n, rows = rows](auto tag, int i) {
      using T = typename decltype(tag)::type;
      if (n > 2048 && (i + rows) % 2 != 0) return;
      for (const Kind kind : {Kind::Few, Kind::Many, Kind::Equal, Kind::Specials}) {
        set_order(order++ % 3);
        const Array in = values<T>({rows, n}, random, kind);
        Array out(in.dtype, {rows}), index(DType::Int64, {rows});
        for (const OrderStatistic what :
             {OrderStatistic::Kth, OrderStatistic::Median, OrderStatistic::NanMedian, OrderStatistic::Mode}) {
          const int64_t k = static_cast<int64_t>(random() % static_cast<uint64_t>(n));
          order_statistic(plan_of(in, n, rows, out, index), what, k);
          out.download();
          index.download();
          for (int64_t r = 0; r < rows; ++r) {
            const int64_t from = selected<T>(in, r, n, what, k);
            ASSERT_EQ(index.get<int64_t>(r), from)
                << name_of(in.dtype) << " " << rows << "x" << n << " select " << static_cast<int>(what) << " " << k;
            ASSERT_EQ(std::memcmp(out.element(r), in.element(r * n + from), sizeof(T)), 0);
          }
        }
      }
    });
  set_order(1);
}

template <class T>
void expect_groups(int64_t n, int64_t m, bool ordered, std::mt19937& random, Kind kind) {
  const Array in = values<T>({n, m}, random, kind);
  Array order(DType::Int64, {n}), group(DType::Int64, {n}), starts(DType::Int64, {n});
  auto ints = [](const Array& a) { return reinterpret_cast<int64_t*>(a.data()); };
  int64_t groups;
  unique_rows({"unique", 0, in.dtype, in.data(), n, m, ordered ? ints(order) : nullptr, ints(group), ints(starts)},
              &groups);
  order.download();
  group.download();
  starts.download();
  std::vector<int64_t> want(static_cast<size_t>(n));
  std::iota(want.begin(), want.end(), 0);
  auto element = [&](int64_t i, int64_t c) { return at<T>(in, i * m + c); };
  if (ordered)
    std::stable_sort(want.begin(), want.end(), [&](int64_t a, int64_t b) {
      for (int64_t c = 0; c < m; ++c)
        if (!same_place(element(a, c), element(b, c))) return before(element(a, c), element(b, c));
      return false;
    });
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t here = want[static_cast<size_t>(i)];
    bool equal = i > 0;
    for (int64_t c = 0; c < m && equal; ++c) equal = element(here, c) == element(want[static_cast<size_t>(i - 1)], c);
    if (!equal) {
      ASSERT_EQ(starts.get<int64_t>(found), i) << name_of(in.dtype) << " " << n << "x" << m;
      ++found;
    }
    ASSERT_EQ(group.get<int64_t>(i), found - 1) << name_of(in.dtype) << " " << n << "x" << m;
    if (ordered) {
      ASSERT_EQ(order.get<int64_t>(i), here) << name_of(in.dtype) << " " << n << "x" << m << " at " << i;
    }
  }
  ASSERT_EQ(groups, found);
  if (m > 1 || !ordered) return;
  Array distinct(in.dtype, {n});
  int64_t count;
  unique_values({"unique", 0, in.dtype, in.data(), n, 1, distinct.data()}, &count);
  distinct.download();
  ASSERT_EQ(count, groups);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = want[static_cast<size_t>(starts.get<int64_t>(g))];
    // True is any byte but 0.
    const bool same = std::is_same_v<T, bool> ? (*distinct.element(g) != 0) == (*in.element(first) != 0)
                                              : std::memcmp(distinct.element(g), in.element(first), sizeof(T)) == 0;
    ASSERT_TRUE(same) << name_of(in.dtype) << " " << n;
  }
}

TEST(CudaSort, GroupsOfEqualSlices) {
  std::mt19937 random(7);
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {300, 1}, {2500, 1}, {100, 2}, {60, 8}, {60, 9}, {40, 17}, {2100, 3}})
    for_each(Real{}, [&, n = n, m = m](auto tag, int i) {
      using T = typename decltype(tag)::type;
      if (n > 2048 && i % 4 != 3) return;
      for (const Kind kind : {Kind::Few, Kind::Equal, Kind::Specials})
        for (const bool ordered : {true, false}) expect_groups<T>(n, m, ordered, random, kind);
    });
}

TEST(CudaSort, PlacesInSortedRows) {
  std::mt19937 random(8);
  for_each(Real{}, [&](auto tag, int) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    for (const auto& [n, m, rows] : std::vector<std::array<int64_t, 3>>{
             {0, 5, 1}, {1, 9, 2}, {37, 300, 1}, {64, 5, 3}, {36, 300, 1}, {63, 5, 3}}) {
      const bool nan = n % 2;  // in the rows: then places are what halving finds, as on the CPU, and have no other rule
      const Array in = values<T>({rows, std::max<int64_t>(n, 1)}, random, nan ? Kind::Specials : Kind::Few),
                  x = values<T>({rows, m}, random, Kind::Specials);
      Array sorted(in.dtype, in.shape), sorter(DType::Int64, in.shape), places(DType::Int64, x.shape),
          inside(DType::Bool, x.shape);
      for (int64_t r = 0; r < rows && n > 0; ++r) {
        const auto order = order_of<T>(in, r, n, false);
        for (int64_t i = 0; i < n; ++i) {
          sorter.set<int64_t>(r * n + i, order[static_cast<size_t>(i)]);
          sorted.set<T>(r * n + i, at<T>(in, r * n + order[static_cast<size_t>(i)]));
        }
      }
      sorter.upload();
      sorted.upload();
      for (const Search what : {Search::Left, Search::Right, Search::In, Search::NotIn})
        for (const bool by_sorter : {false, true}) {
          const bool place = what == Search::Left || what == Search::Right;
          if (place ? nan : by_sorter) continue;
          Array& out = place ? places : inside;
          search(
              {"search", 0, in.dtype, by_sorter ? in.data() : sorted.data(),
               by_sorter ? reinterpret_cast<const int64_t*>(sorter.data()) : nullptr, n, rows, x.data(), m, out.data()},
              what);
          out.download();
          for (int64_t i = 0; i < rows * m; ++i) {
            const C v = static_cast<C>(at<T>(x, i));
            int64_t less = 0, not_greater = 0, equal = 0;
            for (int64_t k = 0; k < n; ++k) {
              const C y = static_cast<C>(at<T>(sorted, i / m * n + k));
              less += !(y >= v);
              not_greater += !(y > v);
              equal += y == v;
            }
            if (place) {
              ASSERT_EQ(places.get<int64_t>(i), what == Search::Left ? less : not_greater)
                  << name_of(in.dtype) << " " << static_cast<double>(v);
            } else {
              ASSERT_EQ(inside.get<bool>(i), (equal > 0) == (what == Search::In))
                  << name_of(in.dtype) << " " << static_cast<double>(v);
            }
          }
        }
    }
  });
}

TEST(CudaSort, RefusesRowsThatAreTooLong) {
  Array in(DType::Float32, {4}), index(DType::Int64, {4});
  const int64_t n = int64_t(1) << 31;
  const SortPlan plan = plan_of(in, n, 1, in, index);
  const std::function<void()> calls[] = {[&] { sort(plan, n, false); }, [&] { sort(plan, 5, true); },
                                         [&] { order_statistic(plan, OrderStatistic::Median, 0); }};
  for (const auto& call : calls) try {
      call();
      ADD_FAILURE() << "taken";
    } catch (const NotImplementedError& e) {
      EXPECT_STREQ(e.what(), "sort: 1 rows of 2147483648 elements on device 'cuda'");
    }
}

TEST(CudaSort, BadSortersAreReported) {
  Array row(DType::Float32, {3}), sorter(DType::Int64, {3}), x(DType::Float32, {2}), out(DType::Int64, {2});
  for (int64_t bad : {int64_t(-1), int64_t(3), int64_t(1) << 60}) {
    sorter.set<int64_t>(1, bad);
    sorter.upload();
    search({"torch.searchsorted()", 0, row.dtype, row.data(), reinterpret_cast<const int64_t*>(sorter.data()), 3, 1,
            x.data(), 2, out.data()},
           Search::Left);
    try {
      synchronize(0);
      ADD_FAILURE() << "taken";
    } catch (const RuntimeError& e) {
      EXPECT_STREQ(e.what(), "torch.searchsorted(): sorter index out of range");
    }
    synchronize(0);
  }
}

}  // namespace
}  // namespace cuda
}  // namespace strided
