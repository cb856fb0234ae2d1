import CommandLineKit
import DirectorySearch

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
        add("UID", user.id)
    }
}
