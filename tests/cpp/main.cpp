// The main program of the C++ tests.
#include <gtest/gtest.h>

#ifndef STRIDED_TEST_HEADERS_ONLY
#include "cpu/backend.h"
#endif

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Some tests fork while threads run.
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
#ifndef STRIDED_TEST_HEADERS_ONLY
  strided::register_cpu_backend();
#endif
  return RUN_ALL_TESTS();
}
