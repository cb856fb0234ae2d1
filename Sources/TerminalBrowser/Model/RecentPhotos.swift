import DirectorySearch

/// The photos shown last, including the absence of a photo: at most twenty users and a few megabytes.
struct RecentPhotos: Sendable {
    static let maximumCount = 20
    /// The maximum size in bytes. One photo is always kept.
    static let maximumBytes = 4 << 20

    private var photos: [(id: String, photo: UserPhoto?)] = []

    /// Returns the photo of a user: `nil` if unknown, `.some(nil)` if the user has no photo.
    subscript(id: String) -> UserPhoto?? { photos.last { $0.id == id }?.photo }

    mutating func save(_ photo: UserPhoto?, for id: String) {
        photos.removeAll { $0.id == id }
        photos.append((id, photo))
        while photos.count > Self.maximumCount || (photos.count > 1 && byteCount > Self.maximumBytes) {
            photos.removeFirst()
        }
    }

    private var byteCount: Int { photos.reduce(0) { $0 + ($1.photo?.bytes.count ?? 0) } }
}
