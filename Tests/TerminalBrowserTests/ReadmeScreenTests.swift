import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct ReadmeScreenTests {
    private static let users: [(name: String, mail: String, title: String)] = [
        ("安達 太郎 (Adachi Taro)", "adachi", "Sales Manager"),
        ("Ada Lovelace", "ada", "Engineer"),
        ("Adam Smith", "adam", "Economist"),
        ("Adán Núñez", "adan", "Designer"),
        ("Adela Okafor", "adela", "Lawyer"),
        ("Adele Vance", "adele", "Retail Manager"),
        ("Adenauer, Klaus", "adenauer", "Head of Finance"),
        ("Adil Eli", "adil", "Product Manager"),
        ("Adina Berg", "adina", "Nurse"),
        ("Aditi Rao", "aditi", "Data Scientist"),
        ("Adolfo Conti", "adolfo", "Chef"),
        ("Adrián Ő. Kovács", "adrian", "Auditor"),
        ("Adwoa Mensah", "adwoa", "Architect"),
        ("아담 김 (Adam Kim)", "akim", "Developer"),
    ]

    /// Returns a list of users with the detail of one of them.
    private func readme(_ columns: Int, _ rows: Int) -> DrivenModel {
        var browser = DrivenModel(columns: columns, rows: rows)
        let users = Self.users.enumerated().map { location, person in
            User.person(
                "\(location)", person.name, title: person.title, mail: "\(person.mail)@contoso.com",
                phone: location == 1 ? "+1 425 555 0100" : nil)
        }
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result(SearchText("ad").ranked(users), hasMore: true)
        browser.press(.tab)
        browser.answerDetail {
            $0.user.department = "Analytical Engines"
            $0.user.officeLocation = "12/1110"
            $0.user.mobilePhone = "+1 425 555 0199"
            $0.user.userPrincipalName = "ada@contoso.com"
            $0.user.preferredLanguage = "en-GB"
            $0.manager = .value(.grace)
            $0.photo = .value(ProfilePhoto(json: ["width": 240, "height": 240]))
        }
        return browser
    }

    @Test func `a list and its detail in 80 by 24`() {
        compare(
            readme(80, 24),
            #"""
            Search ad                                                        ada@contoso.com
            People · ad ─────────────────────────────────────────────────────────── 1 of 14+
            > Ada Lovelace             ada@contoso.com               Engineer
              Adam Smith               adam@contoso.com              Economist
              Adán Núñez               adan@contoso.com              Designer
              Adela Okafor             adela@contoso.com             Lawyer
              Adele Vance              adele@contoso.com             Retail Manager
              Adenauer, Klaus          adenauer@contoso.com          Head of Finance
              Adil Eli                 adil@contoso.com              Product Manager
              Adina Berg               adina@contoso.com             Nurse
              Aditi Rao                aditi@contoso.com             Data Scientist
            Ada Lovelace ──────────────────────────────────────────────────── 11 of 12 lines
            Mail        ada@contoso.com
            Phone       +1 425 555 0100
            Mobile      +1 425 555 0199
            Title       Engineer
            Department  Analytical Engines
            Office      12/1110
            Manager     Grace Hopper  m
            Reports     r shows them
            Groups      M shows them
            Photo       240×240  p
            Language    en-GB
            Enter detail  / search  c copy mail  m manager  r reports  ? help  q quit
            """#)
    }

    @Test func `a list and its detail in 120 by 30`() {
        compare(
            readme(120, 30),
            #"""
            Search ad                                                                                                ada@contoso.com
            People · ad ──────────────────────────── 1 of 14+ · more… │ Ada Lovelace ───────────────────────────────────────────────
            > Ada Lovelace                   Engineer                 │ Mail        ada@contoso.com
              Adam Smith                     Economist                │ Phone       +1 425 555 0100
              Adán Núñez                     Designer                 │ Mobile      +1 425 555 0199
              Adela Okafor                   Lawyer                   │ Title       Engineer
              Adele Vance                    Retail Manager           │ Department  Analytical Engines
              Adenauer, Klaus                Head of Finance          │ Office      12/1110
              Adil Eli                       Product Manager          │ Manager     Grace Hopper  m
              Adina Berg                     Nurse                    │ Reports     r shows them
              Aditi Rao                      Data Scientist           │ Groups      M shows them
              Adolfo Conti                   Chef                     │ Photo       240×240  p
              Adrián Ő. Kovács               Auditor                  │ Language    en-GB
              Adwoa Mensah                   Architect                │ Id          1
              安達 太郎 (Adachi Taro)        Sales Manager            │
              아담 김 (Adam Kim)             Developer                │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
            Enter detail  / search  c copy mail  m manager  r reports  y copy menu  space mark  M groups  ? help  q quit
            """#)
    }
}
