// Warnings to the program.
#pragma once

#include <string>

namespace strided {

// Passes a warning on to the program; may throw.
using Warning = void (*)(const std::string& text);
void set_warning(Warning warning);

void warn(const std::string& text);       // nothing happens before set_warning
void warn_once(const std::string& text);  // if first_time(text)

// Whether this is the first call with this name in the process; always true after set_warn_always(true).
bool first_time(const std::string& name);
void set_warn_always(bool always);
bool warn_always();

}  // namespace strided
