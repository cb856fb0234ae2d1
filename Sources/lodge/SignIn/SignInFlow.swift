import CommandLineKit
import LodgePlatform
import OAuth2AccountStore

/// The flow of a sign-in: selected on the command line or by default.
enum SignInFlow: Equatable {
    /// The browser, opened or with only the URL shown. The reason is `nil` if the user requested this.
    case browser(opens: Bool, because: String?)
    /// A code for another device. The reason is `nil` if the user requested this.
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

    /// Returns the flow of the command line.
    ///
    /// - Throws: `CommandError` if it selects two flows.
    static func named(by invocation: Invocation) throws(CommandError) -> SignInFlow? {
        var given = flags.filter { invocation[$0.option] }.map {
            (option: $0.option as any DeclaredOption, flow: $0.flow)
        }
        let username = SignInCommand.Input.username
        if let name = invocation[username] { given.append((username, .password(username: name))) }
        guard given.count < 2 else { throw invocation.conflict(given[0].option, given[1].option) }
        return given.first?.flow
    }

    /// Returns the default flow: the browser, or the device flow if no browser can open and the provider supports it.
    static func byItself(_ type: String, _ store: AccountStore, _ world: CommandEnvironment) async throws -> SignInFlow
    {
        guard world.openBrowser == nil, let obstacle = obstacleToBrowser(world.environment) else {
            return .browser(opens: true, because: nil)
        }
        return try await store.offersDeviceSignIn(type: type)
            ? .device(because: obstacle) : .browser(opens: false, because: obstacle)
    }

    /// Returns the error with an alternative, because a client may not be allowed to use every flow.
    func explaining(_ error: AccountStoreError, type: String) -> AccountStoreError {
        guard case .device(_?) = self, error.kind == .settings, error.hint == nil else { return error }
        var error = error
        error.hint = "\(run: "sign-in") \(type) --no-browser prints a URL to open on this machine"
        return error
    }

    /// Returns why no browser can open on this machine, or `nil` if one can.
    static func obstacleToBrowser(_ environment: [String: String]) -> String? {
        func has(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        if has("SSH_CONNECTION") { return "this is an SSH session" }
        let needsDisplay = platformValue(linux: true, darwin: false)
        if needsDisplay, !has("DISPLAY"), !has("WAYLAND_DISPLAY"), !has("BROWSER"), !hasOwnOpener(environment) {
            return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY nor BROWSER is set)"
        }
        return nil
    }

    /// Returns whether the user's own `xdg-open` precedes the system's.
    ///
    /// This indicates, like `$BROWSER`, that URLs can be opened.
    ///
    /// The system's own is also installed on machines without a display.
    private static func hasOwnOpener(_ environment: [String: String]) -> Bool {
        for folder in (environment["PATH"] ?? "").split(separator: ":") {
            if folder == "/usr/bin" || folder == "/bin" { return false }
            if folder.hasPrefix("/"), FileManager.default.isExecutableFile(atPath: "\(folder)/xdg-open") { return true }
        }
        return false
    }
}
