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

    /// The screens that the README shows.
    private func readme(_ columns: Int, _ rows: Int) -> DrivenModel {
        var browser = DrivenModel(columns: columns, rows: rows)
        let users = Self.users.enumerated().map { location, person in
            User.person(
                "\(location)", person.name, title: person.title, mail: "\(person.mail)@contoso.com",
                phone: location == 1 ? "+1 425 555 0100" : nil)
        }
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result(users, hasMore: true)
        browser.press(.down, .down)
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

    @Test func `80 by 24 for the README`() {
        compare(
            readme(80, 24),
            #"""
            Search ad                                                        ada@contoso.com
            People · ad ─────────────────────────────────────────────────────────── 2 of 14+
              安達 太郎 (Adachi Taro)  adachi@contoso.com            Sales Manager
            > Ada Lovelace             ada@contoso.com               Engineer
              Adam Smith               adam@contoso.com              Economist
              Adán Núñez               adan@contoso.com              Designer
              Adela Okafor             adela@contoso.com             Lawyer
              Adele Vance              adele@contoso.com             Retail Manager
              Adenauer, Klaus          adenauer@contoso.com          Head of Finance
              Adil Eli                 adil@contoso.com              Product Manager
              Adina Berg               adina@contoso.com             Nurse
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

    @Test func `120 by 30 for the README`() {
        compare(
            readme(120, 30),
            #"""
            Search ad                                                                                                ada@contoso.com
            People · ad ──────────────────────────── 2 of 14+ · more… │ Ada Lovelace ───────────────────────────────────────────────
              安達 太郎 (Adachi Taro)        Sales Manager            │ Mail        ada@contoso.com
            > Ada Lovelace                   Engineer                 │ Phone       +1 425 555 0100
              Adam Smith                     Economist                │ Mobile      +1 425 555 0199
              Adán Núñez                     Designer                 │ Title       Engineer
              Adela Okafor                   Lawyer                   │ Department  Analytical Engines
              Adele Vance                    Retail Manager           │ Office      12/1110
              Adenauer, Klaus                Head of Finance          │ Manager     Grace Hopper  m
              Adil Eli                       Product Manager          │ Reports     r shows them
              Adina Berg                     Nurse                    │ Groups      M shows them
              Aditi Rao                      Data Scientist           │ Photo       240×240  p
              Adolfo Conti                   Chef                     │ Language    en-GB
              Adrián Ő. Kovács               Auditor                  │ Id          1
              Adwoa Mensah                   Architect                │
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
