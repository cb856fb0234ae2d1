// The interface of ncurses with wide characters for Swift. Swift cannot import its variables and macros for screen, size and
// attributes, so these functions wrap them. ncurses is not thread-safe: call all functions on one thread.
#ifndef CNCURSES_SHIM_H
#define CNCURSES_SHIM_H

#define NCURSES_WIDECHAR 1
#ifndef _XOPEN_SOURCE_EXTENDED
#define _XOPEN_SOURCE_EXTENDED 1
#endif
#if !__has_include(<curses.h>)
#error "The header of ncurses is missing. Install it: apt-get install libncurses-dev, or brew install ncurses"
#endif
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

extern int wcwidth(wchar_t);

// Text attributes as bits.
enum {
    CCURSES_BOLD = 1,
    CCURSES_DIM = 2,
    CCURSES_UNDERLINE = 4,
    CCURSES_REVERSE = 8,
};

static inline attr_t ccurses_attributes(unsigned look) {
    return ((look & CCURSES_BOLD) ? A_BOLD : 0) | ((look & CCURSES_DIM) ? A_DIM : 0)
         | ((look & CCURSES_UNDERLINE) ? A_UNDERLINE : 0) | ((look & CCURSES_REVERSE) ? A_REVERSE : 0);
}

// Selects the user's locale for characters. Returns whether it uses UTF-8. If the locale is not installed, as often over SSH, its name
// determines the encoding.
static inline int ccurses_use_locale(void) {
    if (setlocale(LC_CTYPE, "") == NULL) {
        const char *name = getenv("LC_ALL");
        if (name == NULL || *name == 0) name = getenv("LC_CTYPE");
        if (name == NULL || *name == 0) name = getenv("LANG");
        if (name == NULL || (strstr(name, "UTF-8") == NULL && strstr(name, "utf8") == NULL)) return 0;
        if (setlocale(LC_CTYPE, "C.UTF-8") == NULL && setlocale(LC_CTYPE, "en_US.UTF-8") == NULL) return 0;
    }
    const char *codeset = nl_langinfo(CODESET);
    return codeset != NULL && (strcmp(codeset, "UTF-8") == 0 || strcmp(codeset, "utf8") == 0);
}

// Initializes the terminal. Returns 0 if terminfo does not contain it, or it cannot move its cursor.
static inline int ccurses_begin(void) {
    if (newterm(NULL, stdout, stdin) == NULL) return 0;
    const char *move_cursor = tigetstr("cup");
    if (move_cursor == NULL || move_cursor == (const char *)-1 || *move_cursor == 0) {
        (void)endwin();
        return 0;
    }
    // Pass all keys to the program, even ctrl-c and ctrl-z; do not translate line ends; do not delay output because of input.
    (void)raw();
    (void)noecho();
    (void)nonl();
    (void)typeahead(-1);
    (void)scrollok(stdscr, FALSE);
    (void)leaveok(stdscr, FALSE);
    return 1;
}

// Restores the terminal and its previous content.
static inline void ccurses_end(void) { (void)endwin(); }

// Initializes the terminal again after `ccurses_end`, or after the process was stopped.
static inline void ccurses_resume(void) {
    (void)reset_prog_mode();
    (void)clearok(curscr, TRUE);
    (void)wrefresh(stdscr);
}

// Returns the bytes of a terminal capability, or NULL if the terminal does not have it.
static inline const char *ccurses_capability(const char *name) {
    const char *text = tigetstr(name);
    return text == (const char *)-1 ? NULL : text;
}

// Returns the number of colors on the terminal's own background, or 0 without colors.
static inline int ccurses_begin_colors(void) {
    if (!has_colors() || start_color() == ERR) return 0;
    if (use_default_colors() == ERR) return 0;
    return COLORS;
}

static inline int ccurses_define_pair(int number, int foreground) {
    return init_pair((short)number, (short)foreground, -1) != ERR;
}

// Gets the size of the terminal on standard output. Returns 0 if it is unknown.
static inline int ccurses_terminal_size(int *columns, int *rows, int *width, int *height) {
    struct winsize size;
    if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return 0;
    *columns = size.ws_col;
    *rows = size.ws_row;
    *width = size.ws_xpixel;
    *height = size.ws_ypixel;
    return 1;
}

static inline void ccurses_current_size(int *columns, int *rows) {
    *columns = getmaxx(stdscr);
    *rows = getmaxy(stdscr);
}

static inline void ccurses_resize(int columns, int rows) { (void)resizeterm(rows, columns); }

static inline void ccurses_clear_row(int row) {
    if (wmove(stdscr, row, 0) == ERR) return;
    (void)wattr_set(stdscr, A_NORMAL, 0, NULL);
    (void)wclrtoeol(stdscr);
}

// Writes ASCII characters at a position.
static inline void ccurses_put_ascii(int row, int column, const char *text, int count, unsigned look, int pair) {
    if (wmove(stdscr, row, column) == ERR) return;
    (void)wattr_set(stdscr, ccurses_attributes(look), (short)pair, NULL);
    (void)waddnstr(stdscr, text, count);
}

// Writes one cell: a character and its combining marks, at most five scalars.
static inline void ccurses_put_cell(int row, int column, const uint32_t *scalars, int count, unsigned look, int pair) {
    wchar_t text[CCHARW_MAX + 1];
    cchar_t cell;
    int index;
    if (count > CCHARW_MAX) count = CCHARW_MAX;
    for (index = 0; index < count; index++) text[index] = (wchar_t)scalars[index];
    text[count] = 0;
    if (setcchar(&cell, text, ccurses_attributes(look), (short)pair, NULL) == ERR) return;
    (void)mvwadd_wch(stdscr, row, column, &cell);
}

// Updates the screen. Shows the cursor at this position, or hides it if the row is negative.
static inline void ccurses_show(int cursor_row, int cursor_column) {
    if (cursor_row >= 0) {
        (void)curs_set(1);
        (void)wmove(stdscr, cursor_row, cursor_column);
    } else {
        (void)curs_set(0);
        (void)wmove(stdscr, 0, 0);
    }
    (void)wnoutrefresh(stdscr);
    (void)doupdate();
}

// The next `ccurses_show` redraws the screen.
static inline void ccurses_redraw_all(void) { (void)clearok(curscr, TRUE); }

// The next `ccurses_show` redraws these rows, even if ncurses considers them unchanged.
static inline void ccurses_redraw_rows(int row, int count) { (void)wredrawln(stdscr, row, count); }

// Sets the handler of a signal. It runs on the signal stack, if there is one.
static inline void ccurses_on_signal(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

// Sets a signal stack for this thread, in case its own stack is full.
static inline void ccurses_signal_stack(void *bytes, size_t count) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = bytes;
    stack.ss_size = count;
    (void)sigaltstack(&stack, NULL);
}

#endif
