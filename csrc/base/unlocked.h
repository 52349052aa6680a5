// Whether any thread of the process computes without the interpreter's lock.
#pragma once

namespace strided {

// True while a GilRelease lives. Asked with the lock held, the answer false stays true until the lock is given up.
bool computing_unlocked();

}  // namespace strided
