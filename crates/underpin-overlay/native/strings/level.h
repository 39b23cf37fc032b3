/* Everything of one level. */
#ifndef RETURN
#define RETURN(value) return value
#define CLEAR (void)0
#endif
#ifndef ABOVE
#define ABOVE(statement) (void)0
#endif
#include "search.h"
#include "search_back.h"
#include "copy.h"
#include "compare.h"
#include "find.h"
#include "end.h"
