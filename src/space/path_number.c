/* path_number.c - paths as numbers: slot 0 is the first digit. */
#include "space/path_number.h"

int pada_path_count(const pada_space *space, int most)
{
    int64_t n = 1;

    if (space->ops->n_networks) {
        const double n_networks = space->ops->n_networks(space);
        return n_networks > most ? most + 1 : (int)n_networks;
    }
    for (int slot = 0; slot < space->ops->n_slots && n <= most; slot++)
        n *= space->ops->n_choices(space, slot);
    return n > most ? most + 1 : (int)n;
}

void pada_path_of_number(const pada_space *space, int number, pada_path *path)
{
    *path = (pada_path){{0}};
    for (int slot = space->ops->n_slots - 1; slot >= 0; slot--) {
        const int n = space->ops->n_choices(space, slot);
        path->choice[slot] = (uint8_t)(number % n);
        number /= n;
    }
}
