// isa_gate v3 PROGRAM [ARGUMENT...]: runs the program if this machine has the instruction set, else says so and exits
// with 77.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/cpu_features.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const strided::Isa best = strided::chosen_isa();
  const bool runs = (std::strcmp(argv[1], "v3") != 0 || best >= strided::Isa::V3) &&
                    (std::strcmp(argv[1], "v4") != 0 || best >= strided::Isa::V4);
  if (!runs) {
    std::printf("skipped: this machine does not run x86-64-%s\n", argv[1]);
    return 77;
  }
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
