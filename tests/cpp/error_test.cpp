// Raising: the text is put together from values, the class is the one asked for, and nothing is computed when all is
// well.
#include "base/error.h"

#include <gtest/gtest.h>

#include "base/dims.h"

namespace strided {
namespace {

TEST(Error, TextAndClass) {
  const Dims shape{2, 3};
  try {
    STRIDED_CHECK(shape[0] == 3, IndexError, "op: size 3 is required, got shape ", shape, " and ", 1.5);
    FAIL() << "raised nothing";
  } catch (const IndexError& error) {
    EXPECT_STREQ(error.what(), "op: size 3 is required, got shape [2, 3] and 1.5");
  }
  EXPECT_THROW(STRIDED_THROW(LinAlgError, "singular"), LinAlgError);
  EXPECT_THROW(STRIDED_THROW(OutOfMemoryError, ""), Error);
  EXPECT_THROW(STRIDED_THROW(BufferError, "x"), std::runtime_error);
}

TEST(Error, MessageIsMadeOnlyWhenNeeded) {
  int made = 0;
  auto text = [&] { return ++made; };
  STRIDED_CHECK(true, ValueError, text());
  EXPECT_EQ(made, 0);
  EXPECT_THROW(STRIDED_CHECK(false, ValueError, text()), ValueError);
  EXPECT_EQ(made, 1);
}

TEST(Error, CheckIsOneStatement) {
  volatile bool never = false;
  bool other = false;
  if (never) STRIDED_CHECK(false, ValueError, "not reached");
  else other = true;
  EXPECT_TRUE(other);
}

}  // namespace
}  // namespace strided
