import LodgePlatform

extension HTTPRequest {
    /// Returns the request for a redirect, or `nil` if the response is not a redirect that can be followed.
    ///
    /// - Parameter readOrigin: Returns the origin of a URL as the transport reads it, or throws if the transport does
    ///   not send to this URL.
    /// - Throws: ``HTTPTransportError`` of the kind `redirectRefused` if the redirect must not be followed.
    ///
    /// See RFC 9110 section 15.4.
    package func redirected(
        by response: HTTPResponse, origin readOrigin: (URL) throws(HTTPTransportError) -> String
    ) throws(HTTPTransportError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.fields["Location"] else {
            return nil
        }
        func refused(_ reason: String) -> HTTPTransportError {
            HTTPTransportError(.redirectRefused, host: url.shownHost, reason: reason)
        }
        guard !location.isEmpty, let target = URL(written: location, relativeTo: url) else {
            throw refused("The redirect's Location is not an address.")
        }
        let from = try readOrigin(url)
        let to: String
        do {
            to = try readOrigin(target)
        } catch {
            throw refused(
                "The redirect to \(error.host.isEmpty ? "another address" : error.host) is refused. \(error.reason)")
        }
        guard to.hasPrefix("https://") || from.hasPrefix("http://") else {
            throw refused("The redirect to \(target.shownHost) leads from https to http.")
        }

        var next = self
        next.url = target
        let becomesGet =
            response.status == 303 ? method != .head : [301, 302].contains(response.status) && method == .post
        if becomesGet {
            next.method = .get
            next.content = nil
            for name in ["Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location"] {
                next.fields[name] = nil
            }
        }
        if from != to {
            for name in ["Authorization", "Proxy-Authorization", "Cookie", "DPoP"] { next.fields[name] = nil }
        }
        return next
    }
}
