// Matrix products: every dtype and every tile against a plain loop in double (integers exactly), at the edges of tiles,
// slabs and vectors, over random strides and batches, with k in parts; the same bits in every order of threads.
#include "cuda_test_util.h"

#include <cstdlib>

#include "cuda/gemm/gemm.h"
#include "cuda/runtime/operations.h"
#include "cuda/runtime/runtime.h"

#if STRIDED_EMULATED
#include <cuda_emulation_warpgroup.h>
#include <thread>
#endif

namespace strided {
namespace cuda {
namespace {

template <class T>
using wide_t =
    std::conditional_t<is_complex_v<T>, Complex<double>, std::conditional_t<std::is_integral_v<T>, uint64_t, double>>;

template <class W, class T>
W wide(T x) {
  if constexpr (is_complex_v<T>) return W(static_cast<double>(x.re), static_cast<double>(x.im));
  else if constexpr (std::is_integral_v<T>) return static_cast<W>(x);
  else return static_cast<W>(static_cast<compute_t<T>>(x));
}
template <class T, class W>
T narrow(W x) {
  if constexpr (is_complex_v<T>) return T(static_cast<real_t<T>>(x.re), static_cast<real_t<T>>(x.im));
  else if constexpr (std::is_same_v<T, bool>) return x != 0;
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(x);
  else return T(static_cast<compute_t<T>>(x));
}
double size_of_error(double got, double want) { return std::abs(got - want); }
double size_of_error(Complex<double> got, Complex<double> want) {
  return std::abs(got.re - want.re) + std::abs(got.im - want.im);
}
double size_of_error(uint64_t got, uint64_t want) { return got == want ? 0 : 1e300; }

// Shapes: batch axes, then the matrix.
struct Product {
  Array a, b, c;
  double alpha = 1, beta = 0;
  bool tf32 = false;

  Product(DType t, std::vector<int64_t> batch, int64_t m, int64_t n, int64_t k, std::mt19937& random,
          bool plain = false) {
    auto make = [&](int64_t rows, int64_t columns, bool result) {
      std::vector<int64_t> shape = batch;
      shape.push_back(rows);
      shape.push_back(columns);
      Array x = plain ? Array(t, shape) : random_layout(t, shape, random, !result);
      x.fill_random(random, t == DType::Bool ? 0 : -8);
      return x;
    };
    a = make(m, k, false);
    b = make(k, n, false);
    c = make(m, n, true);
  }

  std::vector<char> run() {
    c.upload();
    multiply();
    Array got = c;
    got.download();
    return got.host;
  }

  void multiply() {
    const size_t d = a.shape.size() - 2;
    GemmPlan plan;
    plan.name = "matmul";
    plan.dtype = c.dtype;
    plan.m = c.shape[d];
    plan.n = c.shape[d + 1];
    plan.k = a.shape[d + 1];
    plan.a = {a.data(), a.strides[d], a.strides[d + 1]};
    plan.b = {b.data(), b.strides[d], b.strides[d + 1]};
    plan.c = {c.data(), c.strides[d], c.strides[d + 1]};
    plan.batch_ndim = static_cast<int>(d);
    plan.batch_shape = c.shape.data();
    plan.batch_strides[0] = a.strides.data();
    plan.batch_strides[1] = b.strides.data();
    plan.batch_strides[2] = c.strides.data();
    plan.tf32 = tf32;
    alignas(16) char scales[2][16];
    dispatch(c.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const compute_t<T> values[] = {compute_t<T>(alpha), compute_t<T>(beta)};
      std::memcpy(scales[0], &values[0], sizeof(values[0]));
      std::memcpy(scales[1], &values[1], sizeof(values[1]));
    });
    plan.alpha = scales[0];
    plan.beta = scales[1];
    gemm(plan);
  }

  // Largest error relative to the sum of the products' sizes.
  void check(const char* what) {
    const std::vector<char> got = run();
    const std::vector<char> before = c.host;
    dispatch(c.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using W = wide_t<T>;
      const size_t d = a.shape.size() - 2;
      const int64_t m = c.shape[d], n = c.shape[d + 1], k = a.shape[d + 1];
      const double eps = std::is_integral_v<T>       ? 0
                         : tf32                      ? 2e-3
                         : sizeof(real_t<T>) == 8    ? 1e-15
                         : sizeof(real_t<T>) == 4    ? 4e-7
                         : c.dtype == DType::Float16 ? 2e-3
                                                     : 1.6e-2;
      std::vector<W> all_a(static_cast<size_t>(a.numel())), all_b(static_cast<size_t>(b.numel()));
      for (size_t i = 0; i < all_a.size(); ++i) all_a[i] = wide<W>(a.get<T>(static_cast<int64_t>(i)));
      for (size_t i = 0; i < all_b.size(); ++i) all_b[i] = wide<W>(b.get<T>(static_cast<int64_t>(i)));
      std::vector<char> touched(before.size(), 0);
      for (int64_t i = 0; i < c.numel(); ++i) {
        const int64_t product = i / (m * n), row = i / n % m, column = i % n;
        W sum = W(0);
        double scale = 0;
        for (int64_t l = 0; l < k; ++l) {
          const W x = all_a[static_cast<size_t>((product * m + row) * k + l)],
                  y = all_b[static_cast<size_t>((product * k + l) * n + column)];
          sum = sum + x * y;
          if constexpr (!std::is_integral_v<T>) scale += size_of_error(x, W(0)) * size_of_error(y, W(0));
        }
        const W old = wide<W>(c.get<T>(i));
        W want =
            std::is_integral_v<T> ? static_cast<W>(wide<W>(T(static_cast<compute_t<T>>(alpha)))) * sum : W(alpha) * sum;
        if (beta != 0)
          want = want + (std::is_integral_v<T> ? wide<W>(T(static_cast<compute_t<T>>(beta))) : W(beta)) * old;
        T result;
        std::memcpy(&result, got.data() + c.at(i), sizeof(T));
        const W w = wide<W>(narrow<T>(want));
        ASSERT_LE(size_of_error(wide<W>(result), std::is_integral_v<T> ? w : want), eps * (scale + 1) * 2)
            << what << " " << name_of(c.dtype) << " element " << i << " of " << m << "x" << n << "x" << k << ", batch "
            << c.numel() / (m * n);
        std::memset(touched.data() + c.at(i), 1, sizeof(T));
      }
      for (size_t i = 0; i < touched.size(); ++i)
        ASSERT_TRUE(touched[i] || got[i] == before[i]) << what << ": wrote byte " << i << ", which is none of C's";
    });
  }
};

constexpr DType kAll[] = {DType::Bool,     DType::UInt8,   DType::Int8,    DType::Int16,     DType::Int32,
                          DType::Int64,    DType::UInt16,  DType::UInt32,  DType::UInt64,    DType::Float16,
                          DType::BFloat16, DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

struct ForcedTile {
  explicit ForcedTile(int i) { force_gemm_tile(i); }
  ~ForcedTile() { force_gemm_tile(-1); }
};

TEST(CudaGemm, EveryTileAtItsEdges) {
  std::mt19937 random(1);
  for (DType t : kAll)
    for (int tile = 0; tile < gemm_tiles(t); ++tile) {
      const ForcedTile forced(tile);
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{9, 31, 17},
                                    {33, 32, 8},
                                    {65, 66, 33},
                                    {32, 64, 16},
                                    {127, 20, 70},
                                    {2, 129, 1},
                                    {260, 136, 33}}) {
        if (int64_t{m} * n > 4000 && size_of(t) != 4 && compute_dtype_of(t) == t) continue;
        if (m == 260 && compute_dtype_of(t) == t) continue;
        Product p(t, {}, m, n, k, random, random() % 2);
        p.check("tile");
      }
    }
}

TEST(CudaGemm, ATileThatIsNotInTheTableIsAnError) {
  std::mt19937 random(1);
  const ForcedTile forced(gemm_tiles(DType::Float64));
  EXPECT_THROW(Product(DType::Float64, {}, 40, 40, 20, random).run(), ValueError);
}

TEST(CudaGemm, EveryLayoutOfTheOperands) {
  std::mt19937 random(2);
  for (DType t : {DType::Float32, DType::Float64, DType::BFloat16, DType::Complex64, DType::Complex128, DType::Int16})
    for (int i = 0; i < 40; ++i) {
      const ForcedTile forced(static_cast<int>(random() % static_cast<unsigned>(gemm_tiles(t) + 1)) - 1);
      std::vector<int64_t> batch;
      if (random() % 2) batch.push_back(1 + random() % 3);
      Product p(t, batch, 1 + random() % 70, 1 + random() % 70, random() % 50, random);
      p.alpha = random() % 2 ? 1 : 2;
      p.beta = random() % 2 ? 0 : 3;
      p.check("layout");
    }
}

// An operand of shape [batch][outer][k], or [batch][k][outer] for B, whose outer (how = 1) or k neighbours (0) are
// neighbours in memory and can be copied in vectors, or neither (2).
Array operand(DType t, int64_t batch, int64_t outer, int64_t k, int how, bool is_b, std::mt19937& random) {
  const auto whole = [](int64_t n) { return (n + 7) / 8 * 8; };
  const int64_t along_outer = how == 0 ? whole(k) : how == 1 ? 1 : 2;
  const int64_t along_k = how == 0 ? 1 : how == 1 ? whole(outer) : 2 * outer + 1;
  const int64_t matrix = whole(along_outer * outer + along_k * k);
  Array x = is_b ? Array(t, {batch, k, outer}, {matrix, along_k, along_outer})
                 : Array(t, {batch, outer, k}, {matrix, along_outer, along_k});
  x.fill_random(random);
  return x;
}

TEST(CudaGemm, TilesOf16BitFloatsInEveryLayout) {
  constexpr int64_t sizes[] = {1, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257};
  constexpr int64_t depths[] = {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200};
  std::mt19937 random(13);
  for (DType t : {DType::Float16, DType::BFloat16})
    for (int tile = 0; tile < gemm_tiles(t); ++tile) {
      const ForcedTile forced(tile);
      for (int how = 0; how < 9; ++how)
        for (int i = 0; i < 11; ++i) {
          if ((i + how) % (tile < 3 ? 4 : t == DType::Float16 ? 1 : 3)) continue;  // not every case every time
          const int64_t m = sizes[i], n = sizes[(i * 4 + how) % 11], k = depths[(i * 7 + how * 3) % 11];
          const int64_t batch = m * n < 5000 ? 3 : 1;
          Product p(t, {batch}, m, n, 0, random, true);
          p.a = operand(t, batch, m, k, how / 3, false, random);
          p.b = operand(t, batch, n, k, how % 3, true, random);
          p.alpha = i % 2 ? 1 : 0.5;
          p.beta = i % 3 ? 0 : 2;
          p.check(("tile " + std::to_string(tile) + ", layouts " + std::to_string(how)).c_str());
        }
    }
}

TEST(CudaGemm, TilesOf16BitFloatsInPartsOfK) {
  std::mt19937 random(14);
  for (int tile = 0; tile < gemm_tiles(DType::BFloat16); ++tile)
    for (int64_t k : {600, 1025}) {
      const ForcedTile forced(tile);
      Product p(DType::BFloat16, {}, 70, 30, 0, random, true);
      p.a = operand(DType::BFloat16, 1, 70, k, tile % 2, false, random);
      p.b = operand(DType::BFloat16, 1, 30, k, 1 - tile % 2, true, random);
      for (Array* x : {&p.a, &p.b}) {
        x->shape.erase(x->shape.begin());
        x->strides.erase(x->strides.begin());
      }
      p.beta = 1;
      p.check("parts");
    }
}

TEST(CudaGemm, TransposedOperandsInVectors) {
  std::mt19937 random(3);
  for (DType t : {DType::Float32, DType::Float16, DType::Float64, DType::Complex64})
    for (int how = 0; how < 8; ++how)
      for (int64_t m : {64, 72, 67}) {
        const int64_t n = 48, k = 40;
        Product p(t, {}, m, n, k, random, true);
        if (how & 1) p.a.strides = {1, m};
        if (how & 2) p.b.strides = {1, k};
        if (how & 4) p.c.strides = {1, m};
        for (int tile : {0, 1}) {
          const ForcedTile forced(tile);
          p.check("transposed");
        }
      }
}

TEST(CudaGemm, VectorsAndDots) {
  std::mt19937 random(4);
  for (DType t : kAll)
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{70, 1, 300}, {1, 130, 257}, {1, 1, 5000}, {3, 1, 9000}, {1000, 1, 70}, {5, 1, 65}}) {
      Product(t, {}, m, n, k, random, true).check("vector");
      if (size_of(t) == 4) Product(t, {2}, m, n, k, random).check("vectors");
    }
  // Transposed: neighbours along the other axis, in runs and not.
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::UInt8})
    for (int64_t m : {128, 132, 131}) {
      Product p(t, {}, m, 1, 90, random, true);
      p.a.strides = {1, m};
      p.check("along m");
    }
}

TEST(CudaGemm, TinyBatches) {
  std::mt19937 random(5);
  for (DType t : kAll)
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{1, 1, 1}, {4, 4, 4}, {3, 5, 2}, {8, 8, 8}, {2, 32, 64}, {7, 9, 64}})
      for (int64_t batch : {1, 3, 130}) {
        Product(t, {batch}, m, n, k, random, true).check("tiny");
        if (size_of(t) == 8) Product(t, {2, batch, 1, 2}, m, n, k, random).check("tiny, many axes");
      }
}

TEST(CudaGemm, ManyBatchAxesAndBroadcastOnes) {
  std::mt19937 random(6);
  for (int i = 0; i < 6; ++i) Product(DType::Float32, {2, 1, 2, 3, 1, 2, 2}, 9, 11, 5, random).check("many axes");
  Product p(DType::Float64, {5}, 20, 30, 10, random, true);
  p.b.strides[0] = 0;
  p.check("one B for all");
}

TEST(CudaGemm, PartsOfK) {
  std::mt19937 random(7);
  for (DType t : {DType::Float32, DType::Float16, DType::Int64, DType::Complex64})
    for (int64_t k : {511, 1024, 3000}) {
      Product p(t, {}, 20, 12, k, random, k % 2 == 0);
      p.beta = 1;
      p.check("parts");
    }
}

TEST(CudaGemm, NothingToAdd) {
  std::mt19937 random(8);
  for (DType t : {DType::Float32, DType::Float16, DType::Int8})
    for (double beta : {0.0, 2.0})
      for (const auto& [m, n] : {std::array<int64_t, 2>{5, 7}, {1, 40}, {50, 60}}) {
        Product p(t, {}, m, n, 0, random, true);
        p.beta = beta;
        p.check("k = 0");
      }
}

TEST(CudaGemm, BetaZeroDoesNotReadC) {
  std::mt19937 random(9);
  for (int64_t n : {1, 4, 40}) {
    Product p(DType::Float32, {}, 40, n, 20, random, true);
    for (int64_t i = 0; i < p.c.numel(); ++i) p.c.set<float>(i, NAN);
    p.check("NaN in C");
  }
}

TEST(CudaGemm, NotANumberGoesWhereItBelongs) {
  std::mt19937 random(10);
  for (DType t : {DType::Float32, DType::BFloat16}) {
    Product p(t, {}, 70, 70, 37, random, true);
    dispatch(t, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>) {
        p.a.set<T>(3 * 37 + 5, T(NAN));
        p.b.set<T>(5 * 70 + 9, T(INFINITY));
        p.a.upload();
        p.b.upload();
        const std::vector<char> got = p.run();
        for (int64_t i = 0; i < p.c.numel(); ++i) {
          T v;
          std::memcpy(&v, got.data() + p.c.at(i), sizeof(T));
          const float x = static_cast<float>(v);
          if (i / 70 == 3) ASSERT_TRUE(std::isnan(x)) << i;
          else if (i % 70 != 9) ASSERT_TRUE(std::isfinite(x)) << i;
          else ASSERT_FALSE(std::isfinite(x)) << i;
        }
      }
    });
  }
}

TEST(CudaGemm, RoundedFactorsWhenAskedFor) {
  std::mt19937 random(11);
  double most = 0;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{65, 70, 30}, {130, 33, 17}}) {
    Product p(DType::Float32, {}, m, n, k, random);
    for (Array* x : {&p.a, &p.b}) {
      for (int64_t i = 0; i < x->numel(); ++i) x->set<float>(i, static_cast<float>(random() % 1000) / 777);
      x->upload();
    }
    for (int tile : {0, 1}) {
      const ForcedTile forced(tile);
      p.tf32 = true;
      p.check("tf32");
      const std::vector<char> rounded = p.run();
      p.tf32 = false;
      const std::vector<char> exact = p.run();
      for (int64_t i = 0; i < p.c.numel(); ++i) {
        float x, y;
        std::memcpy(&x, rounded.data() + p.c.at(i), 4);
        std::memcpy(&y, exact.data() + p.c.at(i), 4);
        most = std::max(most, std::abs(static_cast<double>(x) - y));
      }
    }
  }
  EXPECT_GT(most, 1e-4);  // they were rounded
}

#if STRIDED_EMULATED
TEST(CudaGemm, SameBitsInEveryOrder) {
  std::mt19937 random(12);
  for (DType t : {DType::Float32, DType::Float16, DType::Complex128, DType::Int8})
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{70, 65, 40}, {30, 1, 900}, {6, 6, 30}, {10, 12, 1500}})
      for (int tile = -1; tile < gemm_tiles(t); ++tile) {
        if (tile >= 0 && t != DType::Float16) break;
        const ForcedTile forced(tile);
        Product p(t, {}, m, n, k, random, true);
        set_order(0);
        const std::vector<char> first = p.run();
        for (uint64_t seed : {2, 3, 4}) {
          set_order(seed);
          EXPECT_EQ(p.run(), first) << name_of(t) << " " << m << "x" << n << "x" << k << ", tile " << tile;
        }
      }
}

// In processes of their own: a tile's trial is kept.
TEST(CudaGemm, TilesThatNoGpuHasProvenShowThatTheyCan) {
  if (device_info(0).major != 9) GTEST_SKIP() << "for other devices";
  for (const char* broken : {"", "STRIDED_EMULATE_WRONG_PRODUCTS", "STRIDED_EMULATE_LOST_COPIES"})
    EXPECT_EXIT(
        {
          setenv("STRIDED_CUDA_TRIALS", "1", 1);
          if (*broken) setenv(broken, "1", 1);
          std::mt19937 random(15);
          Product p(DType::BFloat16, {}, 128, 1024, 64, random, true);
          const std::vector<char> got = p.run();
          cuda_emulation::count_products();
          const bool same = got == p.run();
          const size_t products = cuda_emulation::count_products();  // of the second: no trial is among them
          const bool lost = std::string(broken) == "STRIDED_EMULATE_LOST_COPIES";
          const bool good = !*broken || lost;  // the tiles whose slabs the threads bring
          bool right = same && (products > 0) == good;
          for (const int i : {3, 4}) right = right && may_take_tile(DType::BFloat16, i, 0) == good;
          for (const int i : {5, 6}) right = right && may_take_tile(DType::BFloat16, i, 0) == !*broken;
          const ForcedTile forced(0);
          std::exit(right && p.run() == got ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "")
        << broken;
}

TEST(CudaGemm, TilesThatFitOnlyOtherDevices) {
  std::mt19937 random(15);
  Product p(DType::Float16, {}, 300, 520, 64, random, true);
  cuda_emulation::count_products();
  const ForcedTile forced(3);
  if (device_info(0).major != 9) {  // nor by others
    EXPECT_EQ(gemm_tiles(DType::Float16), 3);
    EXPECT_THROW(p.run(), ValueError);
    return;
  }
  p.run();
  EXPECT_EQ(cuda_emulation::count_products(), 3u * 3 * 2 * 4);  // tiles, warpgroups, 16 of k
}

// Rings: what has no map takes another tile; batches of any axes; blocks that take several tiles.
TEST(CudaGemm, RingsOfSlabs) {
  if (device_info(0).major != 9) GTEST_SKIP() << "for other devices";
  std::mt19937 random(16);
  const auto rings = [&](Product& p, const char* what) {  // whether one was taken
    cuda_emulation::count_products();
    p.check(what);
    return cuda_emulation::count_products() > 0;
  };
  for (const int tile : {5, 6}) {
    EXPECT_FALSE(may_take_tile(DType::BFloat16, tile, 0));  // nobody asked for trials
    const ForcedTile forced(tile);
    for (int axes = 0; axes < 5; ++axes) {
      std::vector<int64_t> batch(static_cast<size_t>(axes), 2);
      Product p(DType::BFloat16, batch, 72, 80, 72, random, true);
      EXPECT_TRUE(rings(p, "batch"));
      if (axes == 0) continue;
      p.b.strides[0] = 0;
      EXPECT_TRUE(rings(p, "one B"));
    }
    Product apart(DType::Float16, {2, 3, 2}, 40, 48, 64, random, true);  // no two axes are one
    apart.a.strides[0] = apart.b.strides[1] = 0;
    EXPECT_TRUE(rings(apart, "three axes"));
    // As many tiles as the device has multiprocessors, and more.
    Product many(DType::BFloat16, {}, 8, 40000, 64, random, true);
    EXPECT_TRUE(rings(many, "several tiles for a block"));
    Product odd(DType::BFloat16, {}, 72, 80, 71, random, true);  // rows of A are no multiples of 16 bytes
    EXPECT_FALSE(rings(odd, "no map"));
    Product none(DType::BFloat16, {}, 72, 80, 0, random, true);
    EXPECT_FALSE(rings(none, "k = 0"));
    Product all(DType::BFloat16, {}, 72, 80, 64, random, true);
    all.a.strides[0] = 0;  // one row for all
    EXPECT_FALSE(rings(all, "rows that stand still"));
  }
}

// The driver makes no map for a thread that has no context yet.
TEST(CudaGemm, RingsInAThreadWhoseFirstWorkTheyAre) {
  if (device_info(0).major != 9) GTEST_SKIP() << "for other devices";
  std::mt19937 random(17);
  const ForcedTile forced(5);
  Product p(DType::BFloat16, {}, 72, 80, 72, random, true);
  cuda_emulation::count_products();
  std::thread([&] { p.multiply(); }).join();
  EXPECT_GT(cuda_emulation::count_products(), 0u);
}
#endif

}  // namespace
}  // namespace cuda
}  // namespace strided
