import CommandLineKit
import DirectorySearch
import Platform

extension CommandError {
    init(offline error: OfflineIndexError) {
        let (status, hint): (ExitStatus, Hint) =
            switch error.remedy {
            case .sync: (.failed, "\(run: "sync")")
            case .replace: (.store, "\(run: "sync") --forget, then \(run: "sync")")
            case .chooseOwnStore: (.store, "choose a directory of your own with --store")
            case .makeRoom: (.store, "make room or choose another directory with --store")
            }
        self.init(status, error.summary, reason: error.path, hint: hint)
    }
}
