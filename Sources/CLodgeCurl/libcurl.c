// Forwards libcurl's functions to the library. The first call loads it.
//
// If a program is linked with libcurl, the system loads it and about thirty dependencies before `main`. This is most of the time of a
// short command. Most commands need no network, and the others can work while the library is loaded.

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

// Hidden, so that the library itself does not call these functions instead of its own.
#pragma GCC visibility push(hidden)
#include "CLodgeCurl.h"
#pragma GCC visibility pop

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

// The functions that this package calls, except the variadic ones.
#define EVERY_FUNCTION(USE)                                                                                          \
    USE(curl_easy_cleanup) USE(curl_easy_init) USE(curl_easy_pause) USE(curl_easy_perform) USE(curl_easy_reset)      \
    USE(curl_easy_strerror) USE(curl_free) USE(curl_global_init) USE(curl_multi_add_handle) USE(curl_multi_cleanup)  \
    USE(curl_multi_info_read) USE(curl_multi_init) USE(curl_multi_perform) USE(curl_multi_poll)                      \
    USE(curl_multi_remove_handle) USE(curl_multi_wakeup) USE(curl_slist_append) USE(curl_slist_free_all)             \
    USE(curl_url) USE(curl_url_cleanup) USE(curl_url_get) USE(curl_url_set) USE(curl_version_info)

#define MEMBER(name) __typeof__(&name) name;
static struct {
    EVERY_FUNCTION(MEMBER)
    CURLcode (*curl_easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*curl_easy_getinfo)(CURL *, CURLINFO, ...);
    CURLMcode (*curl_multi_setopt)(CURLM *, CURLMoption, ...);
} library;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int isLoaded = 0;

static void load(void) {
#ifdef __APPLE__
    static const char *const names[] = {"/usr/lib/libcurl.4.dylib", "libcurl.4.dylib"};
#else
    // The second name is Debian's build with GnuTLS.
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
#endif
    void *handle = NULL;
    for (size_t index = 0; handle == NULL && index < sizeof names / sizeof *names; index++) {
        handle = dlopen(names[index], RTLD_LAZY | RTLD_LOCAL);
    }
    if (handle == NULL) return;
    int found = 1;
#define FIND(name) found = (library.name = (__typeof__(library.name))dlsym(handle, #name)) != NULL && found;
    EVERY_FUNCTION(FIND)
    FIND(curl_easy_setopt)
    FIND(curl_easy_getinfo)
    FIND(curl_multi_setopt)
    isLoaded = found;
}

int ccurl_is_available(void) {
    (void)pthread_once(&once, load);
    return isLoaded;
}

// Without the library, each function returns its own error. Functions that need a handle are never called.
#define HAND_ON(result, name, parameters, arguments, failure)                                                        \
    result name parameters { return ccurl_is_available() ? library.name arguments : failure; }


HAND_ON(CURL *, curl_easy_init, (void), (), NULL)
HAND_ON(CURLcode, curl_easy_pause, (CURL * handle, int bitmask), (handle, bitmask), CURLE_FAILED_INIT)
HAND_ON(CURLcode, curl_easy_perform, (CURL * handle), (handle), CURLE_FAILED_INIT)
HAND_ON(const char *, curl_easy_strerror, (CURLcode code), (code), "libcurl is missing")
HAND_ON(CURLcode, curl_global_init, (long flags), (flags), CURLE_FAILED_INIT)
HAND_ON(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *easy), (multi, easy), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), (multi, left), NULL)
HAND_ON(CURLM *, curl_multi_init, (void), (), NULL)
HAND_ON(CURLMcode, curl_multi_perform, (CURLM * multi, int *running), (multi, running), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMcode, curl_multi_poll,
        (CURLM * multi, struct curl_waitfd extra[], unsigned int count, int milliseconds, int *ready),
        (multi, extra, count, milliseconds, ready), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *easy), (multi, easy), CURLM_INTERNAL_ERROR)
HAND_ON(CURLMcode, curl_multi_wakeup, (CURLM * multi), (multi), CURLM_INTERNAL_ERROR)
HAND_ON(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text), (list, text), NULL)
HAND_ON(CURLU *, curl_url, (void), (), NULL)
HAND_ON(CURLUcode, curl_url_set, (CURLU * address, CURLUPart part, const char *text, unsigned int flags),
        (address, part, text, flags), CURLUE_OUT_OF_MEMORY)
HAND_ON(curl_version_info_data *, curl_version_info, (CURLversion version), (version), NULL)

// It has a different name, because the parameter is const in some versions of curl and not in others.
CURLUcode ccurl_url_get(CURLU *address, CURLUPart part, char **text, unsigned int flags) {
    return ccurl_is_available() ? library.curl_url_get(address, part, text, flags) : CURLUE_OUT_OF_MEMORY;
}

#define HAND_ON_QUIETLY(name, parameters, arguments)                                                                 \
    void name parameters {                                                                                           \
        if (ccurl_is_available()) library.name arguments;                                                            \
    }

HAND_ON_QUIETLY(curl_easy_cleanup, (CURL * handle), (handle))
HAND_ON_QUIETLY(curl_easy_reset, (CURL * handle), (handle))
HAND_ON_QUIETLY(curl_free, (void *memory), (memory))
HAND_ON_QUIETLY(curl_slist_free_all, (struct curl_slist * list), (list))
HAND_ON_QUIETLY(curl_url_cleanup, (CURLU * address), (address))

// The number of an option determines the type of its value.
CURLcode curl_easy_setopt(CURL *handle, CURLoption option, ...) {
    CURLcode code;
    va_list list;
    if (!ccurl_is_available()) return CURLE_FAILED_INIT;
    va_start(list, option);
    switch (option / CURLOPTTYPE_OBJECTPOINT * CURLOPTTYPE_OBJECTPOINT) {
    case CURLOPTTYPE_LONG: code = library.curl_easy_setopt(handle, option, va_arg(list, long)); break;
    case CURLOPTTYPE_FUNCTIONPOINT: code = library.curl_easy_setopt(handle, option, va_arg(list, void (*)(void))); break;
    case CURLOPTTYPE_OFF_T: code = library.curl_easy_setopt(handle, option, va_arg(list, curl_off_t)); break;
    default: code = library.curl_easy_setopt(handle, option, va_arg(list, void *)); break;
    }
    va_end(list);
    return code;
}

CURLMcode curl_multi_setopt(CURLM *handle, CURLMoption option, ...) {
    CURLMcode code;
    va_list list;
    if (!ccurl_is_available()) return CURLM_INTERNAL_ERROR;
    va_start(list, option);
    switch (option / CURLOPTTYPE_OBJECTPOINT * CURLOPTTYPE_OBJECTPOINT) {
    case CURLOPTTYPE_LONG: code = library.curl_multi_setopt(handle, option, va_arg(list, long)); break;
    case CURLOPTTYPE_FUNCTIONPOINT: code = library.curl_multi_setopt(handle, option, va_arg(list, void (*)(void))); break;
    case CURLOPTTYPE_OFF_T: code = library.curl_multi_setopt(handle, option, va_arg(list, curl_off_t)); break;
    default: code = library.curl_multi_setopt(handle, option, va_arg(list, void *)); break;
    }
    va_end(list);
    return code;
}

// libcurl writes the value to the address in the argument.
CURLcode curl_easy_getinfo(CURL *handle, CURLINFO question, ...) {
    CURLcode code;
    va_list list;
    if (!ccurl_is_available()) return CURLE_FAILED_INIT;
    va_start(list, question);
    code = library.curl_easy_getinfo(handle, question, va_arg(list, void *));
    va_end(list);
    return code;
}
