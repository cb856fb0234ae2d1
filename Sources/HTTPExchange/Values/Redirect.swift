import Platform

extension HTTPRequest {
    /// The request that a redirect asks for, or nil where the answer is not a redirect that can be followed.
    ///
    /// - Throws: ``HTTPTransportError`` of the kind `redirectRefused` for an address that may not be followed to.
    ///
    /// [RFC 9110 section 15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)
    package func redirected(by response: HTTPResponse) throws(HTTPTransportError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.fields["Location"] else {
            return nil
        }
        func refused(_ reason: String) -> HTTPTransportError {
            HTTPTransportError(.redirectRefused, host: url.shownHost, reason: reason)
        }
        guard !location.isEmpty, let target = URL(written: location, relativeTo: url) else {
            throw refused("The redirect's Location is not an address.")
        }
        let from = try RequestAddress(url)
        let to: RequestAddress
        do {
            to = try RequestAddress(target)
        } catch {
            throw refused(
                "The redirect to \(error.host.isEmpty ? "another address" : error.host) is refused. \(error.reason)")
        }
        guard from.scheme == to.scheme || to.scheme == "https" else {
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
        if from.origin != to.origin {
            for name in ["Authorization", "Proxy-Authorization", "Cookie", "DPoP"] { next.fields[name] = nil }
        }
        return next
    }
}
