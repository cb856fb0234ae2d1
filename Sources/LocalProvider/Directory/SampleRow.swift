import StrictJSON

/// The values of a user for filters, searches and responses.
protocol UserValues {
    /// Returns the value of a string property, or `nil` if it is not set or not a string.
    func text(_ property: UserProperty) -> String?
    func texts(_ property: UserProperty) -> [String]
    var accountEnabled: Bool { get }
    var isGuest: Bool { get }
}

/// A generated user. Each value is computed on access.
struct SampleRow: UserValues {
    let table: UserTable
    let index: Int

    var pair: UserTable.NamePair { table.names[Int(table.pairs[index])] }
    private func number(_ position: Int) -> UInt64 { table.number(index, position) }
    private func pick<Element>(_ list: [Element], _ position: Int) -> Element {
        list[Int(number(position) % UInt64(list.count))]
    }

    var isGuest: Bool { index % 23 == 0 }
    var accountEnabled: Bool { index % 29 != 28 }
    var id: String { UserTable.identifier(number(5), number(6)) }
    var jobTitle: String { pick(SampleUsers.titles, 2) }
    var location: (city: String, country: String, language: String, prefix: String) { pick(SampleUsers.locations, 3) }
    var department: String { pick(SampleUsers.departments, 7) }
    var officeLocation: String { "\(10 + number(8) % 30)/\(1000 + number(9) % 3000)" }
    var companyName: String? { isGuest ? nil : "Contoso" }
    var employeeID: String? { isGuest ? nil : "E\(SampleUsers.padded(UInt64(index), to: 6))" }
    var createdDateTime: String { UserTable.date(number(10), number(11), number(12), number(13)) }

    /// A number that increases with ``createdDateTime``.
    var createdKey: UInt64 {
        ((number(10) % 13 * 16 + 1 + number(11) % 12) * 32 + 1 + number(12) % 28) * 64 + number(13) % 60
    }

    var mail: String? {
        guard index % 17 != 0 else { return nil }
        return table.addressName(index) + (isGuest ? "@partner.example" : "@contoso.example")
    }
    var userPrincipalName: String {
        table.addressName(index) + (isGuest ? "_partner.example#EXT#@contoso.example" : "@contoso.example")
    }
    private var digits: String { SampleUsers.padded(number(4) % 1000, to: 3) }
    var mobilePhone: String? {
        index % 5 != 0 && index % 3 != 0 ? "\(location.prefix)1\(digits)" : nil
    }
    var businessPhones: [String] { index % 5 != 0 ? ["\(location.prefix)2\(digits)"] : [] }

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
        case .preferredLanguage: location.language
        case .city: location.city
        case .country: location.country
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
