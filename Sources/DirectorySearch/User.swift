public import StrictJSON

/// A person in the directory.
///
/// Every property may be missing: it was not asked for, is not set, or may not be read. What has no property here, or came
/// with an unexpected type, is kept in ``additional``, so that nothing the service says is lost.
public struct User: Sendable, Identifiable {
    /// The object's identifier.
    public var id: String?
    /// The name shown in address books.
    public var displayName: String?
    /// The given name.
    public var givenName: String?
    /// The family name.
    public var surname: String?
    /// The mail address. Often missing, and not always a valid address.
    public var mail: String?
    /// The sign-in name.
    public var userPrincipalName: String?
    /// The job title.
    public var jobTitle: String?
    /// The department.
    public var department: String?
    /// The office.
    public var officeLocation: String?
    /// Telephone numbers at work; empty when there are none.
    public var businessPhones: [String] = []
    /// The mobile telephone number.
    public var mobilePhone: String?
    /// The preferred language, such as `en-US`.
    public var preferredLanguage: String?
    /// Every other member of the answer, in its order, and known ones whose type was unexpected.
    public var additional = JSONObject()

    /// Which known members came without a value, `null` or an empty list, so that they are written again: a bit a name.
    private var cameEmpty: Names = []

    /// A person about whom nothing is known yet.
    public init() {}

    /// The sign-in name. The same as ``userPrincipalName``.
    public var upn: String? {
        get { userPrincipalName }
        set { userPrincipalName = newValue }
    }

    /// The name. The same as ``displayName``.
    public var name: String? {
        get { displayName }
        set { displayName = newValue }
    }
}

extension User: Equatable {
    /// People are equal when the same is known of them. `null` and a missing member are no difference.
    public static func == (left: User, right: User) -> Bool {
        left.id == right.id && left.displayName == right.displayName && left.givenName == right.givenName
            && left.surname == right.surname && left.mail == right.mail
            && left.userPrincipalName == right.userPrincipalName && left.jobTitle == right.jobTitle
            && left.department == right.department && left.officeLocation == right.officeLocation
            && left.businessPhones == right.businessPhones && left.mobilePhone == right.mobilePhone
            && left.preferredLanguage == right.preferredLanguage && left.additional == right.additional
    }
}

extension User: CustomStringConvertible {
    /// The display name, else the sign-in name or the identifier, with control characters made visible.
    public var description: String { (displayName ?? userPrincipalName ?? id ?? "somebody").visible() }
}

extension User {
    private struct Names: OptionSet {
        var rawValue: UInt16
        static let id = Names(rawValue: 1 << 0)
        static let displayName = Names(rawValue: 1 << 1)
        static let givenName = Names(rawValue: 1 << 2)
        static let surname = Names(rawValue: 1 << 3)
        static let mail = Names(rawValue: 1 << 4)
        static let userPrincipalName = Names(rawValue: 1 << 5)
        static let jobTitle = Names(rawValue: 1 << 6)
        static let department = Names(rawValue: 1 << 7)
        static let officeLocation = Names(rawValue: 1 << 8)
        static let businessPhones = Names(rawValue: 1 << 9)
        static let mobilePhone = Names(rawValue: 1 << 10)
        static let preferredLanguage = Names(rawValue: 1 << 11)
    }

    /// Reads a person from an answer of the service. Anything can be read: what is not understood is kept in
    /// ``additional``, and a value that is no object gives a person about whom nothing is known.
    public init(json: JSONValue) {
        self.init(json: json.object ?? JSONObject())
    }

    /// Reads a person from an object of the service. Where a name stands twice, the last counts.
    public init(json object: JSONObject) {
        var others: [JSONObject.Member] = []
        for member in object.members {
            // By length first: most names then need a single comparison. A directory page has ten thousand of them.
            switch member.name.utf8.count {
            case 2 where member.name == "id":
                Self.take(member, .id, &id, &cameEmpty, &others)
            case 4 where member.name == "mail":
                Self.take(member, .mail, &mail, &cameEmpty, &others)
            case 7 where member.name == "surname":
                Self.take(member, .surname, &surname, &cameEmpty, &others)
            case 8 where member.name == "jobTitle":
                Self.take(member, .jobTitle, &jobTitle, &cameEmpty, &others)
            case 9 where member.name == "givenName":
                Self.take(member, .givenName, &givenName, &cameEmpty, &others)
            case 10 where member.name == "department":
                Self.take(member, .department, &department, &cameEmpty, &others)
            case 11 where member.name == "displayName":
                Self.take(member, .displayName, &displayName, &cameEmpty, &others)
            case 11 where member.name == "mobilePhone":
                Self.take(member, .mobilePhone, &mobilePhone, &cameEmpty, &others)
            case 14 where member.name == "businessPhones":
                takePhones(member, &others)
            case 14 where member.name == "officeLocation":
                Self.take(member, .officeLocation, &officeLocation, &cameEmpty, &others)
            case 17 where member.name == "userPrincipalName":
                Self.take(member, .userPrincipalName, &userPrincipalName, &cameEmpty, &others)
            case 17 where member.name == "preferredLanguage":
                Self.take(member, .preferredLanguage, &preferredLanguage, &cameEmpty, &others)
            default:
                others.append(member)
            }
        }
        additional = JSONObject(others)
    }

    private static func take(
        _ member: JSONObject.Member, _ name: Names, _ property: inout String?, _ cameEmpty: inout Names,
        _ others: inout [JSONObject.Member]
    ) {
        switch member.value {
        case .string(let text):
            property = text
        case .null:
            property = nil
            cameEmpty.insert(name)
        default:
            others.append(member)
        }
    }

    private mutating func takePhones(_ member: JSONObject.Member, _ others: inout [JSONObject.Member]) {
        switch member.value {
        case .array(let elements):
            let phones = elements.compactMap(\.string)
            guard phones.count == elements.count else {
                others.append(member)
                return
            }
            businessPhones = phones
            if phones.isEmpty { cameEmpty.insert(.businessPhones) }
        default:
            others.append(member)
        }
    }

    /// The person as Graph writes one: known members first, always in the same order, then ``additional``.
    ///
    /// A property without a value is written only if it came so: `null` as `null`, no telephone numbers as an empty list.
    public var json: JSONObject {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(12 + additional.members.count)
        func give(_ name: String, _ value: String?, _ bit: Names) {
            if let value {
                members.append(.init(name: name, value: .string(value)))
            } else if cameEmpty.contains(bit) {
                members.append(.init(name: name, value: .null))
            }
        }
        give("id", id, .id)
        give("displayName", displayName, .displayName)
        give("givenName", givenName, .givenName)
        give("surname", surname, .surname)
        give("mail", mail, .mail)
        give("userPrincipalName", userPrincipalName, .userPrincipalName)
        give("jobTitle", jobTitle, .jobTitle)
        give("department", department, .department)
        give("officeLocation", officeLocation, .officeLocation)
        if !businessPhones.isEmpty || cameEmpty.contains(.businessPhones) {
            members.append(.init(name: "businessPhones", value: .array(businessPhones.map { .string($0) })))
        }
        give("mobilePhone", mobilePhone, .mobilePhone)
        give("preferredLanguage", preferredLanguage, .preferredLanguage)
        members.append(contentsOf: additional.members)
        return JSONObject(members)
    }
}
