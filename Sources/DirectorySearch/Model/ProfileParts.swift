import StrictJSON

/// The position of a user in the organization. Every property can be missing.
public struct EmployeeOrgData: GraphObject {
    /// All members, including those without a property here.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The division.
    public var division: String? {
        get { text("division") }
        set { set("division", newValue) }
    }

    /// The cost center.
    public var costCenter: String? {
        get { text("costCenter") }
        set { set("costCenter", newValue) }
    }
}

/// Settings of a mailbox. Every property can be missing.
package struct MailboxSettings: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The time zone.
    package var timeZone: String? {
        get { text("timeZone") }
        set { set("timeZone", newValue) }
    }

    /// The format of dates.
    package var dateFormat: String? {
        get { text("dateFormat") }
        set { set("dateFormat", newValue) }
    }

    /// The format of times.
    package var timeFormat: String? {
        get { text("timeFormat") }
        set { set("timeFormat", newValue) }
    }

    /// The identifier of the archive folder.
    package var archiveFolder: String? {
        get { text("archiveFolder") }
        set { set("archiveFolder", newValue) }
    }

    /// The language and region.
    package var language: JSONObject? {
        get { object("language") }
        set { set("language", newValue) }
    }

    /// The working hours.
    package var workingHours: JSONObject? {
        get { object("workingHours") }
        set { set("workingHours", newValue) }
    }

    /// The automatic replies while the user is away.
    package var automaticRepliesSetting: JSONObject? {
        get { object("automaticRepliesSetting") }
        set { set("automaticRepliesSetting", newValue) }
    }
}

/// The size of a photo. Every property can be missing.
public struct ProfilePhoto: GraphObject {
    /// All members, including those without a property here.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The name of the size, such as `48x48`.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The height in pixels.
    public var height: Int? {
        get { number("height") }
        set { set("height", newValue) }
    }

    /// The width in pixels.
    public var width: Int? {
        get { number("width") }
        set { set("width", newValue) }
    }
}
