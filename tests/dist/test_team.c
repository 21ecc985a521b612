/* test_team.c - a team of one, and what launchers leave in the environment. */
#include <stdlib.h>
#include <string.h>

#include "base/launch.h"
#include "base/mem.h"
#include "check.h"
#include "dist/team.h"

static void forget_launchers(void)
{
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("PMIX_RANK");
}

static void launchers_are_recognised(void **state)
{
    (void)state;
    forget_launchers();
    assert_int_equal(pada_launched_processes(), 1);
    setenv("PMIX_RANK", "0", 1);
    assert_int_equal(pada_launched_processes(), 0);
    setenv("PMI_SIZE", "3", 1);
    assert_int_equal(pada_launched_processes(), 3);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_int_equal(pada_launched_processes(), 4);
    setenv("OMPI_COMM_WORLD_SIZE", "four", 1);
    assert_int_equal(pada_launched_processes(), 3);
    forget_launchers();
}

/* What a program gets that a process of a team starts. */
static void children_are_by_themselves(void **state)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",       "PMIX_RANK",     "PMI_FD",
                                        "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PADA_CPU"};
    char **environment;
    int found = 0, n = 0;

    (void)state;
    for (int i = 0; i < 6; i++)
        setenv(names[i], "3", 1);
    CHECK_OK(pada_launch_environment(&environment));
    for (char **one = environment; *one; one++, n++)
        for (int i = 0; i < 6; i++)
            if (strncmp(*one, names[i], strlen(names[i])) == 0 && (*one)[strlen(names[i])] == '=')
                found |= 1 << i;
    assert_int_equal(found, 1 << 3 | 1 << 4 | 1 << 5);
    assert_true(n > 3);
    pada_free(environment);
    for (int i = 0; i < 6; i++)
        unsetenv(names[i]);
}

static void processes_without_a_carrier_are_refused(void **state)
{
    pada_team *team;

    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_int_equal(pada_team_join(&team, NULL), PADA_EUNSUPPORTED);
    assert_non_null(strstr(pada_message(), "4 processes"));
    assert_null(team);
    forget_launchers();
}

static void a_team_of_one_is_nothing(void **state)
{
    pada_message_head head;
    pada_team *team;
    const size_t first[] = {0, 3};
    char part[] = "ab", all[3] = "";
    bool found;

    (void)state;
    forget_launchers();
    CHECK_OK(pada_team_join(&team, NULL));
    assert_null(team);
    assert_int_equal(pada_team_size(team), 1);
    assert_int_equal(pada_team_rank(team), 0);
    assert_int_equal(pada_team_local_size(team), 1);
    assert_int_equal(pada_team_local_rank(team), 0);
    CHECK_OK(pada_team_all_gather(team, part, sizeof part, all));
    assert_string_equal(all, "ab");
    CHECK_OK(pada_team_fill(team, all, first));
    CHECK_OK(pada_team_broadcast(team, all, sizeof all, 0));
    assert_string_equal(all, "ab");
    CHECK_OK(pada_team_barrier(team));
    CHECK_OK(pada_team_agree(team, PADA_OK));
    assert_int_equal(pada_team_agree(team, PADA_FAIL(PADA_EIO, "full")), PADA_EIO);
    CHECK_OK(pada_team_poll(team, &found, &head));
    assert_false(found);
    assert_int_equal(pada_team_sent(team).messages, 0);
    assert_int_equal(pada_team_end(team, PADA_EIO), PADA_EIO);
    assert_string_equal(pada_message(), "full");
    pada_team_leave(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_are_recognised),
        cmocka_unit_test(children_are_by_themselves),
        cmocka_unit_test(processes_without_a_carrier_are_refused),
        cmocka_unit_test(a_team_of_one_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
