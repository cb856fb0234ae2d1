import CommandLineKit
import Platform
import OAuth2AccountStore

/// The flow of a sign-in: as the command line says, else as the machine allows.
enum SignInFlow: Equatable {
    /// The browser, opened or with the URL only shown; the reason, unless the user asked for that.
    case browser(opens: Bool, because: String?)
    /// A code on another device; the reason, unless the user asked for that.
    case device(because: String?)
    /// A code or URL that the user copies from any browser.
    case paste
    case clientCredentials
    /// A token response on standard input.
    case token
    /// A user name, and the password on standard input.
    case password(username: String)

    private static let flags: [(option: Option<Bool>, flow: SignInFlow)] = [
        (SignInCommand.Input.device, .device(because: nil)),
        (SignInCommand.Input.noBrowser, .browser(opens: false, because: nil)), (SignInCommand.Input.paste, .paste),
        (SignInCommand.Input.clientCredentials, .clientCredentials), (SignInCommand.Input.withToken, .token),
    ]

    /// Whether the user must act while the command runs.
    var needsUser: Bool {
        switch self {
        case .browser, .device, .paste: true
        case .clientCredentials, .token, .password: false
        }
    }

    /// The flow of the command line. Throws if there are two.
    static func named(by invocation: Invocation) throws(CommandError) -> SignInFlow? {
        var given = flags.filter { invocation[$0.option] }.map {
            (option: $0.option as any DeclaredOption, flow: $0.flow)
        }
        let username = SignInCommand.Input.username
        if let name = invocation[username] { given.append((username, .password(username: name))) }
        guard given.count < 2 else { throw invocation.conflict(given[0].option, given[1].option) }
        return given.first?.flow
    }

    /// The default flow: the browser, or another device if no browser can be opened and the provider offers that.
    static func byItself(_ type: String, _ store: AccountStore, _ world: CommandEnvironment) async throws -> SignInFlow
    {
        guard world.openBrowser == nil, let obstacle = obstacleToBrowser(world.environment) else {
            return .browser(opens: true, because: nil)
        }
        return try await store.offersDeviceSignIn(type: type)
            ? .device(because: obstacle) : .browser(opens: false, because: obstacle)
    }

    /// The error with an alternative: a client may not be allowed to use every flow of its provider.
    func explaining(_ error: AccountStoreError, type: String) -> AccountStoreError {
        guard case .device(_?) = self, error.kind == .settings, error.hint == nil else { return error }
        var error = error
        error.hint = "\(run: "sign-in") \(type) --no-browser shows an address to open on this machine"
        return error
    }

    /// Why no browser can be opened on this machine; nil if one can.
    static func obstacleToBrowser(_ environment: [String: String]) -> String? {
        func has(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        if has("SSH_CONNECTION") { return "this is an SSH session" }
        #if os(Linux)
            if !has("DISPLAY"), !has("WAYLAND_DISPLAY"), !has("BROWSER"), !hasOwnOpener(environment) {
                return "there is no display here (neither DISPLAY nor WAYLAND_DISPLAY nor BROWSER is set)"
            }
        #endif
        return nil
    }

    /// Whether the user has an `xdg-open` before the system's. Like `$BROWSER`, it says that URLs can be opened here; the system's
    /// own is installed on machines without a display too.
    private static func hasOwnOpener(_ environment: [String: String]) -> Bool {
        for folder in (environment["PATH"] ?? "").split(separator: ":") {
            if folder == "/usr/bin" || folder == "/bin" { return false }
            if folder.hasPrefix("/"), FileManager.default.isExecutableFile(atPath: "\(folder)/xdg-open") { return true }
        }
        return false
    }
}
