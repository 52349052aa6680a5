// Device names, in and out.
#include "core/device.h"

#include <gtest/gtest.h>

#include <string>

namespace strided {
namespace {

TEST(Device, NamesRoundTrip) {
  for (const char* text : {"cpu", "cuda", "cuda:0", "cuda:1", "cuda:127", "xla:3", "cpu:0"})
    EXPECT_EQ(to_string(parse_device(text)), text);
  EXPECT_EQ(parse_device("cuda:1"), (Device{DeviceType::CUDA, 1}));
  EXPECT_NE(parse_device("cuda"), parse_device("cuda:0"));
  EXPECT_TRUE(Device{}.is_cpu());
}

TEST(Device, BadNamesRaise) {
  for (const char* text : {"", ":", "cpu:", "cuda:-1", "cuda:01", "cuda:128", "cuda:99999999999999999999", "cuda:1x",
                           "gpu", "CPU", "cpu :0"})
    EXPECT_THROW(parse_device(text), RuntimeError) << text;
}

TEST(Device, MessagesArePyTorchs) {
  auto message = [](const char* text) {
    try {
      parse_device(text);
    } catch (const RuntimeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("cuda:x"), "Invalid device string: 'cuda:x'");
  for (const std::string wrong : {"not a device", " cpu", "cpu1", ":1"})
    EXPECT_EQ(message(wrong.c_str()), "Invalid device string: '" + wrong + "'");
  EXPECT_EQ(message(""), "Device string must not be empty");
  EXPECT_NE(message("gpu").find("device type at start of device string: gpu"), std::string::npos);
}

}  // namespace
}  // namespace strided
