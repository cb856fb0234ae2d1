import LodgePlatform

/// A remedy for a problem of a store.
package enum StorageRemedy: SuggestedAction {
    /// The kinds of folder that a store needs.
    package enum Folder: String, Sendable {
        /// Any folder, because the default location is not set.
        case any = "a folder"
        /// A folder different from this one.
        case other = "another folder"
        /// A folder that belongs to the user.
        case own = "a folder that you own"
        /// A folder on a disk of this machine.
        case local = "a folder on a local disk"
        /// A writable folder.
        case writable = "a writable folder"
    }

    /// Use a store in another folder.
    case chooseStore(Folder)
    /// Copy the readable records of a damaged store.
    case salvage

    /// The name of the action.
    package var description: String {
        switch self {
        case .chooseStore(let folder): "choose \(folder.rawValue) for the store"
        case .salvage: "salvage the accounts"
        }
    }
}
