// ncurses with wide characters, as Swift sees it.
#ifndef CNCURSES_SHIM_H
#define CNCURSES_SHIM_H

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <locale.h>

#endif
