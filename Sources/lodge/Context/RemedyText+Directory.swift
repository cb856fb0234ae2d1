import CommandLineKit
import DirectorySearch

extension CommandError {
    /// Creates the error of an offline copy, with its remedy as a command.
    init(offline error: OfflineIndexError) {
        let (status, hint): (ExitStatus, String) =
            switch error.remedy {
            case .sync: (.failed, "lodge sync")
            case .replace: (.store, "lodge sync --forget, then lodge sync")
            case .chooseOwnStore: (.store, "choose a directory of your own with --store")
            case .makeRoom: (.store, "make room or choose another directory with --store")
            }
        self.init(status, error.summary, reason: error.path, hint: hint)
    }
}
