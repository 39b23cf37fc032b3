/* Everything of one level. */
#ifndef RETURN
#define RETURN(value) return value
#define CLEAR (void)0
#endif
#ifndef ABOVE
#define ABOVE(statement) (void)0
#define ABOVE_LATE(statement) (void)0
#endif
#ifndef LENGTH
#define LENGTH(s) LEVEL(strlen)(s)
#endif
#ifndef BEYOND_PAGE
#define BEYOND_PAGE(p) UNLIKELY(!WITHIN_PAGE(p, W))
#define FOUR_WITHIN(both) LIKELY(((both) & (PAGE - 1)) <= PAGE - 4 * W)
#define BELOW_LEVEL(statement) (void)0
#define ABOVE_IF_NONE(m, statement) (void)0
#define ABOVE_IF_LONG(n, statement) (void)0
#define ABOVE_IF_BOUND(n, statement) (void)0
#define NONE(m) UNLIKELY(!(m))
#endif
#include "search.h"
#include "search_back.h"
#include "copy.h"
#include "compare.h"
#include "find.h"
#include "end.h"
