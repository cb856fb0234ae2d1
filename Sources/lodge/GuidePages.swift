import CommandLineKit

/// The pages of help about tasks. Tests/Integration/mail_servers.py, git_server.py and scripts.py run the lines of these
/// pages.
extension HelpPage {
    static let guides = [
        HelpPage(name: "scripts", summary: "Use tokens in scripts, cron and CI.", isGuide: true) { $0.scripts },
        HelpPage(name: "storage", summary: "Choose where accounts and their key are stored.", isGuide: true) {
            $0.storage
        },
        HelpPage(name: "mail", summary: "Use OAuth tokens in mail programs.", isGuide: true) { $0.mail },
        HelpPage(name: "git", summary: "Use OAuth tokens in git.", isGuide: true) { $0.git },
        HelpPage(
            name: "credentials",
            summary: "Use OAuth tokens in docker, kubectl, pip, uv, cargo, bazel and oidc-token.",
            isGuide: true
        ) { $0.credentials },
        HelpPage(name: "cloud", summary: "Use OAuth tokens in AWS, Azure and Google Cloud.", isGuide: true) {
            $0.cloud
        },
    ]
}

extension HelpText {
    private func block(_ title: String, _ lines: [String]) -> [String] {
        ["", title + ":", ""] + lines.map { $0.isEmpty ? "" : "  " + $0 }
    }

    /// Refresh tokens expire if no program uses them.
    private var crontab: [String] {
        block(
            "Keep sign-ins that you rarely use (crontab; command -v lodge prints the path)",
            ["0 6 * * 1 /usr/local/bin/lodge accounts refresh --all"])
    }

    fileprivate var scripts: [String] {
        block(
            "Send a request",
            [
                "lodge request GET '/users?$top=100' --paginate --retry 3",
                "lodge request PUT https://api.example/photo --data @ada.jpg",
                "lodge token --header | curl -H @- https://graph.microsoft.com/v1.0/me",
            ])
            + paragraph(
                "lodge request refreshes the token and repeats the request if the API rejects it. Pass a token through a pipe, a file or the "
                    + "environment, never as an argument: other users can read arguments.")
            + block("Run a program with the token in OAUTH2_ACCESS_TOKEN", ["lodge exec -- python3 report.py"])
            + block(
                "Get a token that is valid for a while, with its expiry, or for SASL",
                ["lodge token --min-validity 10m", "lodge token --output json", "lodge token --sasl xoauth2"])
            + crontab
            + paragraph("It prints only failures, and ends with 4 if an account needs a sign-in.")
            + block(
                "In CI, as the application itself",
                [
                    "export LODGE_SETTINGS=$PWD/settings.json LODGE_STORE=$PWD/store",
                    "lodge providers add ci --issuer https://id.example --client-id ID \\",
                    "  --client-secret-env SECRET", "lodge sign-in ci --client-credentials", "lodge exec -- ./deploy",
                    "lodge sign-out",
                ])
            + block(
                "In CI, with your account",
                [
                    "lodge accounts export --reveal-secrets --output-file accounts.json",
                    "lodge accounts import accounts.json",
                ])
            + paragraph(
                "Run the first command on your machine, and save the file as a secret of the CI system. If the provider rotates refresh "
                    + "tokens, use only one of the two copies.")
            + paragraph(
                "With LODGE_NO_INPUT=1, a command ends with 4 instead of a prompt: lodge help exit-statuses. With --output json, an error "
                    + "is an object on standard error.")
    }

    fileprivate var storage: [String] {
        paragraph(
            "The accounts are in accounts.sqlite in the folder --store, otherwise LODGE_STORE, otherwise $XDG_DATA_HOME/lodge "
                + "(~/.local/share/lodge). Their key is in accounts.key in the same folder, or in the location that you choose. Offline copies of "
                + "directories are in this folder too, and are not encrypted. lodge status shows the paths, and lodge config the source "
                + "of each value.")
            + block(
                "Locations of the key",
                [
                    "key-file        a file of mode 0600 (the default), for cron and SSH too",
                    "secret-service  the keyring of the desktop",
                    "keychain        the Keychain of macOS (not tested)",
                    "passphrase      a passphrase that you enter, or in LODGE_PASSPHRASE_FILE",
                    "fd:N            a file descriptor: LODGE_KEY_CUSTODY=fd:3 lodge me 3< FILE",
                ])
            + block("Move the key", ["lodge config set key-custody secret-service"])
            + block(
                "Share accounts between machines",
                [
                    "export LODGE_STORE='postgresql://me@db.example/accounts?sslmode=verify-full'",
                    "export PGPASSFILE=$HOME/.pgpass",
                ])
            + paragraph(
                "PostgreSQL 12 or later can store the accounts of several hosts or containers: one of them refreshes a token for all, and "
                    + "all see a new account immediately. All machines need libpq and the same key: passphrase, fd:N, or a copy of the key "
                    + "file. Each command costs one connection, and a refresh a second one. If the server is unreachable, no command gets a "
                    + "token. lodge rejects a password in --store, because other users can read it.")
            + paragraph(
                "Do not link to the database file. Copy or restore the folder as a whole, while no program uses it. lodge accounts salvage "
                    + "copies the readable accounts of a damaged store. If the store cannot be written, lodge writes new tokens, encrypted, to "
                    + "accounts.rescue-…, and the next command imports them.")
    }

    fileprivate var mail: [String] {
        paragraph(
            "lodge token prints a valid token for each connection, and refreshes it if necessary. Mail programs that cannot use "
                + "tokens themselves can use the SASL response of lodge token --sasl.")
            + block(
                "Microsoft 365",
                [
                    "lodge providers add work --provider entra --client-id ID \\",
                    "  --scope 'openid profile offline_access' \\",
                    "  --scope https://outlook.office.com/IMAP.AccessAsUser.All \\",
                    "  --scope https://outlook.office.com/SMTP.Send", "lodge sign-in work --name work",
                ])
            + paragraph(
                "ID is the application ID of your registration in Microsoft Entra. Add the delegated permissions IMAP.AccessAsUser.All "
                    + "and SMTP.Send to it. The user name is the sign-in name.")
            + block(
                "Gmail",
                [
                    "lodge providers add work --provider google --client-id ID \\",
                    "  --client-secret-file FILE --scope 'openid email https://mail.google.com/'",
                    "lodge sign-in work --name work",
                ])
            + paragraph(
                "ID is a client of the type desktop application, and FILE contains its secret. In the examples, use imap.gmail.com and "
                    + "smtp.gmail.com.")
            + block(
                "mutt and neomutt (~/.muttrc)",
                [
                    "set from = \"ada@contoso.com\"", "set folder = \"imaps://outlook.office365.com/\"",
                    "set spoolfile = \"+INBOX\"", "set imap_user = \"ada@contoso.com\"",
                    "set imap_authenticators = \"xoauth2\"",
                    "set imap_oauth_refresh_command = \"lodge token --account work\"",
                    "set smtp_url = \"smtp://ada@contoso.com@smtp.office365.com:587/\"",
                    "set smtp_authenticators = \"xoauth2\"",
                    "set smtp_oauth_refresh_command = \"lodge token --account work\"", "set ssl_force_tls = yes",
                ])
            + block(
                "aerc (~/.config/aerc/accounts.conf, mode 600)",
                [
                    "[work]", "source = imaps+xoauth2://ada%40contoso.com@outlook.office365.com:993",
                    "source-cred-cmd = lodge token --account work",
                    "outgoing = smtp+xoauth2://ada%40contoso.com@smtp.office365.com:587",
                    "outgoing-cred-cmd = lodge token --account work", "# only aerc 0.14 and earlier",
                    "smtp-starttls = yes",
                    "from = Ada Lovelace <ada@contoso.com>", "default = INBOX",
                ])
            + block(
                "msmtp (~/.msmtprc, mode 600)",
                [
                    "account work", "host smtp.office365.com", "port 587", "tls on", "tls_starttls on", "auth xoauth2",
                    "user ada@contoso.com", "from ada@contoso.com", "passwordeval \"lodge token --account work\"",
                ])
            + block(
                "isync (~/.mbsyncrc)",
                [
                    "IMAPStore work-remote", "Host outlook.office365.com", "Port 993", "User ada@contoso.com",
                    "PassCmd \"lodge token --account work\"", "AuthMechs XOAUTH2", "SSLType IMAPS", "",
                    "MaildirStore work-local", "Path ~/mail/", "Inbox ~/mail/INBOX", "SubFolders Verbatim", "",
                    "Channel work", "Far :work-remote:", "Near :work-local:", "Patterns *", "Create Near",
                ])
            + paragraph(
                "mbsync requires the mechanism XOAUTH2 of the SASL library: on Debian the package libsasl2-modules-kdexoauth2, "
                    + "elsewhere cyrus-sasl-xoauth2.")
            + block(
                "offlineimap (~/.offlineimaprc; the last line is one line)",
                [
                    "[general]", "accounts = work", "", "[Account work]", "localrepository = work-local",
                    "remoterepository = work-remote", "", "[Repository work-local]", "type = Maildir",
                    "localfolders = ~/offline-mail", "", "[Repository work-remote]", "type = IMAP",
                    "remotehost = outlook.office365.com", "remoteport = 993", "remoteuser = ada@contoso.com",
                    "ssl = yes",
                    "sslcacertfile = OS-DEFAULT", "auth_mechanisms = XOAUTH2", "oauth2_access_token_eval =",
                    "  __import__(\"os\").popen(\"lodge token --account work\").read().strip()",
                ])
            + crontab
            + block(
                "Import an account of mutt_oauth2.py or oama",
                ["gpg --decrypt FILE | lodge accounts import --type work"])
            + block(
                "Complete addresses from the directory: mutt and neomutt, then aerc",
                [
                    "set query_command = \"lodge search --output mutt %s\"",
                    "address-book-cmd = lodge search --output aerc %s",
                ])
            + block(
                "Print the account types for a configuration of pizauth or oama",
                ["lodge accounts import ~/.config/pizauth.conf"])
            + paragraph(
                "If the server rejects the token, lodge status shows its scopes, and lodge token --refresh gets another one."
            )
    }

    fileprivate var git: [String] {
        block("Set up git once", ["git config --global credential.helper '!lodge credential git'"])
            + block(
                "Sign in, for example to GitLab",
                [
                    "lodge providers add gitlab --client-id ID \\",
                    "  --scope 'openid read_repository write_repository'", "lodge sign-in gitlab",
                    "git clone https://gitlab.com/group/project.git",
                ])
            + paragraph(
                "Git calls lodge for every https host. lodge prints a token for the hosts of the account types: the host of the issuer, the hosts "
                    + "of the endpoints, and resourceHosts in the settings. For other hosts it prints nothing, and git uses its next helper or "
                    + "prompts you. If a type has the host but you are not signed in, git shows the sign-in command.")
            + paragraph(
                "Git 2.46 and later send the token in the header field Authorization: Bearer, if the server offers that. Otherwise the "
                    + "token is the password. With several accounts, the user name in the URL selects one by its name or user name."
            )
            + block("Choose an account", ["git clone https://work@gitlab.com/group/project.git"])
            + paragraph(
                "Without a user name, or with oauth2, lodge uses the active account. For a user name without an account, lodge prints no token. "
                    + "If the server rejects a token, git reports this to lodge, and lodge refreshes the token for the next command. A server on this machine "
                    + "can use http.")
    }

    fileprivate var credentials: [String] {
        paragraph(
            "lodge passes a token only to hosts of an account type: the host of the issuer, the hosts of the endpoints, and resourceHosts in the "
                + "settings. Add the registry, cluster or package index to resourceHosts, and sign in. Clients of oidc-agent get the token of any "
                + "account; --allow restricts them.")
            + block(
                "docker: a file docker-credential-lodge in PATH, and ~/.docker/config.json",
                [
                    "#!/bin/sh", "exec lodge credential docker \"$@\"", "",
                    #"{"credHelpers": {"registry.example": "lodge"}}"#,
                ])
            + block(
                "kubectl: the user of a cluster in ~/.kube/config",
                [
                    "exec: {apiVersion: client.authentication.k8s.io/v1,",
                    "  command: lodge, args: [credential, kubectl, --type, cluster],", "  interactiveMode: Never}",
                ])
            + paragraph(
                "A cluster usually requires the ID token, which lodge refreshes if the provider sends a new one. For the access token, add "
                    + "--access-token.")
            + block(
                "pip and uv: a file keyring in PATH",
                [
                    "#!/bin/sh", "exec lodge credential keyring \"$@\"", "",
                    "pip install --keyring-provider subprocess \\",
                    "  --index-url https://oauth2@packages.example/simple/ NAME",
                ])
            + block(
                "cargo: ~/.cargo/config.toml",
                ["[registries.work]", "credential-provider = [\"lodge\", \"credential\", \"cargo\"]"])
            + block(
                "bazel: a file lodge-helper in PATH, and .bazelrc",
                [
                    "#!/bin/sh", "exec lodge credential bazel \"$@\"", "",
                    "common --credential_helper=cache.example=lodge-helper",
                ])
            + block(
                "oidc-token: for each connection to the socket OIDC_SOCK, a listener runs",
                ["lodge credential oidc-agent --allow work"])
    }

    fileprivate var cloud: [String] {
        paragraph(
            "The libraries and tools of a cloud get their credentials from lodge, only for the hosts of the account type. Add the hosts below to "
                + "its resourceHosts, and sign in.")
            + block(
                "AWS: a profile in ~/.aws/config, and the host sts.amazonaws.com",
                [
                    "[profile work]",
                    "credential_process = lodge credential aws arn:aws:iam::123456789012:role/app",
                ])
            + paragraph(
                "In IAM, the issuer of the account type is an identity provider of the kind OpenID Connect, with the client ID as its audience, and "
                    + "the role trusts it. With AWS_REGION in the environment, the host is sts.REGION.amazonaws.com.")
            + block(
                "Azure: the host of each service, such as vault.azure.net",
                ["lodge exec --azure -- python3 upload.py"])
            + paragraph(
                "While the program runs, lodge is its managed identity of App Service (IDENTITY_ENDPOINT and IDENTITY_HEADER), which "
                    + "ManagedIdentityCredential and DefaultAzureCredential find. It serves the active account, or the account of --account and --type. "
                    + "A token is for the requested resource, with the scope RESOURCE/.default, if the provider is Microsoft Entra. lodge rejects "
                    + "a request for another identity: do not set AZURE_CLIENT_ID, or set it to the client ID of the account type."
            )
            + block(
                "Google Cloud: the host iam.googleapis.com, and a file of an external account",
                [
                    #""credential_source": {"executable": {"#,
                    #"  "command": "lodge credential google", "timeout_millis": 30000}}"#,
                ])
    }
}
