import LodgePlatform

// MARK: Related users, groups, and the profile

extension User {
    /// The last day of the employment.
    public var employeeLeaveDateTime: Date? {
        get { date("employeeLeaveDateTime") }
        set { set("employeeLeaveDateTime", newValue) }
    }

    /// The manager, if the query expands it.
    public var manager: User? {
        get { part("manager") }
        set { set("manager", newValue) }
    }

    /// The management chain, as far as the query expands it. The list replaces the ``manager`` of each manager.
    public var managers: [User] {
        var chain: [User] = []
        var next = manager
        while var user = next {
            next = user.manager
            user.manager = nil
            chain.append(user)
        }
        return chain
    }

    /// The direct reports, if the query expands them: at most 20.
    public var directReports: [User] {
        get { parts("directReports") }
        set { set("directReports", newValue) }
    }

    /// The groups, roles and units with the user as a direct member, if the query expands them: at most 20.
    public var memberOf: [DirectoryObject] {
        get { parts("memberOf") }
        set { set("memberOf", newValue) }
    }

    /// The groups, roles and units with the user as a direct or indirect member, if the query expands them: at most 20.
    public var transitiveMemberOf: [DirectoryObject] {
        get { parts("transitiveMemberOf") }
        set { set("transitiveMemberOf", newValue) }
    }

    /// The size of the photo, if the query expands it.
    public var photo: ProfilePhoto? {
        get { part("photo") }
        set { set("photo", newValue) }
    }

    /// The user's own description. For one user only.
    public var aboutMe: String? {
        get { text("aboutMe") }
        set { set("aboutMe", newValue) }
    }

    /// The birthday. For one user only.
    public var birthday: Date? {
        get { date("birthday") }
        set { set("birthday", newValue) }
    }

    /// The first day of the employment in the profile. For one user only.
    public var hireDate: Date? {
        get { date("hireDate") }
        set { set("hireDate", newValue) }
    }

    /// Interests. For one user only.
    public var interests: [String] {
        get { texts("interests") }
        set { set("interests", newValue) }
    }

    /// The URL of the personal site. For one user only.
    public var mySite: String? {
        get { text("mySite") }
        set { set("mySite", newValue) }
    }

    /// Past projects. For one user only.
    public var pastProjects: [String] {
        get { texts("pastProjects") }
        set { set("pastProjects", newValue) }
    }

    /// The preferred name. For one user only.
    public var preferredName: String? {
        get { text("preferredName") }
        set { set("preferredName", newValue) }
    }

    /// Responsibilities. For one user only.
    public var responsibilities: [String] {
        get { texts("responsibilities") }
        set { set("responsibilities", newValue) }
    }

    /// Schools. For one user only.
    public var schools: [String] {
        get { texts("schools") }
        set { set("schools", newValue) }
    }

    /// Skills. For one user only.
    public var skills: [String] {
        get { texts("skills") }
        set { set("skills", newValue) }
    }

    /// Time zone, language and working hours of the mailbox. For one user only.
    package var mailboxSettings: MailboxSettings? {
        get { part("mailboxSettings") }
        set { set("mailboxSettings", newValue) }
    }
}
