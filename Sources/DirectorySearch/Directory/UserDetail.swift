import LodgePlatform

/// One user and the related objects.
public struct UserDetail: Sendable, Equatable {
    /// The name of a related object or list.
    public enum PartName: String, Sendable, CaseIterable {
        /// The manager.
        case manager
        /// The direct reports.
        case reports
        /// The groups, roles and units with the user as a direct member.
        case groups
        /// The size of the photo.
        case photo
    }

    /// The result for a part.
    public enum Part<Value: Sendable & Equatable>: Sendable, Equatable {
        /// The caller did not request it, or the directory does not support it.
        case notRequested
        /// The value.
        case value(Value)
        /// The user has no such object, or the list is empty.
        case none
        /// The user may not read it; the error names the missing permission.
        case notPermitted(DirectoryError)
        /// The directory failed to return it.
        case failed(DirectoryError)

        /// The value, or `nil` in any other case.
        public var value: Value? {
            if case .value(let value) = self { value } else { nil }
        }
    }

    /// The user.
    public var user: User
    /// The manager.
    public var manager: Part<User> = .notRequested
    /// The direct reports; an empty list is ``Part/none``.
    public var reports: Part<[DirectoryObject]> = .notRequested
    /// The groups, roles and units with the user as a direct member; an empty list is ``Part/none``.
    public var groups: Part<[DirectoryObject]> = .notRequested
    /// The size of the photo.
    public var photo: Part<ProfilePhoto> = .notRequested

    /// Creates a user without related objects.
    package init(user: User) { self.user = user }
}

/// The photo of a user.
public struct UserPhoto: Sendable, Equatable {
    /// The picture in the service's format.
    public var bytes: Data
    /// The media type, such as `image/jpeg`, or `nil` if the service does not return it.
    public var mediaType: String?

    /// Creates a photo.
    package init(bytes: Data, mediaType: String? = nil) {
        self.bytes = bytes
        self.mediaType = mediaType
    }
}
