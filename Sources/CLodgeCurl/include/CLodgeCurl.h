// The interface of libcurl for Swift. The first call loads the library: libcurl.c must list each function that is used.
// Swift cannot call curl's variadic option setters, so these are typed functions for them. Options that are newer than
// curl 7.76 depend on the version at build time, and return CURLE_UNKNOWN_OPTION if they are missing.
#ifndef CCURL_H
#define CCURL_H

#define CURL_DISABLE_TYPECHECK
#if !__has_include(<curl/curl.h>)
#error "The headers of libcurl are missing. Install them: apt-get install libcurl4-openssl-dev, or brew install curl"
#endif
#include <curl/curl.h>
#include <dirent.h>
#include <string.h>

// Returns whether libcurl is installed. Loads it once.
int ccurl_is_available(void);

CURLUcode ccurl_url_get(CURLU *address, CURLUPart part, char **text, unsigned int flags);

static inline CURLcode ccurl_easy_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_easy_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_easy_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_easy_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*ccurl_data_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_easy_set_data_callback(CURL *handle, CURLoption option, ccurl_data_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}

typedef int (*ccurl_progress_callback)(void *context, curl_off_t toReceive, curl_off_t received, curl_off_t toSend,
                                       curl_off_t sent);

static inline CURLcode ccurl_easy_set_progress_callback(CURL *handle, ccurl_progress_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L) : code;
}

typedef int (*ccurl_seek_callback)(void *context, curl_off_t offset, int origin);

static inline CURLcode ccurl_easy_set_seek_callback(CURL *handle, ccurl_seek_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_SEEKDATA, context) : code;
}

// The special results of callbacks instead of a number of bytes. Swift cannot import macros with casts.
static const size_t ccurl_pause_writing = CURL_WRITEFUNC_PAUSE;
static const size_t ccurl_pause_reading = CURL_READFUNC_PAUSE;
static const size_t ccurl_abort_reading = CURL_READFUNC_ABORT;

// Called before each request is written to a connection. Return 0 to send it, or 1 to stop it.
typedef int (*ccurl_prerequest_callback)(void *context, char *remoteAddress, char *localAddress, int remotePort,
                                         int localPort);

static inline CURLcode ccurl_easy_set_prerequest_callback(CURL *handle, ccurl_prerequest_callback callback,
                                                          void *context) {
#if LIBCURL_VERSION_NUM >= 0x075000
    CURLcode code = curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_PREREQDATA, context) : code;
#else
    (void)handle;
    (void)callback;
    (void)context;
    return CURLE_UNKNOWN_OPTION;
#endif
}

// Trusts these certificates (PEM), for the server and for an https proxy. The bytes are not copied.
static inline CURLcode ccurl_easy_set_trusted_certificates(CURL *handle, void *bytes, size_t count) {
#if LIBCURL_VERSION_NUM >= 0x074D00
    struct curl_blob blob;
    blob.data = bytes;
    blob.len = count;
    blob.flags = CURL_BLOB_NOCOPY;
    CURLcode code = curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &blob);
    if (code == CURLE_OK) (void)curl_easy_setopt(handle, CURLOPT_PROXY_CAINFO_BLOB, &blob);
    return code;
#else
    (void)handle;
    (void)bytes;
    (void)count;
    return CURLE_UNKNOWN_OPTION;
#endif
}

// Allows only http and https.
static inline CURLcode ccurl_easy_set_http_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// A transfer that ends during a name lookup does not wait for the lookup.
static inline CURLcode ccurl_easy_set_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
    return CURLE_UNKNOWN_OPTION;
#endif
}

static inline CURLcode ccurl_easy_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

// Returns the number of certificates that the server presented, with CURLOPT_CERTINFO.
static inline int ccurl_easy_certificate_count(CURL *handle) {
    struct curl_certinfo *found = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_CERTINFO, &found) != CURLE_OK || found == NULL) return 0;
    return found->num_of_certs;
}

// Returns the lines about one certificate: "Issuer:CN = …". They are valid as long as the handle.
static inline struct curl_slist *ccurl_easy_certificate(CURL *handle, int index) {
    struct curl_certinfo *found = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_CERTINFO, &found) != CURLE_OK || found == NULL) return NULL;
    return index < 0 || index >= found->num_of_certs ? NULL : found->certinfo[index];
}

static inline CURLMcode ccurl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

static inline CURLcode ccurl_global_init(void) {
    return curl_global_init(CURL_GLOBAL_DEFAULT);
}

// Returns the file of trusted certificates that this libcurl was built to read, or NULL.
static inline const char *ccurl_system_certificate_file(void) {
    curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
    return version != NULL && version->age >= CURLVERSION_SEVENTH ? version->cainfo : NULL;
}

// Returns the folder of trusted certificates that this libcurl was built to search, or NULL.
static inline const char *ccurl_system_certificate_folder(void) {
    curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
    return version != NULL && version->age >= CURLVERSION_SEVENTH ? version->capath : NULL;
}

// Returns whether the folder contains a file with the name that OpenSSL expects: the hash of a subject, eight hexadecimal digits, and ".0".
static inline int ccurl_has_hashed_certificates(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    int found = 0;
    if (folder == NULL) return 0;
    while (!found && (entry = readdir(folder)) != NULL) {
        found = strspn(entry->d_name, "0123456789abcdef") == 8 && strcmp(entry->d_name + 8, ".0") == 0;
    }
    (void)closedir(folder);
    return found;
}

#endif
