// Includes first.h, which includes this file: a fault that layering.py has to find.
#pragma once

#include "core/first.h"
