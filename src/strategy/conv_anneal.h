/* conv_anneal.h - paths that move towards choices with parameters on a fixed schedule, without norms. */
#ifndef PADA_STRATEGY_CONV_ANNEAL_H
#define PADA_STRATEGY_CONV_ANNEAL_H

#include "sampler/path_sampler.h"

/* Gives a sampler, which has its space and its part of it, the distribution on the way, tau from 0 to 1, from uniform
 * to only the choices that have parameters at some site of the slot. */
void pada_conv_anneal(pada_path_sampler *sampler, const pada_params *params, double tau);

#endif
