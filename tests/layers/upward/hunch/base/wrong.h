#include "hunch/trace/trace.h"
