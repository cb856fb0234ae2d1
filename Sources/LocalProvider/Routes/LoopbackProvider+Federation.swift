// The stand-in for GitHub, for tests.
extension LoopbackProvider {
    /// Returns a JWT of the stand-in for GitHub, for tests.
    package func gitHubToken(
        subject: String = "repo:contoso/app:ref:refs/heads/main", audience: String = "api://AzureADTokenExchange",
        lifetime: Int = 300
    ) throws -> String {
        var state = core
        state.authority.origin = String(issuer.absoluteString)
        return try state.gitHubToken(subject: subject, audience: audience, lifetime: lifetime)
    }

    /// The variables of a job in GitHub Actions whose token service is this provider.
    package var gitHubEnvironment: [String: String] {
        [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "\(issuer.absoluteString)\(GitHubTokens.path)/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": GitHubTokens.requestToken,
        ]
    }
}
