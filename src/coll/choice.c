/* Choice strings: native, native:settings, X, X(param), X(param,fanout), shm, shm+X, lanes+X. */
#include "coll/coll.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(char *error, size_t size, const char *text, const char *reason) {
    snprintf(error, size, "choice '%.100s': %s", text, reason);
    return -1;
}

/* "what X can be" for a person who wrote something else. */
static void possible_names(stretto_collective collective, char *names, size_t size) {
    int n;
    const stretto_algorithm *rows = stretto_algorithms(&n);
    const bool shm = !stretto_collective_neighbor(collective);
    size_t used = (size_t)snprintf(names, size, shm ? "native, shm, " : "native, ");
    for (int i = 0; i < n; i++)
        if (rows[i].collective == collective && used < size)
            used += (size_t)snprintf(names + used, size - used, "%s, ", rows[i].name);
    if (used < size && shm)
        snprintf(names + used, size - used, "or shm+ one of these");
    else if (used > 2 && used < size)
        names[used - 2] = '\0';
}

static const char *param_word(stretto_param param) {
    return param == STRETTO_PARAM_RADIX    ? "radix"
           : stretto_param_segments(param) ? "segment"
                                           : "window";
}

/* Reads "(8)", "(64K)" or "(64K,4)" to its end; 0, or -1. second: -1 when it is not there. */
static int parse_params(const char *text, stretto_param param, long long *value,
                        long long *second) {
    char *end;
    *second = -1;
    if (*text != '(' || !isdigit((unsigned char)text[1]))
        return -1;
    *value = strtoll(text + 1, &end, 10);
    if (*value > 1 << 30)
        *value = 1 << 30; /* beyond every row's range, and safe to shift */
    if (stretto_param_segments(param) && (*end == 'K' || *end == 'M'))
        *value <<= *end++ == 'K' ? 10 : 20;
    if (param == STRETTO_PARAM_SEGMENT_FANOUT && *end == ',' && isdigit((unsigned char)end[1]))
        *second = strtoll(end + 1, &end, 10);
    return *end == ')' && end[1] == '\0' ? 0 : -1;
}

stretto_choice stretto_choice_of(const stretto_algorithm *algorithm) {
    bool fanout = algorithm->param == STRETTO_PARAM_SEGMENT_FANOUT;
    return (stretto_choice){.kind = STRETTO_CHOICE_FLAT,
                            .algorithm = algorithm,
                            .param = algorithm->param_default,
                            .fanout = fanout ? STRETTO_FANOUT_DEFAULT : 0};
}

/* The part after "shm+", or the whole of a flat choice. */
static int parse_algorithm(stretto_collective collective, const char *text, const char *part,
                           stretto_choice *choice, char *error, size_t error_size) {
    char name[64], reason[400];
    size_t length = strcspn(part, "(");
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), part);
    const stretto_algorithm *row =
        length < sizeof name ? stretto_algorithm_find(collective, name) : NULL;
    if (!row) {
        char names[300];
        possible_names(collective, names, sizeof names);
        snprintf(reason, sizeof reason, "%s has no algorithm '%s'; it can be %s",
                 stretto_collective_name(collective), name, names);
        return refuse(error, error_size, text, reason);
    }
    const stretto_choice preset = stretto_choice_of(row);
    choice->algorithm = row;
    choice->param = preset.param;
    choice->fanout = preset.fanout;
    if (part[length] == '\0')
        return 0;
    if (row->param == STRETTO_PARAM_NONE) {
        snprintf(reason, sizeof reason, "%s takes no parameter; write just '%s'", row->name,
                 row->name);
        return refuse(error, error_size, text, reason);
    }
    long long value, fanout;
    const char *word = param_word(row->param);
    if (parse_params(part + length, row->param, &value, &fanout) != 0) {
        bool two = row->param == STRETTO_PARAM_SEGMENT_FANOUT;
        snprintf(reason, sizeof reason,
                 "the %s must be a whole number in brackets%s%s, as in %s(%d%s)", word,
                 stretto_param_segments(row->param) ? " (in bytes, K and M are possible)" : "",
                 two ? ", the fan-out may follow it" : "", row->name, row->param_default,
                 two ? ",4" : "");
        return refuse(error, error_size, text, reason);
    }
    if (value < row->param_min || value > row->param_max) {
        snprintf(reason, sizeof reason, "the %s of %s must be %d to %d", word, row->name,
                 row->param_min, row->param_max);
        return refuse(error, error_size, text, reason);
    }
    if (fanout != -1 && (fanout < STRETTO_FANOUT_MIN || fanout > STRETTO_FANOUT_MAX)) {
        snprintf(reason, sizeof reason, "the fan-out of %s must be %d to %d", row->name,
                 STRETTO_FANOUT_MIN, STRETTO_FANOUT_MAX);
        return refuse(error, error_size, text, reason);
    }
    choice->param = (int)value;
    if (fanout != -1)
        choice->fanout = (int)fanout;
    return 0;
}

/* lanes+X and lanes(n)+X. */
static int parse_lanes(stretto_collective collective, const char *text, stretto_choice *choice,
                       char *error, size_t error_size) {
    const char *at = text + 5;
    choice->kind = STRETTO_CHOICE_SHM;
    choice->lanes = STRETTO_LANES_ALL;
    if (!stretto_collective_has_lanes(collective))
        return refuse(error, error_size, text, "this collective has no lanes");
    if (*at == '(' && isdigit((unsigned char)at[1])) {
        char *end;
        long n = strtol(at + 1, &end, 10);
        if (n < 1 || n > STRETTO_LANES_MOST || *end != ')')
            return refuse(error, error_size, text, "there can be 1 to 1024 lanes");
        choice->lanes = (int)n;
        at = end + 1;
    }
    if (*at != '+')
        return refuse(error, error_size, text,
                      "name the algorithm between nodes, as in lanes+ring or lanes(2)+ring");
    return parse_algorithm(collective, text, at + 1, choice, error, error_size);
}

int stretto_choice_parse(stretto_collective collective, const char *text, stretto_choice *choice,
                         char *error, size_t error_size) {
    memset(choice, 0, sizeof *choice);
    if (strncmp(text, "native", 6) == 0 && (text[6] == '\0' || text[6] == ':')) {
        const char *settings = text[6] ? text + 7 : text + 6;
        if (strlen(settings) >= sizeof choice->native)
            return refuse(error, error_size, text, "the settings after native: are too long");
        if (text[6] == ':' && !*settings)
            return refuse(error, error_size, text,
                          "the settings are missing; write 'native' for the MPI's own choice");
        strcpy(choice->native, settings);
        return 0;
    }
    if (stretto_collective_neighbor(collective) && strncmp(text, "shm", 3) == 0)
        return refuse(error, error_size, text,
                      "neighbourhood collectives have no node phases; node_aware uses the nodes");
    if (strcmp(text, "shm") == 0) {
        choice->kind = STRETTO_CHOICE_SHM;
        return 0;
    }
    if (strncmp(text, "lanes", 5) == 0)
        return parse_lanes(collective, text, choice, error, error_size);
    bool shm = strncmp(text, "shm+", 4) == 0;
    if (shm && !stretto_collective_composes(collective))
        return refuse(error, error_size, text,
                      "this collective's node phases serve one node only: write shm");
    choice->kind = shm ? STRETTO_CHOICE_SHM : STRETTO_CHOICE_FLAT;
    return parse_algorithm(collective, text, shm ? text + 4 : text, choice, error, error_size);
}

char *stretto_choice_format(const stretto_choice *choice, char *text, size_t size) {
    if (choice->kind == STRETTO_CHOICE_NATIVE) {
        snprintf(text, size, "native%s%s", *choice->native ? ":" : "", choice->native);
        return text;
    }
    char prefix[32] = "";
    if (choice->kind == STRETTO_CHOICE_SHM)
        snprintf(prefix, sizeof prefix, "%s", choice->lanes ? "lanes" : "shm");
    if (choice->lanes > 0)
        snprintf(prefix, sizeof prefix, "lanes(%d)", choice->lanes);
    const stretto_algorithm *row = choice->algorithm;
    if (!row) {
        snprintf(text, size, "%s", prefix);
        return text;
    }
    const char *plus = *prefix ? "+" : "";
    if (row->param == STRETTO_PARAM_NONE) {
        snprintf(text, size, "%s%s%s", prefix, plus, row->name);
        return text;
    }
    int value = choice->param;
    const char *unit = "";
    if (stretto_param_segments(row->param) && value >= 1 << 10 && value % (1 << 10) == 0) {
        unit = value % (1 << 20) == 0 ? "M" : "K";
        value >>= *unit == 'M' ? 20 : 10;
    }
    char second[16] = "";
    if (choice->fanout != stretto_choice_of(row).fanout)
        snprintf(second, sizeof second, ",%d", choice->fanout);
    snprintf(text, size, "%s%s%s(%d%s%s)", prefix, plus, row->name, value, unit, second);
    return text;
}
