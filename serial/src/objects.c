/* Tables of objects behind integer handles. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

void *serial_memory(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "stretto-serial: out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    return memory;
}

void *serial_add(serial_table *table, int *handle) {
    int i = table->full;
    while (i < table->count && table->items[i])
        i++;
    if (i == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 16;
        void **items = serial_memory((size_t)capacity * sizeof *items);
        if (table->count)
            memcpy(items, table->items, (size_t)table->count * sizeof *items);
        free(table->items);
        table->items = items;
        table->capacity = capacity;
    }
    if (i == table->count)
        table->count++;
    table->items[i] = memset(serial_memory(table->size), 0, table->size);
    table->full = i + 1;
    *handle = table->first + i;
    return table->items[i];
}

void *serial_at(const serial_table *table, int handle) {
    int i = handle - table->first;
    return i >= 0 && i < table->count ? table->items[i] : NULL;
}

void serial_drop(serial_table *table, int handle) {
    int i = handle - table->first;
    if (i < 0 || i >= table->count)
        return;
    free(table->items[i]);
    table->items[i] = NULL;
    if (i < table->full)
        table->full = i;
    while (table->count && !table->items[table->count - 1])
        table->count--;
}
