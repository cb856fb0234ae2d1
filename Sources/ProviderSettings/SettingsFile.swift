import LodgePlatform
import StrictJSON

/// Reads a file in one of the two formats.
enum SettingsFile {
    static func read(_ path: String) throws(SettingsError) -> [UInt8] {
        guard let bytes = try readIfPresent(path) else { throw unreadable(path, SystemError(ENOENT)) }
        return bytes
    }

    /// Returns the bytes of the file, or `nil` if it does not exist.
    static func readIfPresent(_ path: String) throws(SettingsError) -> [UInt8]? {
        // The settings decide which server receives refresh tokens.
        var problem: FileAccess.Problem?
        let result = OwnerOnlyFile.read(path, maximumSize: Settings.maximumSize) {
            problem = FileAccess().problem(ofFile: $0, at: path)
        }
        switch result {
        case .success(let bytes):
            guard let problem else { return bytes }
            throw SettingsError(
                file: path, expected: "a settings file that only you and root can change", found: problem.reason,
                hint: problem.command.map { "if the settings are right, run: \($0)" }
                    ?? "if the settings are right, copy them to a new file, and \(SettingsRemedy.chooseFile)")
        case .failure(let failure) where failure.code == ENOENT: return nil
        case .failure(let failure): throw unreadable(path, failure)
        }
    }

    private static func unreadable(_ path: String, _ failure: SystemError) -> SettingsError {
        SettingsError(file: path, expected: "a readable settings file", found: failure.explanation)
    }

    static func parse(_ bytes: [UInt8], file: String) throws(SettingsError) -> JSONObject {
        let value = PropertyList.isPropertyList(bytes) ? try propertyList(bytes, file) : try json(bytes, file)
        guard let object = value.object else {
            throw SettingsError(file: file, expected: "a dictionary of settings", found: value.kind)
        }
        return object
    }

    private static func json(_ bytes: [UInt8], _ file: String) throws(SettingsError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: bytes, options: .init(allowsComments: true, rejectsDuplicates: true))
        } catch {
            let line = bytes.prefix(error.offset).count { $0 == 0x0A } + 1
            throw SettingsError(
                file: file, expected: "JSON or a property list", found: "\(error.reason) on line \(line)")
        }
    }

    private static func propertyList(_ bytes: [UInt8], _ file: String) throws(SettingsError) -> JSONValue {
        do throws(PropertyListError) {
            return try PropertyList.value(of: bytes)
        } catch {
            let position =
                PropertyList.isBinary(bytes)
                ? "at byte \(error.offset)" : "on line \(bytes.prefix(error.offset).count { $0 == 0x0A } + 1)"
            throw SettingsError(
                file: file, expected: "a well-formed property list", found: "\(error.reason) \(position)")
        }
    }
}
