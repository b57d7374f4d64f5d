#include "hunch/attention/math/math.h"
