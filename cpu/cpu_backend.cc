#include "cpu/cpu_backend.h"
#include "cpu/stages.h"
#include "cpu/matcher.h"
