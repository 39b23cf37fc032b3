/* Everything of one level. */
#include "search.h"
#include "copy.h"
#include "compare.h"
#include "find.h"
#include "end.h"
