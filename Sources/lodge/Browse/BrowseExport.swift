import CommandLineKit
import TerminalBrowser
import Platform
import DirectorySearch

/// Writes people as vCards into a new file.
enum BrowseExport {
    private static let attempts = 1000

    /// Writes a new file in this folder: `lodge-users.vcf`, `lodge-users-2.vcf` and so on. Returns its name.
    static func write(_ users: [User], in folder: String = ".") throws(CommandError) -> String {
        let cards = Data(users.compactMap { UserRecord(user: $0).vCard?.text }.joined().utf8)
        for number in 1...attempts {
            let name = number == 1 ? "lodge-users.vcf" : "lodge-users-\(number).vcf"
            let file = URL(filePath: folder + "/" + name)
            guard !FileManager.default.fileExists(atPath: file.path) else { continue }
            do {
                try cards.write(to: file, options: .withoutOverwriting)
                return name
            } catch let error as CocoaError where error.code == .fileWriteFileExists {
                continue
            } catch {
                throw CommandError(
                    .failed, "\(name) cannot be written here", reason: "the system refuses it",
                    hint: "start lodge in a folder that may be written to")
            }
        }
        throw CommandError(
            .failed, "there are \(attempts) files of this name already", reason: "lodge-users.vcf and so on",
            hint: "move some of them away")
    }
}
