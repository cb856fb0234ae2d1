import CommandLineKit

/// `credential`: passes tokens to other programs in their credential protocols. Each protocol is a subcommand.
enum CredentialCommand {
    static let group = Command(
        "credential", "Pass a token to git in its credential protocol.",
        discussion: """
            The other program runs this command. It gets a token only for a host of an account type: the host of the issuer or of \
            an endpoint, or one of the resourceHosts. If such a host has no account, standard error names the sign-in.
            """, examples: ["git config --global credential.helper '!lodge credential git'"],
        subcommands: [GitCredentialCommand.command])
}
