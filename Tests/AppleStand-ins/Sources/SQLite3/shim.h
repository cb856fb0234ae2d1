// SQLite, as the SDKs of Apple have it.
#include <sqlite3.h>
