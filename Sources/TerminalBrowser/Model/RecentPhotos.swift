import DirectorySearch

/// The photos that were shown last, and who has none: at most twenty people, at most a few megabytes.
struct RecentPhotos: Sendable {
    static let maximumCount = 20
    /// How many bytes are kept; one photo is kept always.
    static let maximumBytes = 4 << 20

    private var photos: [(id: String, photo: UserPhoto?)] = []

    /// The photo of the person of this identifier: nil when it is not known, `.some(nil)` when there is none.
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
