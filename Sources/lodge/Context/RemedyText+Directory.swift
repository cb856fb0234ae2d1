import CommandLineKit
import DirectorySearch
import LodgePlatform

extension RemedyText {
    /// Returns the commands and options for the remedy of a directory or an offline copy.
    func replacement(_ remedy: DirectoryRemedy) -> Hint {
        switch remedy {
        case .enterText: command("search") + " ada"
        case .signIn(let claims): hint(CommandError.signIn(asking: claims))
        case .sync: "to download the directory, run: " + command("sync")
        case .askAdministrator(let permissions):
            permissions.first.map { permission in
                "to request the permission, which an administrator may have to approve, run: " + command("sign-in")
                    + Hint((type.map { " \($0)" } ?? "") + " --add-scope " + permission.shellWord)
            } ?? Hint(remedy.description)
        case .grantToApplication(let permissions) where !permissions.isEmpty:
            Hint(remedy.description) + ", then run: " + command("accounts refresh")
        case .allowScopes(let scopes) where !scopes.isEmpty, .delegateScopes(let scopes) where !scopes.isEmpty:
            Hint(remedy.description) + ", then run: " + command("accounts refresh")
        case .searchDirectory: "to search the directory, omit --offline"
        case .raiseLimit(let users):
            "check the URL of the directory in the settings; to allow more users: " + command("sync")
                + " --limit \(2 * users)"
        case .replaceCopy: command("sync") + " --forget, then " + command("sync")
        case .chooseOwnStore: "choose a folder that you own with --store"
        case .makeRoom: "free space, or use another folder with --store"
        default: Hint(remedy.description)
        }
    }
}
