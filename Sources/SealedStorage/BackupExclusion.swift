import LodgePlatform

#if canImport(Darwin)
    import Foundation
#endif

/// Excludes folders from the backups of the system.
enum BackupExclusion {
    #if canImport(Darwin)
        /// Excludes a folder from Time Machine and iCloud: another device cannot use its records, because their key stays on
        /// this one. Ignores errors, because the folder is usable without it.
        static func exclude(_ path: String) {
            var url = URL(filePath: path, directoryHint: .isDirectory)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? url.setResourceValues(values)
        }
    #else
        /// Does nothing: this system has no common mark for backups.
        static func exclude(_ path: String) {}
    #endif
}
