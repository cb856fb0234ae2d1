import StrictJSON

/// What filters, searches and answers ask of a person.
protocol PersonProperties {
    /// The text of a property; nil when it is not set or is no text.
    func text(_ property: UserProperty) -> String?
    /// The texts of a list of texts.
    func texts(_ property: UserProperty) -> [String]
    /// Whether the account may sign in.
    var accountEnabled: Bool { get }
    /// Whether the person belongs to another organisation.
    var isGuest: Bool { get }
}

/// One of the people who are made of numbers. Only what is asked for is made.
struct SampleRow: PersonProperties {
    let people: UserTable
    let index: Int

    var pair: UserTable.NamePair { people.names[Int(people.pairs[index])] }
    private func number(_ place: Int) -> UInt64 { people.number(index, place) }
    private func pick<Element>(_ list: [Element], _ place: Int) -> Element {
        list[Int(number(place) % UInt64(list.count))]
    }

    var isGuest: Bool { index % 23 == 0 }
    var accountEnabled: Bool { index % 29 != 28 }
    var id: String { UserTable.identifier(number(5), number(6)) }
    var jobTitle: String { pick(SampleUsers.titles, 2) }
    var place: (city: String, country: String, language: String, prefix: String) { pick(SampleUsers.places, 3) }
    var department: String { pick(SampleUsers.departments, 7) }
    var officeLocation: String { "\(10 + number(8) % 30)/\(1000 + number(9) % 3000)" }
    var companyName: String? { isGuest ? nil : "Contoso" }
    var employeeID: String? { isGuest ? nil : "E\(SampleUsers.padded(UInt64(index), to: 6))" }
    var createdDateTime: String { UserTable.date(number(10), number(11), number(12), number(13)) }

    /// A number that grows with ``createdDateTime``.
    var createdKey: UInt64 {
        ((number(10) % 13 * 16 + 1 + number(11) % 12) * 32 + 1 + number(12) % 28) * 64 + number(13) % 60
    }

    var mail: String? {
        guard index % 17 != 0 else { return nil }
        return people.addressName(index) + (isGuest ? "@partner.example" : "@contoso.example")
    }
    var userPrincipalName: String {
        people.addressName(index) + (isGuest ? "_partner.example#EXT#@contoso.example" : "@contoso.example")
    }
    private var digits: String { SampleUsers.padded(number(4) % 1000, to: 3) }
    var mobilePhone: String? {
        index % 5 != 0 && index % 3 != 0 ? "\(place.prefix)1\(digits)" : nil
    }
    var businessPhones: [String] { index % 5 != 0 ? ["\(place.prefix)2\(digits)"] : [] }

    func text(_ property: UserProperty) -> String? {
        switch property {
        case .id: id
        case .displayName: pair.displayName
        case .givenName: pair.givenName
        case .surname: pair.surname
        case .mail: mail
        case .userPrincipalName: userPrincipalName
        case .jobTitle: jobTitle
        case .department: department
        case .officeLocation: officeLocation
        case .mobilePhone: mobilePhone
        case .preferredLanguage: place.language
        case .city: place.city
        case .country: place.country
        case .companyName: companyName
        case .employeeId: employeeID
        case .createdDateTime: createdDateTime
        default: derivedText(property)
        }
    }

    func texts(_ property: UserProperty) -> [String] {
        property == .businessPhones ? businessPhones : derivedTexts(property)
    }
}
