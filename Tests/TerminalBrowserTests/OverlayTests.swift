import Testing

@testable import TerminalBrowser

@Suite struct CoverScreenTests {
    @Test func `the screens of sign-in, empty result, copy menu, accounts and help`() {
        compare(
            DrivenModel(accounts: []),
            #"""
            Search                                                             not signed in
            People ─────────────────────────────────────────────────────────────────────────

              Welcome. You are not signed in yet.
              Enter signs in.
              Then type the beginning of a name, and people appear here.

















            ? help  Enter sign in  ctrl-c end
            """#)
        var nobody = DrivenModel()
        nobody.type("xq")
        nobody.wait(.milliseconds(150))
        nobody.result([])
        compare(
            nobody,
            #"""
            Search xq                                                        ada@contoso.com
            People · xq ────────────────────────────────────────────────────────────────────

              No user has a name or address that starts with "xq".
              Searched in the directory of ada@contoso.com: given names, surnames, display
              names, mail addresses and user names that start with it.
              Try fewer letters, another spelling or only the surname.
















            Enter list  Up Down move  Tab pane  Esc clear  ? help  ctrl-c end
            """#)
        var menu = ScreenTests.browser(120, 16)
        menu.press(.character("y"))
        compare(
            menu,
            #"""
            Search ad                                                                                                ada@contoso.com
            People · ad ───────────────────────────── 1 of 9+ · more… │ Copy ──────────────────────────────────────────── Esc closes
            > Ada Lovelace                   Engineer                 │ > 1 Mail           ada@contoso.com
              安達 太郎                      営業部長                 │   2 Name           Ada Lovelace
              آدم الحسن                      مهندس                    │   3 Name and mail  Ada Lovelace <ada@contoso.com>
              Adán Núñez                     Diseñador                │   4 Phone          +1 425 555 0100
              👩‍💻 Ada Byron 🇬🇧                Poet ❤️                  │   5 Title          Engineer
              김 아담                        개발자                   │   6 Department     Analytical Engines
              Ada \u{202E}nimdA\u{1B}[2J     Line\nbreak              │   7 UPN            ada@contoso.onmicrosoft.com
              Adelheid Maria Theresia von …  Head of Everything       │   8 Id             ada
              Adela Quinn                                             │   9 vCard          the vCard of Ada Lovelace
                                                                      │
                                                                      │
                                                                      │
                                                                      │
            j k choose  Enter copy  Esc back
            """#)
        var accounts = ScreenTests.browser(80, 24)
        accounts.press(.character("a"))
        compare(
            accounts,
            #"""
            Search ad                                                        ada@contoso.com
            Accounts ──────────────────────────────────────────────────────────── Esc closes
            >* ada@contoso.com  graph
               Sign in to another account



















            j k choose  s sign in again  Enter use  Esc back
            """#)
        var help = ScreenTests.browser(80, 24)
        help.press(.character("?"))
        compare(
            help,
            #"""
            Search ad                                                        ada@contoso.com
            Keys ──────────────────────────────────────────────────────────────── Esc closes
            In the search line
              Up Down         move in the list; also ctrl-p ctrl-n PgUp PgDn
              Enter           to the list (picker: choose)
              Esc             clear
              ctrl-a ctrl-e   to the start, to the end
              ctrl-w          delete the word before the cursor
              ctrl-u ctrl-k   delete to the start, to the end

            In the list and the detail
              j k Up Down     move
              g G PgUp PgDn   to the start, to the end, by a page
              Enter           to the detail (picker: choose)
              Esc             back
              /               to the search line
              m               the manager
              r               the direct reports
              M               the groups
              [ ]             go back and forward
              c               copy the mail address
              y               menu of everything that can be copied
              space           mark the user
            j k scroll  Esc back  ctrl-c end
            """#)
    }
}
