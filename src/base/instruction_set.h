/* instruction_set.h - the instruction set that the user asks for. */
#ifndef PADA_BASE_INSTRUCTION_SET_H
#define PADA_BASE_INSTRUCTION_SET_H

#ifdef __cplusplus
extern "C" {
#endif

/* PADA_CPU of the environment: the set that the backend "cpu" takes instead of the best one, for
 * tests and comparisons. NULL where the variable is not set or empty. */
const char *pada_instruction_set_wanted(void);

#ifdef __cplusplus
}
#endif
#endif
