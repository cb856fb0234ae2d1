import LodgePlatform

// MARK: Name, organization and addresses

extension User {
    /// The object's identifier.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The name in address books.
    public var displayName: String? {
        get { text("displayName") }
        set { set("displayName", newValue) }
    }

    /// The given name.
    public var givenName: String? {
        get { text("givenName") }
        set { set("givenName", newValue) }
    }

    /// The family name.
    public var surname: String? {
        get { text("surname") }
        set { set("surname", newValue) }
    }

    /// The mail address. Often missing, and not always a valid address.
    public var mail: String? {
        get { text("mail") }
        set { set("mail", newValue) }
    }

    /// The sign-in name.
    public var userPrincipalName: String? {
        get { text("userPrincipalName") }
        set { set("userPrincipalName", newValue) }
    }

    /// The job title.
    public var jobTitle: String? {
        get { text("jobTitle") }
        set { set("jobTitle", newValue) }
    }

    /// The department.
    public var department: String? {
        get { text("department") }
        set { set("department", newValue) }
    }

    /// The company, mostly of guests.
    public var companyName: String? {
        get { text("companyName") }
        set { set("companyName", newValue) }
    }

    /// The office.
    public var officeLocation: String? {
        get { text("officeLocation") }
        set { set("officeLocation", newValue) }
    }

    /// The telephone numbers at work.
    public var businessPhones: [String] {
        get { texts("businessPhones") }
        set { set("businessPhones", newValue) }
    }

    /// The mobile telephone number.
    public var mobilePhone: String? {
        get { text("mobilePhone") }
        set { set("mobilePhone", newValue) }
    }

    /// The fax number.
    public var faxNumber: String? {
        get { text("faxNumber") }
        set { set("faxNumber", newValue) }
    }

    /// The preferred language, such as `en-US`.
    public var preferredLanguage: String? {
        get { text("preferredLanguage") }
        set { set("preferredLanguage", newValue) }
    }

    /// The street.
    public var streetAddress: String? {
        get { text("streetAddress") }
        set { set("streetAddress", newValue) }
    }

    /// The postal code.
    public var postalCode: String? {
        get { text("postalCode") }
        set { set("postalCode", newValue) }
    }

    /// The city.
    public var city: String? {
        get { text("city") }
        set { set("city", newValue) }
    }

    /// The state or province.
    public var state: String? {
        get { text("state") }
        set { set("state", newValue) }
    }

    /// The country or region.
    public var country: String? {
        get { text("country") }
        set { set("country", newValue) }
    }

    /// The country whose law determines the available services: two letters.
    public var usageLocation: String? {
        get { text("usageLocation") }
        set { set("usageLocation", newValue) }
    }

    /// Additional mail addresses.
    public var otherMails: [String] {
        get { texts("otherMails") }
        set { set("otherMails", newValue) }
    }

    /// The addresses that receive mail, such as `SMTP:ada@contoso.com`.
    public var proxyAddresses: [String] {
        get { texts("proxyAddresses") }
        set { set("proxyAddresses", newValue) }
    }

    /// The addresses for instant messages.
    public var imAddresses: [String] {
        get { texts("imAddresses") }
        set { set("imAddresses", newValue) }
    }

    /// The alias of the mail address.
    public var mailNickname: String? {
        get { text("mailNickname") }
        set { set("mailNickname", newValue) }
    }

    /// The number of the employee in the organization.
    public var employeeID: String? {
        get { text("employeeId") }
        set { set("employeeId", newValue) }
    }

    /// The kind of employment, such as `Contractor`.
    public var employeeType: String? {
        get { text("employeeType") }
        set { set("employeeType", newValue) }
    }

    /// The division and the cost center.
    public var employeeOrgData: EmployeeOrgData? {
        get { part("employeeOrgData") }
        set { set("employeeOrgData", newValue) }
    }

    /// The first day of the employment.
    public var employeeHireDate: Date? {
        get { date("employeeHireDate") }
        set { set("employeeHireDate", newValue) }
    }
}
