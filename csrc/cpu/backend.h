#pragma once

namespace strided {

void register_cpu_backend();  // once, before the first operation

}  // namespace strided
