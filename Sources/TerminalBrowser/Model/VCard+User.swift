import CommandLineKit
import DirectorySearch
import LodgePlatform

extension VCard {
    package init(_ user: User) {
        self.init(name: user.listName)
        familyName = user.surname
        givenName = user.givenName
        add("EMAIL;TYPE=work", user.mail)
        for phone in user.businessPhones { add("TEL;TYPE=\"work,voice\"", phone) }
        add("TEL;TYPE=cell", user.mobilePhone)
        add("TITLE", user.jobTitle)
        (company, unit) = (user.companyName, user.department)
        add("LANG", user.preferredLanguage)
        guard let id = user.id else { return }
        // A UID is a URI unless it says otherwise (RFC 6350 section 6.7.6).
        if let uuid = UUID(uuidString: id) {
            add("UID", "urn:uuid:\(uuid.uuidString.lowercased())")
        } else {
            add("UID;VALUE=text", id)
        }
    }
}
