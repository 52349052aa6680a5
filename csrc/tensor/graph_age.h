// How far the numbers of nodes have come (Node::sequence).
#pragma once

#include <cstdint>

namespace strided {

// The number that the next node of any thread gets.
uint64_t next_node_number();

}  // namespace strided
