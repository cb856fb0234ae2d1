enum SampleUsers {
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

    /// The users of every directory: the first user to sign in, and names that reveal bugs in programs.
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
        "Alice", "Amara", "Amelia", "Amir", "Ana", "Andrea", "Anton", "Arjun", "Arthur", "Ava", "Ayumi", "Beatriz",
        "Benjamin", "Björn", "Carmen", "Chloé", "Daniel", "Deepa", "Elena", "Emeka", "Emma", "Fatima", "Felix",
        "Grace", "Hana", "Hugo", "Ines", "Ivan", "Jürgen", "Kofi", "Lars", "Leila", "Mateo", "Mia", "Noor", "Olga",
        "Pavel", "Priya", "Quentin", "Rosa", "Sofia", "Søren", "Tomás", "Uma", "Vera", "Wei", "Ximena", "Yusuf",
        "Zara",
    ]
    static let surnames = [
        "Adeyemi", "Andersson", "Bianchi", "Brown", "Çelik", "Chen", "Costa", "D'Souza", "Dubois", "Eriksen",
        "Fischer", "García", "Goldberg", "Haddad", "Hansen", "Ito", "Ivanova", "Jansen", "Kaya", "Khan", "Kim",
        "Kowalski", "Laurent", "López", "MacLeod", "Mbeki", "Moreau", "Müller", "Nakamura", "Nguyễn", "Novák",
        "O'Connor", "O'Neill", "Okafor", "Patel", "Petrov", "Quinn", "Rossi", "Santos", "Schäfer", "Sharma", "Silva",
        "Smith", "Suzuki", "Tan", "Tanaka", "Ueda", "van der Berg", "Vance", "Weber", "Wilson", "Wójcik", "Xu",
        "Yamamoto", "Yıldız", "Young", "Zhang", "Zimmermann", "王", "김",
    ]
    static let departments = [
        "Engineering", "Sales", "Marketing", "Finance", "Human Resources", "Legal", "Operations", "R&D", "Support",
        "Facilities",
    ]
    static let titles = [
        "Engineer", "Senior Engineer", "Account Manager", "Analyst", "Designer", "Accountant", "Consultant",
        "Coordinator", "Developer", "Administrator", "Technician", "Specialist",
    ]
    static let locations: [(city: String, country: String, language: String, prefix: String)] = [
        ("London", "United Kingdom", "en-GB", "+44 20 7946 0"), ("Dublin", "Ireland", "en-IE", "+353 1 555 0"),
        ("Seattle", "United States", "en-US", "+1 206 555 0"), ("München", "Germany", "de-DE", "+49 89 5550 0"),
        ("İstanbul", "Türkiye", "tr-TR", "+90 212 555 0"), ("São Paulo", "Brazil", "pt-BR", "+55 11 5550 0"),
        ("上海", "China", "zh-CN", "+86 21 5550 0"), ("Malmö", "Sweden", "sv-SE", "+46 40 555 0"),
    ]

    /// Returns the letters of a name that are valid in an address.
    static func letters(_ text: String) -> String { text.lowercased().filter { $0.isASCII && $0.isLetter } }

    static func padded(_ number: UInt64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

/// Sebastiano Vigna's SplitMix64: reproducible pseudorandom numbers for a seed. Not for secrets.
///
/// The state increases by a constant step, so that any number of the sequence can be computed directly.
struct SplitMix64: Sendable {
    let seed: UInt64

    subscript(position: Int) -> UInt64 {
        var mixed = seed &+ UInt64(truncatingIfNeeded: position &+ 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
