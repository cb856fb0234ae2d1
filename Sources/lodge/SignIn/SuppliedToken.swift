import CommandLineKit
import HTTPExchange
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform

/// The input of `sign-in --with-token`: a token response in JSON, or only a token.
enum SuppliedToken {
    /// Returns the token response in an input, ignoring surrounding white space.
    ///
    /// - Throws: `CommandError`. It does not contain the input, which may be a secret.
    static func read(_ input: [UInt8], _ type: String) throws(CommandError) -> TokenResponse {
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let text = Array(input.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        func invalid(_ reason: String) -> CommandError {
            CommandError(
                .usage, "standard input has no token", reason: reason,
                hint: "pass only the token, or a token response in JSON: \(run: "sign-in") \(type) --with-token < FILE"
            )
        }
        guard let first = text.first else { throw invalid("it is empty") }
        guard first == UInt8(ascii: "{") else {
            guard text.allSatisfy(isTokenByte) else {
                throw invalid("expected printable ASCII without spaces and quotation marks, or a JSON object")
            }
            return TokenResponse(accessToken: Secret(String(decoding: text, as: UTF8.self)))
        }
        let response = HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(text))
        do throws(OAuth2Error) { return try TokenResponse.read(response) } catch { throw invalid("\(error)") }
    }

    /// Returns whether the byte may be part of a token.
    ///
    /// Services use more characters than RFC 6750 section 2.1 allows, such as `|` and `:`. A quotation mark, a
    /// backslash or a bracket indicates another format.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\"\\<>[]".utf8.contains(byte)
    }
}
