/// The invented people: the same ones for the same number and seed.
struct People: Sendable {
    let all: [Person]
    private let byID: [String: Int]
    private let byPrincipalName: [String: Int]
    private let reports: [Int: [Int]]

    init(count: Int, seed: UInt64) {
        var numbers = SplitMix64(state: seed)
        var taken = Set<String>()
        var people: [Person] = []
        people.reserveCapacity(max(0, count))
        for index in 0..<max(0, count) {
            people.append(
                index < Invention.special.count
                    ? Invention.person(Invention.special[index], at: index, &numbers, &taken)
                    : Invention.person(at: index, &numbers, &taken))
        }
        all = people
        byID = Dictionary(people.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        byPrincipalName = Dictionary(
            people.enumerated().map { ($1.userPrincipalName.lowercased(), $0) }, uniquingKeysWith: { first, _ in first }
        )
        reports = Dictionary(
            grouping: people.indices.filter { people[$0].manager != nil }, by: { people[$0].manager ?? 0 })
    }

    /// The place of the person with this identifier or user principal name, whatever its case.
    func index(of key: String) -> Int? { byID[key.lowercased()] ?? byPrincipalName[key.lowercased()] }

    /// The place of the person with this user principal name or mail address.
    func index(signingInAs name: String) -> Int? {
        let folded = name.lowercased()
        return byPrincipalName[folded] ?? all.firstIndex { $0.mail?.lowercased() == folded }
    }

    /// The places of the people who report to this one.
    func reports(to index: Int) -> [Int] { reports[index] ?? [] }
}

/// Sebastiano Vigna's SplitMix64: numbers that look random and are the same for the same seed. Not for secrets.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Where the people's names, titles and numbers come from.
private enum Invention {
    struct Special {
        var display: String?
        var given: String?
        var sur: String?
        var name: String
        var title: String?
        var isGuest = false
        var hasMail = true
        var hasPhones = true
    }

    /// The people who are always there: the first to sign in as, and the names that break careless programs.
    static let special: [Special] = [
        Special(display: "Ada Lovelace", given: "Ada", sur: "Lovelace", name: "ada", title: "Engineer"),
        Special(
            display: "Aoife O'Brien", given: "Aoife", sur: "O'Brien", name: "aoife.o'brien", title: "Head of Research"),
        Special(display: "Ayşe Ünal", given: "Ayşe", sur: "Ünal", name: "ayse.unal", title: "Architect"),
        Special(display: "李 明", given: "明", sur: "李", name: "li.ming", title: "产品经理"),
        Special(display: "Alex 🎉 Party", given: "Alex 🎉", sur: "Party", name: "alex.party", title: "Event Planner"),
        Special(
            display: "Astrid d''Aubigné", given: "Astrid", sur: "d''Aubigné", name: "astrid.daubigne",
            title: "C# Developer"),
        Special(display: "Anna & Co. 50%", given: "Anna", sur: "& Co. 50%", name: "anna.co", title: "a+b / x%27y"),
        Special(
            display: "Amal Haddad", given: "Amal", sur: "Haddad", name: "amal.haddad", title: "Buyer", isGuest: true),
        Special(display: "Anouk Nomail", given: "Anouk", sur: "Nomail", name: "anouk", title: nil, hasMail: false),
        Special(display: nil, given: nil, sur: nil, name: "nameless", title: nil, hasMail: false, hasPhones: false),
        Special(display: "Conf Room Adams", given: nil, sur: nil, name: "adams", title: nil, hasPhones: false),
        Special(
            display: "$ystem Account", given: "$ystem", sur: "Account", name: "$system", title: nil, hasPhones: false),
        Special(display: "👩‍👩‍👧‍👦 Family Office", given: nil, sur: nil, name: "family.office", title: nil),
        Special(
            display: "Zoë Ångström-Æsir", given: "Zoë", sur: "Ångström-Æsir", name: "zoe.aesir", title: "Physicist"),
    ]

    static let givenNames = [
        "Aaron", "Abigail", "Adam", "Adele", "Adriana", "Agnes", "Ahmed", "Aiko", "Alba", "Albert", "Alejandra",
        "Alice",
        "Amara", "Amelia", "Amir", "Ana", "Andrea", "Anton", "Arjun", "Arthur", "Ava", "Ayumi", "Beatriz", "Benjamin",
        "Björn", "Carmen", "Chloé", "Daniel", "Deepa", "Elena", "Emeka", "Emma", "Fatima", "Felix", "Grace", "Hana",
        "Hugo", "Ines", "Ivan", "Jürgen", "Kofi", "Lars", "Leila", "Mateo", "Mia", "Noor", "Olga", "Pavel", "Priya",
        "Quentin", "Rosa", "Sofia", "Søren", "Tomás", "Uma", "Vera", "Wei", "Ximena", "Yusuf", "Zara",
    ]
    static let surnames = [
        "Adeyemi", "Andersson", "Bianchi", "Brown", "Çelik", "Chen", "Costa", "D'Souza", "Dubois", "Eriksen", "Fischer",
        "García", "Goldberg", "Haddad", "Hansen", "Ito", "Ivanova", "Jansen", "Kaya", "Khan", "Kim", "Kowalski",
        "Laurent",
        "López", "MacLeod", "Mbeki", "Moreau", "Müller", "Nakamura", "Nguyễn", "Novák", "O'Connor", "O'Neill", "Okafor",
        "Patel", "Petrov", "Quinn", "Rossi", "Santos", "Schäfer", "Sharma", "Silva", "Smith", "Suzuki", "Tan", "Tanaka",
        "Ueda", "van der Berg", "Vance", "Weber", "Wilson", "Wójcik", "Xu", "Yamamoto", "Yıldız", "Young", "Zhang",
        "Zimmermann", "王", "김",
    ]
    static let departments = [
        "Engineering", "Sales", "Marketing", "Finance", "Human Resources", "Legal", "Operations", "R&D", "Support",
        "Facilities",
    ]
    static let titles = [
        "Engineer", "Senior Engineer", "Account Manager", "Analyst", "Designer", "Accountant", "Consultant",
        "Coordinator",
        "Developer", "Administrator", "Technician", "Specialist",
    ]
    static let places: [(city: String, country: String, language: String, prefix: String)] = [
        ("London", "United Kingdom", "en-GB", "+44 20 7946 0"), ("Dublin", "Ireland", "en-IE", "+353 1 555 0"),
        ("Seattle", "United States", "en-US", "+1 206 555 0"), ("München", "Germany", "de-DE", "+49 89 5550 0"),
        ("İstanbul", "Türkiye", "tr-TR", "+90 212 555 0"), ("São Paulo", "Brazil", "pt-BR", "+55 11 5550 0"),
        ("上海", "China", "zh-CN", "+86 21 5550 0"), ("Malmö", "Sweden", "sv-SE", "+46 40 555 0"),
    ]

    static func person(at index: Int, _ numbers: inout SplitMix64, _ taken: inout Set<String>) -> Person {
        let given = pick(givenNames, &numbers)
        let sur = pick(surnames, &numbers)
        let letters = { (text: String) in text.lowercased().filter { $0.isASCII && $0.isLetter } }
        let (left, right) = (letters(given), letters(sur))
        let special = Special(
            display: "\(given) \(sur)", given: given, sur: sur,
            name: right.count < 2 ? "\(left).\(index)" : "\(left).\(right)", title: pick(titles, &numbers),
            isGuest: index % 23 == 0, hasMail: index % 17 != 0, hasPhones: index % 5 != 0)
        return person(special, at: index, &numbers, &taken)
    }

    static func person(
        _ special: Special, at index: Int, _ numbers: inout SplitMix64, _ taken: inout Set<String>
    ) -> Person {
        let place = pick(places, &numbers)
        var name = special.name
        if !taken.insert(name).inserted {
            name = "\(special.name)\(index)"
            taken.insert(name)
        }
        let address = special.isGuest ? "\(name)@partner.example" : "\(name)@contoso.example"
        let digits = padded(numbers.next() % 1000, to: 3)
        return Person(
            id: identifier(&numbers), displayName: special.display, givenName: special.given, surname: special.sur,
            mail: special.hasMail ? address : nil,
            userPrincipalName: special.isGuest ? "\(name)_partner.example#EXT#@contoso.example" : address,
            jobTitle: special.title, department: index == 9 ? nil : pick(departments, &numbers),
            officeLocation: "\(10 + numbers.next() % 30)/\(1000 + numbers.next() % 3000)",
            mobilePhone: special.hasPhones && index % 3 != 0 ? "\(place.prefix)1\(digits)" : nil,
            businessPhones: special.hasPhones ? ["\(place.prefix)2\(digits)"] : [], preferredLanguage: place.language,
            city: place.city, country: place.country, companyName: special.isGuest ? nil : "Contoso",
            employeeID: special.isGuest ? nil : "E\(padded(UInt64(index), to: 6))", accountEnabled: index % 29 != 28,
            isGuest: special.isGuest,
            createdDateTime: "\(2012 + numbers.next() % 13)-\(padded(1 + numbers.next() % 12, to: 2))"
                + "-\(padded(1 + numbers.next() % 28, to: 2))T08:\(padded(numbers.next() % 60, to: 2)):00Z",
            manager: index == 0 || special.isGuest ? nil : (index - 1) / 7)
    }

    private static func pick<Element>(_ list: [Element], _ numbers: inout SplitMix64) -> Element {
        list[Int(numbers.next() % UInt64(list.count))]
    }

    private static func padded(_ number: UInt64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static func identifier(_ numbers: inout SplitMix64) -> String {
        let high = numbers.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = numbers.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Array((hexadecimal(high) + hexadecimal(low)).utf8)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return parts.joined(separator: "-")
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
