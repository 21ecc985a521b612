/* print.c - output that several commands share. */
#include "cli/print.h"

void pada_add_count(pada_text *out, int64_t count, int width)
{
    static const char units[] = " kMGT";
    double x = (double)count;
    int unit = 0;

    for (; x >= 999.5 && unit < 4; unit++)
        x /= 1000;
    if (unit == 0)
        pada_text_add(out, "%*.0f", width, x);
    else
        pada_text_add(out, "%*.*f%c", width - 1, x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[unit]);
}
