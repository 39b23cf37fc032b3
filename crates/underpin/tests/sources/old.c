/* No declaration is missing, but types are, and some differ. */
#include <stdio.h>
#include <string.h>

struct left { int x; };
struct right { int x; };

static int less(int *left, int *right) { return *left - *right; }

static int calls(compare, left, right) int (*compare)(const void *, const void *); int *left, *right;
{
    return compare(left, right);
}

count(text) char *text;
{
    return strlen(text) + 1;
}

static unsigned char *bytes(char *text) { return text; }

static int nothing(int number)
{
    if (number)
        return;
    return 2;
}

static void much(int number)
{
    if (number)
        return number;
}

main()
{
    register number = 4;
    struct left left = {3};
    struct right *right = &left;
    int more = 4, fewer = 1;
    void (*function)() = less;

    much(1);
    printf("%d %d %d %s %d %d\n", right->x, calls(less, &more, &fewer), count("abc"), bytes("xyz"), nothing(0),
           number + (function == 0));
    return 0;
}
