import CommandLineKit
import Platform
import OAuth2AccountStore

/// By which way `sign-in` goes: as the command line says, else as the machine allows.
enum SignInFlow: Equatable {
    /// The browser; whether it is opened or the address is only shown. The reason, where nobody asked for that.
    case browser(opens: Bool, because: String?)
    /// A code on another device. The reason, where nobody asked for that.
    case device(because: String?)
    /// What the person copies from a browser anywhere.
    case paste
    case clientCredentials
    /// A token answer on standard input.
    case token
    /// This person's name, and the password on standard input.
    case password(username: String)

    private static let flags: [(option: Option<Bool>, way: SignInFlow)] = [
        (SignInCommand.Input.device, .device(because: nil)),
        (SignInCommand.Input.noBrowser, .browser(opens: false, because: nil)), (SignInCommand.Input.paste, .paste),
        (SignInCommand.Input.clientCredentials, .clientCredentials), (SignInCommand.Input.withToken, .token),
    ]

    /// The way that the command line names; what is typed wins over what the environment says.
    ///
    /// - Throws: ``CommandError`` when two are typed.
    static func named(by invocation: Invocation) throws(CommandError) -> SignInFlow? {
        var given = flags.filter { invocation[$0.option] }.map {
            (option: $0.option as any DeclaredOption, way: $0.way)
        }
        let username = SignInCommand.Input.username
        if let name = invocation[username] { given.append((username, .password(username: name))) }
        let typed = given.filter { invocation.source(of: $0.option) == .option }
        guard typed.count < 2 else {
            throw CommandError(
                .usage, "--\(typed[0].option.spec.name) and --\(typed[1].option.spec.name) exclude each other",
                hint: "lodge help sign-in")
        }
        return (typed.first ?? given.first)?.way
    }

    /// The way where nobody names one: the browser; where none can be opened another device, if the provider offers that.
    static func byItself(_ type: String, _ store: AccountStore, _ world: CommandEnvironment) async throws -> SignInFlow
    {
        guard world.openBrowser == nil, let obstacle = obstacleToBrowser(world.environment) else {
            return .browser(opens: true, because: nil)
        }
        return try await store.offersDeviceSignIn(type: type)
            ? .device(because: obstacle) : .browser(opens: false, because: obstacle)
    }

    /// The error with what else there is to try: not every client may do what its provider offers.
    func explaining(_ error: AccountStoreError, type: String) -> AccountStoreError {
        guard case .device(_?) = self, error.kind == .settings, error.hint == nil else { return error }
        var error = error
        error.hint = "\(run: "sign-in") \(type) --no-browser shows an address to open on this machine"
        return error
    }

    /// Why no browser can be opened on this machine; nil when one can.
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

    /// Whether somebody put an `xdg-open` of their own before the system's. Like `$BROWSER`, it says that addresses can be opened
    /// here; the system's own is installed on machines without a display too.
    private static func hasOwnOpener(_ environment: [String: String]) -> Bool {
        for folder in (environment["PATH"] ?? "").split(separator: ":") {
            if folder == "/usr/bin" || folder == "/bin" { return false }
            if folder.hasPrefix("/"), FileManager.default.isExecutableFile(atPath: "\(folder)/xdg-open") { return true }
        }
        return false
    }
}
