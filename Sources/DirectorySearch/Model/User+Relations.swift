public import Platform

// MARK: Whom the person is related to, and what a profile tells

extension User {
    /// When the employment ended or will end.
    public var employeeLeaveDateTime: Date? {
        get { date("employeeLeaveDateTime") }
        set { set("employeeLeaveDateTime", newValue) }
    }

    /// The manager, when the query expanded it.
    public var manager: User? {
        get { part("manager") }
        set { set("manager", newValue) }
    }

    /// The manager, the manager's manager and so on, from the nearest, as far as the query expanded them. None of them has a manager
    /// within: they follow one another in the list.
    public var managers: [User] {
        var chain: [User] = []
        var next = manager
        while var person = next {
            next = person.manager
            person.manager = nil
            chain.append(person)
        }
        return chain
    }

    /// Those who report to this person, when the query expanded it: at most 20.
    public var directReports: [User] {
        get { parts("directReports") }
        set { set("directReports", newValue) }
    }

    /// Groups, roles and units that the person is a direct member of, when the query expanded it: at most 20.
    public var memberOf: [DirectoryObject] {
        get { parts("memberOf") }
        set { set("memberOf", newValue) }
    }

    /// Groups, roles and units that the person is a member of, also by way of others, when the query expanded it: at most 20.
    public var transitiveMemberOf: [DirectoryObject] {
        get { parts("transitiveMemberOf") }
        set { set("transitiveMemberOf", newValue) }
    }

    /// The size of the photo, when the query expanded it.
    public var photo: ProfilePhoto? {
        get { part("photo") }
        set { set("photo", newValue) }
    }

    /// What the person says of themselves. For one person only.
    public var aboutMe: String? {
        get { text("aboutMe") }
        set { set("aboutMe", newValue) }
    }

    /// The birthday. For one person only.
    public var birthday: Date? {
        get { date("birthday") }
        set { set("birthday", newValue) }
    }

    /// When the employment began, by the profile. For one person only.
    public var hireDate: Date? {
        get { date("hireDate") }
        set { set("hireDate", newValue) }
    }

    /// Interests. For one person only.
    public var interests: [String] {
        get { texts("interests") }
        set { set("interests", newValue) }
    }

    /// The address of the personal site. For one person only.
    public var mySite: String? {
        get { text("mySite") }
        set { set("mySite", newValue) }
    }

    /// Past projects. For one person only.
    public var pastProjects: [String] {
        get { texts("pastProjects") }
        set { set("pastProjects", newValue) }
    }

    /// The preferred name. For one person only.
    public var preferredName: String? {
        get { text("preferredName") }
        set { set("preferredName", newValue) }
    }

    /// Responsibilities. For one person only.
    public var responsibilities: [String] {
        get { texts("responsibilities") }
        set { set("responsibilities", newValue) }
    }

    /// Schools. For one person only.
    public var schools: [String] {
        get { texts("schools") }
        set { set("schools", newValue) }
    }

    /// Skills. For one person only.
    public var skills: [String] {
        get { texts("skills") }
        set { set("skills", newValue) }
    }

    /// Time zone, language and working hours of the mailbox. For one person only.
    public var mailboxSettings: MailboxSettings? {
        get { part("mailboxSettings") }
        set { set("mailboxSettings", newValue) }
    }
}
