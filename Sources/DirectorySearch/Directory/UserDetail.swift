public import Platform

/// One person, and who and what is around them.
public struct UserDetail: Sendable, Equatable {
    /// A part of what is around a person.
    public enum PartName: String, Sendable, CaseIterable {
        /// The manager.
        case manager
        /// Those who report to the person.
        case reports
        /// Groups, roles and units that the person is a direct member of.
        case groups
        /// The size of the photo.
        case photo
    }

    /// What became of the question for a part.
    public enum Part<Value: Sendable & Equatable>: Sendable, Equatable {
        /// It was not asked for, or the directory has nothing of the kind.
        case notAsked
        /// It is this.
        case value(Value)
        /// There is none.
        case none
        /// It may not be seen; the error names the permission that is missing.
        case notPermitted(DirectoryError)
        /// The directory failed at this part.
        case failed(DirectoryError)

        /// The value; nil when there is none, whatever the reason.
        public var value: Value? {
            if case .value(let value) = self { value } else { nil }
        }
    }

    /// The person.
    public var user: User
    /// The manager.
    public var manager: Part<User> = .notAsked
    /// Those who report to the person; an empty list is ``Part/none``.
    public var reports: Part<[DirectoryObject]> = .notAsked
    /// Groups, roles and units that the person is a direct member of; an empty list is ``Part/none``.
    public var groups: Part<[DirectoryObject]> = .notAsked
    /// The size of the photo.
    public var photo: Part<ProfilePhoto> = .notAsked

    /// A person of whom nothing around is known.
    public init(user: User) { self.user = user }
}

/// A picture of a person.
public struct UserPhoto: Sendable, Equatable {
    /// The picture, as it came.
    public var bytes: Data
    /// Its media type, such as `image/jpeg`; nil when the service does not say.
    public var mediaType: String?

    /// A picture.
    public init(bytes: Data, mediaType: String? = nil) {
        self.bytes = bytes
        self.mediaType = mediaType
    }
}
