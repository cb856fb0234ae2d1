/// The access of other users to a file, according to its owner, its mode and its folders.
///
/// Root and the user's own primary group count as the user: with a private group for each user, files are often
/// group-writable.
package struct FileAccess: Sendable {
    /// An access of other users.
    package struct Problem: Error, Equatable {
        /// The file or the folder.
        package let path: String
        /// The users and their access, as a phrase.
        package let reason: String
        /// The command that removes the access, or `nil` if only the owner or root can remove it.
        package let command: String?
    }

    private let user: uid_t
    private let primaryGroup: @Sendable () -> gid_t

    /// Creates the access for a user. The default is the user of the process.
    package init(user: uid_t = geteuid(), primaryGroup: (@Sendable () -> gid_t)? = nil) {
        self.user = user
        // A user without an entry, as in a container, has the group of the process.
        self.primaryGroup = primaryGroup ?? { getpwuid(user)?.pointee.pw_gid ?? getegid() }
    }

    // MARK: Writing

    /// Returns why other users can change an open file or the path to it, or `nil` if they cannot.
    ///
    /// A folder writable by others is safe with the sticky bit. The folder and the owner of a link are checked too.
    package func problem(ofFile descriptor: Int32, at path: String) -> Problem? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        // A terminal or /dev/null has no content of other users.
        if status.st_mode & S_IFMT == S_IFCHR { return nil }
        if let problem = problem(of: status, at: path) { return problem }
        if status.st_mode & 0o020 != 0, let other = namedWriter(descriptor) {
            return Problem(
                path: path, reason: "\(other) can write to it by an access control list",
                command: "setfacl -b \(path.shellWord)")
        }
        // A pipe that a shell passes has no folder.
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        for link in Self.links(to: path) {
            var status = stat()
            // The file of a link of /proc can be deleted.
            guard lstat(link, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFLNK, let problem = ownerProblem(of: status, at: link) { return problem }
            for folder in Self.folders(of: link) {
                guard stat(folder, &status) == 0 else { continue }
                let mode = status.st_mode
                if mode & 0o002 != 0, mode & mode_t(S_ISVTX) == 0 {
                    return Problem(
                        path: path, reason: "all users can replace it, because they can write to its folder \(folder)",
                        command: "chmod o-w \(folder.shellWord)")
                }
            }
        }
        return nil
    }

    /// Returns why other users can change a file with these attributes, or `nil` if they cannot.
    package func problem(of status: stat, at path: String) -> Problem? {
        if let problem = ownerProblem(of: status, at: path) { return problem }
        if status.st_mode & 0o002 != 0 {
            let letters = status.st_mode & 0o020 != 0 && isForeign(status.st_gid) ? "go" : "o"
            return Problem(
                path: path, reason: "all users can write to it", command: "chmod \(letters)-w \(path.shellWord)")
        }
        if status.st_mode & 0o020 != 0, isForeign(status.st_gid) {
            return Problem(
                path: path, reason: "the group \(Self.name(ofGroup: status.st_gid)) can write to it",
                command: "chmod g-w \(path.shellWord)")
        }
        return nil
    }

    private func ownerProblem(of status: stat, at path: String) -> Problem? {
        guard status.st_uid != user, status.st_uid != 0 else { return nil }
        return Problem(path: path, reason: "it belongs to the user \(Self.name(of: status.st_uid))", command: nil)
    }

    private func isForeign(_ group: gid_t) -> Bool { group != 0 && group != primaryGroup() }

    /// Returns the first user or group with write access in an access control list.
    ///
    /// The mode contains only their common mask.
    private func namedWriter(_ descriptor: Int32) -> String? {
        #if os(Linux)
            // Glibc's module does not contain the header of this function.
            typealias Reader =
                @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
            guard let read: Reader = try? DynamicLibrary.program?.function("fgetxattr") else { return nil }
            var list = [UInt8](repeating: 0, count: 64 * 1024)
            let count = read(descriptor, "system.posix_acl_access", &list, list.count)
            guard count > 4 else { return nil }
            // A version, then a tag, the permissions and an identifier for each entry, as linux/posix_acl_xattr.h describes.
            let users: UInt8 = 0x02, groups: UInt8 = 0x08
            for start in stride(from: 4, through: count - 8, by: 8) where list[start + 2] & 0o2 != 0 {
                let id = (4...7).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32(list[start + $1]) }
                if list[start] == users, id != user, id != 0 { return "the user \(Self.name(of: id))" }
                if list[start] == groups, isForeign(id) { return "the group \(Self.name(ofGroup: id))" }
            }
        #endif
        return nil
    }

    // MARK: Reading

    /// Returns why other users can read a file, or `nil` if they cannot or the file does not exist.
    package func reader(of path: String) -> Problem? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let location = OwnerOnlyFile.resolved(path)
        else { return nil }
        let isForeignGroup = isForeign(status.st_gid)
        let all = status.st_mode & 0o004 != 0
        guard all || status.st_mode & 0o040 != 0 && isForeignGroup else { return nil }
        // In a folder that others cannot enter, the mode of the file does not matter.
        for folder in Self.folders(of: location) {
            var folderStatus = stat()
            guard stat(folder, &folderStatus) == 0 else { return nil }
            let isOpen =
                folderStatus.st_mode & 0o001 != 0
                || folderStatus.st_mode & 0o010 != 0 && isForeign(folderStatus.st_gid)
            guard isOpen else { return nil }
        }
        return Problem(
            path: path,
            reason: (all ? "all users" : "the group \(Self.name(ofGroup: status.st_gid))") + " can read it",
            command: "chmod \(isForeignGroup ? "go" : "o")-r \(path.shellWord)")
    }

    // MARK: Paths

    /// The maximum number of links that Linux follows in a path.
    private static let maximumLinks = 40

    /// Returns the path, the targets of its last component while that is a link, and the location without any link.
    private static func links(to path: String) -> [String] {
        var paths = [absolute(path)]
        while paths.count <= maximumLinks, let last = paths.last, let target = target(of: last) {
            paths.append(target.hasPrefix("/") ? target : OwnerOnlyFile.directory(of: last) + "/" + target)
        }
        if let location = OwnerOnlyFile.resolved(path), paths.last != location { paths.append(location) }
        return paths
    }

    private static func target(of path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink(path, $0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? -1
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// Returns the folder of a path and its parent folders.
    private static func folders(of path: String) -> [String] {
        var folders = [OwnerOnlyFile.directory(of: path)]
        while let last = folders.last, last != "/", last != "." { folders.append(OwnerOnlyFile.directory(of: last)) }
        return folders
    }

    // MARK: Names

    private static func name(of user: uid_t) -> String {
        getpwuid(user).flatMap { String(validatingCString: $0.pointee.pw_name) } ?? "\(user)"
    }

    private static func name(ofGroup group: gid_t) -> String {
        getgrgid(group).flatMap { String(validatingCString: $0.pointee.gr_name) } ?? "\(group)"
    }
}
