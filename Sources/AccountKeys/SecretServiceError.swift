import LodgePlatform

/// The errors of the Secret Service with their hints.
package enum SecretServiceError {
    static let location = "the key in the Secret Service"
    package static let elsewhere = KeyRemedy.moveKey(to: .keyFile)

    private static func error(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: hint)
    }

    static var notInstalled: KeyCustodyError {
        error("\(LibSecret.fileName) is not installed", "install it (Debian: libsecret-1-0), and try again")
    }
    static var noSessionBus: KeyCustodyError {
        error(
            "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set",
            "run it inside a desktop session; to do without one, run this once where the keyring is: \(elsewhere)")
    }
    static var locked: KeyCustodyError {
        error(
            "the keyring is locked",
            "unlock it in the desktop's password program, or sign in to the desktop; the store is unchanged")
    }
    static var dismissed: KeyCustodyError {
        error("the keyring is locked", "try again and unlock it when the desktop prompts you; the store is unchanged")
    }
    static var noKeyring: KeyCustodyError {
        error("there is no default keyring", "create one in the desktop's password program, and try again")
    }
    static var notSaved: KeyCustodyError {
        error("the keyring rejected the key", "check that the desktop's password program can save, and try again")
    }
    static var damaged: KeyCustodyError {
        error(
            "the value in the keyring is not a key",
            "restore the keyring from a copy; without the key the accounts cannot be read")
    }
    static var ambiguous: KeyCustodyError {
        error(
            "the keyring has several different keys for this store",
            "remove the wrong ones in the desktop's password program; when in doubt keep the oldest")
    }
    static func late(_ limit: Duration) -> KeyCustodyError {
        error(
            "the service did not respond within \(limit)",
            "check whether the desktop shows a prompt, or restart its keyring; the store is unchanged")
    }

    /// Returns the error for an error of GLib.
    static func reported(_ domain: String, _ code: Int32, _ text: String) -> any Error {
        switch (domain, code) {
        case ("g-io-error-quark", 19): CancellationError()
        case ("secret-error", 2): locked
        // Unknown service, name without an owner, and errors of starting it.
        case ("g-dbus-error-quark", 2), ("g-dbus-error-quark", 3), ("g-dbus-error-quark", 23...32):
            error(
                "no keyring runs in this session",
                "start one (such as gnome-keyring-daemon); to do without one, run this once where the keyring is: \(elsewhere)"
            )
        case ("g-dbus-error-quark", 9), ("g-dbus-error-quark", 10), ("g-io-error-quark", 14):
            error("the keyring denied access: \(text)", "allow it in the desktop's password program, and try again")
        case ("g-dbus-error-quark", 4), ("g-io-error-quark", 18), ("g-io-error-quark", 24):
            error("the keyring stopped: \(text)", "restart it, and try again; the store is unchanged")
        case ("g-io-error-quark", 1), ("g-io-error-quark", 39), ("g-io-error-quark", 44):
            error(
                "the session bus cannot be reached: \(text)",
                "run it inside a desktop session; to do without one, run this once where the keyring is: \(elsewhere)")
        default: error(text, "check that the desktop's password program works, and try again; the store is unchanged")
        }
    }
}
