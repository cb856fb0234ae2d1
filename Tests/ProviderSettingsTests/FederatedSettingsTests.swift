import Foundation
import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings

private func settings(
    _ assertion: String, more keys: String = "", environment: [String: String] = [:]
) throws -> Settings {
    let text =
        #"{"types": {"t": {"authority": "https://login.microsoftonline.com/contoso.com", "clientId": "c", "#
        + #""redirectUri": "http://127.0.0.1/callback", \#(keys)"clientAssertion": \#(assertion)}}}"#
    return try Settings(bytes: Array(text.utf8), source: "test", environment: environment)
}

private func credential(_ assertion: String) throws -> FederatedCredential? {
    guard case .federated(let credential)? = try settings(assertion).type(named: "t")?.clientAssertion else {
        return nil
    }
    return credential
}

@Test func `a clientAssertion names the source of a JWT`() throws {
    #expect(try credential(#"{"file": "/run/token"}"#) == .file("/run/token"))
    #expect(try credential(#"{"file": {"environment": "TOKEN_FILE"}}"#) == .fileNamed(environment: "TOKEN_FILE"))
    #expect(try credential(#"{"environment": "ID_TOKEN"}"#) == .environment("ID_TOKEN"))
    #expect(try credential(#"{"command": ["fetch", "a b"]}"#) == .command(["fetch", "a b"]))
    #expect(try credential(#"{"githubActions": {}}"#) == .githubActions(audience: "api://AzureADTokenExchange"))
    #expect(try credential(#"{"githubActions": {"audience": "a"}}"#) == .githubActions(audience: "a"))
    #expect(
        try credential(#"{"azurePipelines": {"serviceConnection": "id"}}"#) == .azurePipelines(serviceConnection: "id"))
    var request = AssertionRequest(.url(try #require(URL(string: "https://ci.example/token"))))
    request.method = .post
    request.query = ["audience": "a"]
    request.headers = ["X-A": "b"]
    request.bearer = .environment("KEY")
    request.member = "data.jwt"
    let url =
        #"{"url": "https://ci.example/token", "method": "POST", "query": {"audience": "a"}, "headers": {"X-A": "b"}, "#
        + #""bearer": {"environment": "KEY"}, "member": "data.jwt"}"#
    #expect(try credential(url) == .request(request))
    #expect(
        try credential(#"{"url": {"environment": "TOKEN_URL"}}"#)
            == .request(AssertionRequest(.environment("TOKEN_URL"))))
}

@Test(arguments: [
    (#"{"file": 1}"#, "types.t.clientAssertion.file"), (#"{"file": ""}"#, "types.t.clientAssertion.file"),
    (#"{"environment": ""}"#, "types.t.clientAssertion.environment"),
    (#"{"command": "fetch"}"#, "types.t.clientAssertion.command"),
    (#"{"command": []}"#, "types.t.clientAssertion.command"),
    (#"{"url": "http://ci.example/"}"#, "types.t.clientAssertion.url"),
    (#"{"url": "http://169.254.169.253/"}"#, "types.t.clientAssertion.url"),
    (#"{"url": "https://user@ci.example/"}"#, "types.t.clientAssertion.url"),
    (#"{"url": "https://ci.example/", "member": "a.b.c"}"#, "types.t.clientAssertion.member"),
    (#"{"url": "https://ci.example/", "method": "PUT"}"#, "types.t.clientAssertion.method"),
    (#"{"url": "https://ci.example/", "headers": {"A B": "c"}}"#, "types.t.clientAssertion.headers"),
    (#"{"url": "https://ci.example/", "bearer": "s3cret"}"#, "types.t.clientAssertion.bearer"),
    (#"{"file": "/a", "environment": "B"}"#, "types.t.clientAssertion"),
    (#"{"file": "/a", "member": "value"}"#, "types.t.clientAssertion"),
    (#"{"url": "https://ci.example/", "membr": "value"}"#, "types.t.clientAssertion.membr"),
    (#"{"githubactions": {}}"#, "types.t.clientAssertion.githubactions"),
    (#"{"azurePipelines": {}}"#, "types.t.clientAssertion.azurePipelines.serviceConnection"),
    (#"{"githubActions": {"audiance": "a"}}"#, "types.t.clientAssertion.githubActions.audiance"),
])
func `an invalid source of assertions is an error with its key`(assertion: String, key: String) throws {
    let error = try #require(try settings(assertion).unusableTypes.first?.error)
    #expect(error.key == key)
    #expect(!error.description.contains("s3cret"))
}

@Test func `a clientAssertion and a secret cannot be combined`() throws {
    let both = try settings(#"{"file": "/a"}"#, more: #""clientSecret": "s", "#)
    #expect(both.unusableTypes.first?.error.key == "types.t.clientAssertion")
}

// MARK: The preset entra-workload

private let variables = [
    "AZURE_CLIENT_ID": "app", "AZURE_TENANT_ID": "contoso.com", "AZURE_FEDERATED_TOKEN_FILE": "/run/token",
]

private func workload(_ keys: String = "", _ environment: [String: String]) throws -> Settings {
    try Settings(
        bytes: Array(#"{"types": {"w": {"provider": "entra-workload"\#(keys)}}}"#.utf8), source: "test",
        environment: environment)
}

@Test func `entra-workload reads the variables of a pod`() throws {
    let type = try #require(try workload("", variables).type(named: "w"))
    #expect(type.clientID == "app")
    #expect(type.provider == .authority("https://login.microsoftonline.com/contoso.com"))
    #expect(type.clientAssertion == .federated(.fileNamed(environment: "AZURE_FEDERATED_TOKEN_FILE")))
    #expect(type.scope == ["https://graph.microsoft.com/.default"])
    #expect(type.clientCapabilities == ["cp1"])
    let government = try workload(
        "", variables.merging(["AZURE_AUTHORITY_HOST": "https://login.microsoftonline.us/"]) { $1 })
    #expect(government["w"]?.provider == .authority("https://login.microsoftonline.us/contoso.com"))
    #expect(government["w"]?.scope == ["https://graph.microsoft.us/.default"])
    #expect(government["w"]?.graphAPI?.absoluteString == "https://graph.microsoft.us/")
}

@Test func `keys of the type have precedence over the variables of a pod`() throws {
    let keys = #", "clientId": "own", "tenant": "fabrikam.com", "clientAssertion": {"githubActions": {}}"#
    for environment in [variables, [:]] {
        let type = try #require(try workload(keys, environment).type(named: "w"))
        #expect(type.clientID == "own")
        #expect(type.provider == .authority("https://login.microsoftonline.com/fabrikam.com"))
        #expect(type.clientAssertion == .federated(.githubActions(audience: "api://AzureADTokenExchange")))
    }
}

@Test func `the error of entra-workload names all missing variables`() throws {
    let error = try #require(try workload("", [:]).unusableTypes.first?.error)
    for name in variables.keys { #expect(error.description.contains(name)) }
    let one = try #require(
        try workload("", variables.filter { $0.key != "AZURE_TENANT_ID" }).unusableTypes.first?.error)
    #expect(one.key == "AZURE_TENANT_ID" && !one.description.contains("AZURE_CLIENT_ID"))
}

@Test(arguments: [
    "http://login.microsoftonline.com/", "https://login.example/", "https://login.microsoftonline.com.example/",
    "https://login.microsoftonline.com/path/", "https://login.microsoftonline.com:444/", "login.microsoftonline.com",
    "https://user@login.microsoftonline.com/", "https://login.microsoftonline.com/?x=1",
])
func `AZURE_AUTHORITY_HOST must be a Microsoft cloud or a known authority`(host: String) throws {
    let environment = variables.merging(["AZURE_AUTHORITY_HOST": host]) { $1 }
    let error = try workload("", environment).unusableTypes.first?.error
    #expect(error?.key == "AZURE_AUTHORITY_HOST")
    #expect(error?.hint?.description.contains("correct the variable AZURE_AUTHORITY_HOST") == true)
    let own = variables.merging(["AZURE_AUTHORITY_HOST": "https://login.example/"]) { $1 }
    let type = try workload(#", "knownAuthorities": ["login.example"]"#, own)["w"]
    #expect(type?.provider == .authority("https://login.example/contoso.com"))
}
