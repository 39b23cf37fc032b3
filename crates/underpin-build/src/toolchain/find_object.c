/* _dl_find_object(3) of glibc 2.35 and later, for a C library without it. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>

struct dl_find_object {
    unsigned long long flags;
    void *map_start;
    void *map_end;
    void *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

struct search {
    size_t address;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    struct search *search = data;
    size_t low = (size_t)-1, high = 0;
    void *frames = NULL;
    int inside = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        size_t from = (size_t)info->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            inside |= search->address >= from && search->address < to;
            low = from < low ? from : low;
            high = to > high ? to : high;
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            frames = (void *)from;
        }
    }
    if (!inside || frames == NULL) return 0;
    search->found->flags = 0;
    search->found->map_start = (void *)low;
    search->found->map_end = (void *)high;
    search->found->link_map = NULL;
    search->found->eh_frame = frames;
    return 1;
}

int _dl_find_object(void *address, struct dl_find_object *found) {
    struct search search = {(size_t)address, found};
    return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
